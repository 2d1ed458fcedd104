"""A report's parts in order, as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sleuth.bench import calibration
from sleuth.bench.folder import Cell
from sleuth.bench.metrics import TABLE
from sleuth.bench.report import figures, tables
from sleuth.bench.report.blocks import Block, Figure, Heading, Items, Para, Table
from sleuth.bench.report.figures import Series
from sleuth.bench.report.findings import findings
from sleuth.bench.report.pairs import Pair, pairs
from sleuth.bench.report.questions import MOST_CHARACTERS, cards
from sleuth.bench.report.reading import Reading
from sleuth.bench.report.samples import Curve, curves
from sleuth.bench.report.tables import lettered
from sleuth.bench.report.words import counted, is_score, listed, named, number, ranged


def report(reading: Reading, against: str = "") -> tuple[Block, ...]:
    """The whole report. Raises `UnknownName` for a method `against` that the bench has not."""
    names = [task.name for task in reading.plan.tasks]
    tested = {task: pairs(reading, task, against) for task in names}
    found: list[Block] = [Heading(1, f"Bench of {listed(names)}")]
    for task in names:
        first, *rest = findings(reading, task, tested[task])
        found.append(Para(first, strong=True))
        if rest:
            found.append(Items(tuple(rest)))
    found += [Heading(2, "What was asked"), tables.asked(reading)]
    for task in names:
        found += _task(reading, task, tested[task])
    for task in names:
        found.append(Heading(2, f"Questions of {task}"))
        found.append(Para(_CARDS))
        found.append(cards(reading, task, MOST_CHARACTERS // len(names)))
    return tuple(found)


_CARDS = (
    "Each question with every method's run: what it looked up, hop by hop, its answer, scores and cost, and where the runs "
    "part first. Letters are those of the tables."
)


def _task(reading: Reading, task: str, tested: Sequence[Pair]) -> Iterator[Block]:
    yield Heading(2, task)
    yield tables.scores(reading, task, tested)
    yield Para(_how_to_read(reading, task, tested))
    others = tables.other_scores(reading, task)
    if others is not None:
        yield others
    yield tables.methods(reading, task)
    if tested:
        yield tables.pair_table(partial(lettered, reading), tested)
    theirs = tables.published(reading, task)
    if theirs is not None:
        yield theirs
        yield Para(
            "Theirs are as published, with another model and other questions: to be read beside ours, and not tested against them."
        )
    yield from _samples(reading, task)
    yield from _costs(reading, task)
    yield from _failures(reading, task)
    yield from _confidence(reading, task)


def _how_to_read(reading: Reading, task: str, tested: Sequence[Pair]) -> str:
    metric = reading.metrics[task][0]
    kind = "Wilson's" if tables.right_by(reading, task) == metric else "bootstrap"
    words = [
        f"{named(metric)} decides; its intervals are {kind}. Scores are in percent. Intervals of two methods may overlap and yet differ:"
    ]
    words.append("only the paired tests compare.")
    if tested:
        words.append(
            f"“Better than” names the methods that one is shown to be better than on the same questions, over "
            f"{counted(len(tested), 'pair')} together (Holm, 5%). No other metric is tested."
        )
    return " ".join(words)


# --- figure 2 of ReAct --------------------------------------------------------------------------------------------


def _samples(reading: Reading, task: str) -> Iterator[Block]:
    for model in reading.plan.models:
        metric, found = curves(reading, task, model)
        if not found:
            continue
        where = f" ({model})" if len(reading.plan.models) > 1 else ""
        name = named(metric)
        yield Heading(3, f"{name[0].upper()}{name[1:]} against the number of samples{where}")
        drawn = [each for each in found if any(point.value is not None for point in each.points)]
        places = {cell.method: at for at, cell in enumerate(reading.cells(task))}
        if drawn:
            series = [_line(each, places.get(each.name, at)) for at, each in enumerate(drawn)]
            yield Figure(
                partial(figures.lines, series, "samples", f"{named(metric)} (%)", whole=True),
                f"{named(metric)} of {listed([each.name for each in drawn])} with 1 to {max(len(each.points) for each in drawn)} samples; the numbers are in the table below.",
                "After figure 2 of Yao et al. 2023. Bars are 95% intervals.",
            )
        if any(each.points for each in found):
            yield _curve_table(metric, found)
        yield Items((*filter(None, (_said(each, places) for each in found)), _SAMPLES))


_SAMPLES = (
    "Made of stored draws, with no new call: the point of k is what the first k draws of each question vote for. Sampling ends "
    "once the majority cannot change, so late draws are missing just where early ones agreed; they could change no point that "
    "is given. Random subsets of the stored draws are not used: they would favour the majority. Where the stored draws do not "
    "settle a question, the point is a range and the line leaves it out."
)


def _line(curve: Curve, place: int) -> Series:
    points = [
        (float(p.k), 100 * p.value, 100 * p.low, 100 * p.high, 0.0, 0.0) for p in curve.points if p.value is not None
    ]
    return Series(curve.name, tuple(points), place)


def _said(curve: Curve, places: dict[str, int]) -> str:
    if curve.missing:
        return f"{curve.name}: {curve.missing}."
    words = []
    if curve.name not in places:
        words.append("was not run; the curve is what its two halves, which were, would have answered")
    if curve.other:
        words.append(f"its stored runs came out otherwise than the last point on {counted(curve.other, 'question')}")
    return f"{curve.name}: {'; '.join(words)}." if words else ""


def _curve_table(metric: str, found: Sequence[Curve]) -> Table:
    most = max(len(each.points) for each in found)
    kept = [each for each in found if each.points]
    rows = []
    for at in range(most):
        told = [_at(each, at) for each in kept]
        rows.append((str(at + 1), *told))
    heads = ("samples", *(f"{each.name} ({counted(each.points[0].n, 'question')})" for each in kept))
    return Table(f"{named(metric)} by number of samples, with 95% intervals", heads, tuple(rows), folded=most > 7)


def _at(curve: Curve, at: int) -> str:
    if at >= len(curve.points):
        return tables.NOTHING
    point = curve.points[at]
    span = f"({100 * point.low:.0f} to {100 * point.high:.0f})"
    if point.value is not None:
        return f"{100 * point.value:.1f} {span}"
    most = 100 * (point.right + point.unknown) / point.n
    return f"{100 * point.right / point.n:.1f} to {most:.1f} {span}, {point.unknown} not known"


# --- cost, failures, confidence -----------------------------------------------------------------------------------


def _costs(reading: Reading, task: str) -> Iterator[Block]:
    yield Heading(3, "Cost and score")
    metric = reading.metrics[task][0]
    for cost in ("usd", "tokens", "seconds"):
        found = [_spot(reading, cell, cost, metric) for cell in reading.cells(task)]
        spots = [each for each in found if each is not None]
        if len(spots) < 2 or not any(each.points[0][0] for each in spots):
            continue
        where = [(each.points[0][0], each.points[0][1]) for each in spots]
        best = tables.pareto([(x, y if _more(metric) else -y) for x, y in where])
        front = sorted(where[at] for at in best)
        names = [spots[at].label for at in best]
        yield Figure(
            partial(
                figures.scatter,
                spots,
                front,
                f"{named(cost)} a question",
                f"{named(metric)}{' (%)' if is_score(metric) else ''}",
            ),
            f"{named(metric)} against {named(cost)}; the numbers are in the tables. On the frontier: {listed(names)}.",
            f"On the frontier (no other costs less and scores as well): {listed(names)}. It is of the means; bars are 95% intervals, and where "
            "they overlap a place on it may be chance.",
        )
    yield tables.costs(reading, task)
    yield Para(
        "Means of a question, with 95% intervals, as if each method had been run alone: what came from the bench's own store of calls counts in full."
    )


def _more(metric: str) -> bool:
    return TABLE[metric].better == "more"


def _spot(reading: Reading, cell: Cell, cost: str, metric: str) -> Series | None:
    spent, score = reading.mean(cell, cost), reading.mean(cell, metric)
    if spent is None or score is None:
        return None
    scale = 100 if is_score(metric) else 1
    at = (spent.value, scale * score.value, scale * score.low, scale * score.high, spent.low, spent.high)
    return Series(lettered(reading, cell), (at,), reading.cells(cell.task).index(cell))


def _failures(reading: Reading, task: str) -> Iterator[Block]:
    kinds, parts = tables.failures(reading, task), tables.blame(reading, task)
    yield Heading(3, "Failures by kind")
    if kinds is not None:
        yield kinds
        yield Para(
            "By rule, from what the run looked up and wrote (sleuth bench errors). The rule that fired stands with each question."
        )
    else:
        yield Para("No run has ended.")
    if parts is not None:
        yield Heading(3, "What is to blame")
        yield parts
        yield Para(
            "Of failed runs asked again with one thing made right (sleuth bench blame): the part whose repair made the answer right."
        )


def _confidence(reading: Reading, task: str) -> Iterator[Block]:
    told = tables.calibrated(reading, task)
    if told is None:
        return
    yield Heading(3, "Stated confidence")
    sure = tables.confidences(reading, task)
    series = []
    for cell, each in sure.items():
        points = tuple((100 * p.coverage, 100 * p.risk, 0.0, 0.0, 0.0, 0.0) for p in calibration.risk_coverage(each))
        if len(points) > 1:
            series.append(Series(lettered(reading, cell), points, reading.cells(task).index(cell)))
    if series:
        yield Figure(
            partial(figures.lines, series, "answered, surest first (%)", "wrong among them (%)", step=True),
            f"Risk against coverage of {listed([each.label for each in series])}: the share wrong when only the surest are answered.",
            "Risk and coverage: a line that rises from the left says that confidence tells right from wrong.",
        )
    yield told
    for cell, each in sure.items():
        rows = [
            (
                f"{bin_.low:.1f} to {bin_.high:.1f}",
                str(bin_.n),
                f"{bin_.confidence:.2f}",
                f"{number('em', bin_.right)} ({ranged('em', *bin_.interval)})",
            )
            for bin_ in calibration.reliability(each, 5)
        ]
        yield Table(
            f"{lettered(reading, cell)}: how often it is right, by confidence",
            ("confidence", "answers", "mean", "% right (95%)"),
            tuple(rows),
            folded=True,
        )
