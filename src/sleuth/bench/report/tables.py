"""The tables of a report: what was asked, scores, pairs, the paper's numbers beside ours, costs, failures, blame, calibration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from sleuth.bench import calibration
from sleuth.bench.baselines import majority
from sleuth.bench.blame import shares
from sleuth.bench.blame.judge import NONE
from sleuth.bench.calibration import Pair as Sure
from sleuth.bench.errors import MEANING
from sleuth.bench.folder import Cell
from sleuth.bench.metrics import TABLE
from sleuth.bench.presets import TABLE as PRESETS
from sleuth.bench.report.blocks import Table
from sleuth.bench.report.pairs import Pair
from sleuth.bench.report.reading import COSTS, Mean, Reading
from sleuth.bench.report.words import apart, clean, counted, letter, listed, named, number, p_value, ranged

NOTHING = "–"
SHOWN = 3
"""Scores of a task that its first table has."""
WITH_RANGE = ("tokens", "seconds", "usd")
"""Costs that are told with an interval."""


def lettered(reading: Reading, cell: Cell) -> str:
    """The cell with the letter that figures and marks use: "a CoT"."""
    return f"{mark(reading, cell)} {reading.label(cell)}"


def mark(reading: Reading, cell: Cell) -> str:
    """The cell's letter within its task."""
    return letter(reading.cells(cell.task).index(cell))


def asked(reading: Reading) -> Table:
    """What was asked, with what, when, and the versions of all that scored it."""
    about, plan = reading.plan.about, reading.plan
    rows = [("models", listed(plan.models)), ("methods", counted(len(plan.methods), "method"))]
    for task in plan.tasks:
        n = counted(len(reading.questions[task.name]), "question")
        rows.append((f"task {task.name}", "; ".join(filter(None, (n, task.origin, task.licence)))))
    for key in ("preset", "set", "seed", "budget", "guards"):
        if (value := _plainly(about.get(key))) != "":
            rows.append((key, value))
    rows.append(("begun", str(about.get("began", "unknown"))))
    told = f"asked with {about.get('version', 'an unknown version')}"
    rows.append(("Sleuth", f"{told}, scored with {reading.version}" if reading.version else told))
    used = dict.fromkeys(name for names in reading.metrics.values() for name in names)
    rows.append(("metrics", "; ".join(f"{name} version {reading.scores.versions[name]}" for name in used)))
    return Table("Tasks, models and versions", ("", ""), tuple(rows))


def methods(reading: Reading, task: str) -> Table:
    """The letter of each method, and what it is."""
    entries = {method.name: method.entries.get(task, "") for method in reading.plan.methods}
    rows = [(lettered(reading, cell), entries[cell.method]) for cell in reading.cells(task)]
    return Table("The methods", ("method", "as Sleuth names it"), tuple(rows), folded=True)


def scores(reading: Reading, task: str, pairs: Sequence[Pair]) -> Table:
    """The deciding metric and the next with 95% intervals, and the methods that each is shown to be better than by the first."""
    names = reading.metrics[task][:SHOWN]
    rows = []
    for cell in reading.cells(task):
        means = [_mean(reading, cell, name) for name in names]
        done, won = _done(reading, cell), _beaten(reading, cell, pairs)
        rows.append((_with_note(reading, cell), done, means[0], won, *means[1:]))
    labels = next((each.labels for each in reading.plan.tasks if each.name == task), ())
    top = majority(reading.questions[task], labels)
    if top is not None:
        told = _of("label", Mean(top.n, top.share, top.low, top.high))
        means = [told if name in ("label", "em") else NOTHING for name in names]
        rows.append((f"baseline: majority label ({top.label})", str(top.n), means[0], "", *means[1:]))
    heads = ("method", "runs", named(names[0]), "better than", *map(named, names[1:]))
    return Table("Scores, with 95% intervals", heads, tuple(rows))


def other_scores(reading: Reading, task: str) -> Table | None:
    """The task's other metrics; None where it has none that applies."""
    cells = reading.cells(task)
    names = [n for n in reading.metrics[task][SHOWN:] if any(reading.values(cell, n) for cell in cells)]
    if not names:
        return None
    rows = [(lettered(reading, cell), *(_mean(reading, cell, name) for name in names)) for cell in cells]
    return Table("Other scores, with 95% intervals", ("method", *map(named, names)), tuple(rows), folded=True)


def pair_table(name: Callable[[Cell], str], pairs: Sequence[Pair], caption: str = "Every pair") -> Table:
    """Each pair's difference, interval and adjusted p, and what it could have shown."""
    rows = []
    for pair in pairs:
        told, metric = pair.difference, pair.metric
        verdict = f"{name(pair.better)} is better" if pair.better is not None else "no difference shown"
        least = NOTHING if not math.isfinite(pair.least) else apart(metric, pair.least).lstrip("+")
        span = f"{apart(metric, told.low)} to {apart(metric, told.high)}"
        names = f"{name(pair.ours)} less {name(pair.theirs)}"
        rows.append((names, str(told.n), apart(metric, told.difference), span, p_value(told.p), verdict, least))
    heads = ("pair", "questions", "difference", "95% interval of this pair", "p (Holm)", "verdict", "could have shown")
    return Table(caption, heads, tuple(rows), folded=len(rows) > 6)


def published(reading: Reading, task: str) -> Table | None:
    """The paper's table beside ours; None where the bench is no paper's, or the task none of its sets."""
    preset = PRESETS.get(str(reading.plan.about.get("preset", "")))
    theirs = [each for each in preset.published if each.task == task] if preset else []
    if preset is None or not theirs:
        return None
    metric = theirs[0].metric
    by_method = {each.method: f"{each.value:.1f}" for each in theirs}
    ours = {reading.label(cell): _mean(reading, cell, metric) for cell in reading.cells(task)}
    names = dict.fromkeys([*ours, *by_method])
    rows = [(name, ours.get(name, NOTHING), by_method.get(_method(name, by_method), NOTHING)) for name in names]
    heads = ("method", f"ours: {named(metric)} ({listed(reading.plan.models)})", f"theirs: {preset.model}")
    return Table(f"Beside the paper ({preset.source})", heads, tuple(rows))


def costs(reading: Reading, task: str) -> Table:
    """Means a question, as if each method had been run alone."""
    heads = ("method", *map(named, ("tokens", "seconds", "usd", "calls", "searches", *COSTS[2:5])))
    rows = []
    for cell in reading.cells(task):
        ranged_ = [_mean(reading, cell, name) for name in WITH_RANGE]
        plain = [_plain_mean(reading, cell, name) for name in COSTS[:5]]
        rows.append((lettered(reading, cell), *ranged_, *plain))
    return Table("Costs of a question", heads, tuple(rows))


def failures(reading: Reading, task: str) -> Table | None:
    """How runs ended by kind (`sleuth.bench.errors`); None where nothing is classified."""
    cells = reading.cells(task)
    kinds = {cell: Counter(told.verdict.kind for told in reading.told[cell].values()) for cell in cells}
    every = [kind for kind in MEANING if any(found[kind] for found in kinds.values())]
    if not every:
        return None
    rows = [(lettered(reading, c), *(str(kinds[c][kind]) for kind in every), str(kinds[c].total())) for c in cells]
    return Table("Runs by kind", ("method", *(kind.replace("_", " ") for kind in every), "runs"), tuple(rows))


def blame(reading: Reading, task: str) -> Table | None:
    """Which part's repair made failed runs right; None where nothing was blamed."""
    rows = []
    for cell in reading.cells(task):
        mine = [
            row
            for row in reading.blame
            if (row["task"], row["model"], row["method"]) == (task, cell.model, cell.method)
        ]
        em, f1 = reading.values(cell, "label" if _is_closed(reading, task) else "em"), reading.values(cell, "f1")
        for share in shares(mine, {key: (value, f1.get(key, value)) for key, value in em.items()}):
            if share.count:
                perfect = NOTHING if share.part == NONE else number("em", share.em)
                part = f"{lettered(reading, cell)}: {share.part}"
                span = f"{100 * share.share:.0f} ({ranged('em', share.low, share.high)})"
                rows.append((part, f"{share.count} of {len(mine)}", span, perfect))
    if not rows:
        return None
    return Table(
        "What is to blame", ("method and part", "failures", "% (95%)", "score if this part were perfect"), tuple(rows)
    )


def confidences(reading: Reading, task: str) -> dict[Cell, tuple[Sure, ...]]:
    """(confidence, right) of the cells whose answers state one."""
    metric = right_by(reading, task)
    found = {cell: reading.scores.pairs(cell, metric) for cell in reading.cells(task) if reading.values(cell, metric)}
    return {cell: sure for cell, sure in found.items() if sure}


def right_by(reading: Reading, task: str) -> str:
    """The metric that says right or wrong: the first that is a share, else exact match."""
    return next((name for name in reading.metrics[task] if TABLE[name].kind == "share"), "em")


def calibrated(reading: Reading, task: str) -> Table | None:
    """How true stated confidences are; None where none is stated."""
    rows = []
    for cell, sure in confidences(reading, task).items():
        draws = max(200, min(calibration.RESAMPLES, 200_000 // len(sure)))
        told = []
        for measure in (calibration.expected_calibration_error, calibration.brier):
            span = calibration.interval(sure, measure, resamples=draws)
            told.append(f"{measure(sure):.2f}" + (f" ({span[0]:.2f} to {span[1]:.2f})" if span else ""))
        ranking = calibration.auroc(sure)
        area = f"{calibration.area_under_risk(sure):.2f}"
        rows.append(
            (lettered(reading, cell), str(len(sure)), *told, NOTHING if ranking is None else f"{ranking:.2f}", area)
        )
    if not rows:
        return None
    heads = ("method", "answers", "calibration error (95%)", "Brier (95%)", "ranking (AUROC)", "mean risk (AURC)")
    return Table("Stated confidence", heads, tuple(rows))


def pareto(points: Sequence[tuple[float, float]]) -> list[int]:
    """The places of the (cost, score) points that no other beats: none is as cheap and as good and better in one."""
    return [
        at
        for at, (cost, value) in enumerate(points)
        if not any(c <= cost and v >= value and (c, v) != (cost, value) for c, v in points)
    ]


def _method(name: str, known: dict[str, str]) -> str:
    """Our row's name without its model, where the paper has that."""
    return name if name in known else name.rpartition(" (")[0]


def _with_note(reading: Reading, cell: Cell) -> str:
    """The cell's name, marked where it looked nothing up."""
    searches = reading.values(cell, "searches")
    closed = bool(searches) and not any(searches.values())
    return lettered(reading, cell) + (" (closed book)" if closed else "")


def _done(reading: Reading, cell: Cell) -> str:
    n = len(reading.questions[cell.task])
    left = len(reading.scores.unfinished.get(cell, ()))
    return f"{n - left} of {n}" if left else str(n)


def _beaten(reading: Reading, cell: Cell, pairs: Sequence[Pair]) -> str:
    won = [pair.theirs if pair.ours == cell else pair.ours for pair in pairs if pair.better == cell]
    return " ".join(sorted(mark(reading, other) for other in won))


def _mean(reading: Reading, cell: Cell, metric: str) -> str:
    found = reading.mean(cell, metric)
    return NOTHING if found is None else _of(metric, found)


def _of(metric: str, found: Mean) -> str:
    if found.low == found.high:
        return number(metric, found.value)
    return f"{number(metric, found.value)} ({ranged(metric, found.low, found.high)})"


def _plain_mean(reading: Reading, cell: Cell, metric: str) -> str:
    values = reading.values(cell, metric).values()
    return number(metric, sum(values) / len(values)) if values else NOTHING


def _is_closed(reading: Reading, task: str) -> bool:
    return any(each.name == task and each.labels for each in reading.plan.tasks)


def _plainly(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items() if each not in (None, {}, ""))
    return "" if value is None else clean(str(value), 300)
