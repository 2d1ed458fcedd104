"""``sleuth bench errors``: right and wrong trajectories by kind, and how far rules and people agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from sleuth.cli.screen import Output, prints_apart, put, put_json, put_table, stderr, stdout, whole
from sleuth.cli.text import one_line

if TYPE_CHECKING:
    from sleuth.bench.errors import Agreement, Chosen, Verdict
    from sleuth.bench.folder import BenchFolder, Cell, Run


def add_to(app: App) -> None:
    """Make `errors` a command of `sleuth bench`."""
    app.command(errors, help_epilogue="Example: sleuth bench errors bench-questions --method react --show")


def errors(
    folder: Annotated[Path, Parameter(help="The bench's folder.")],
    *,
    method: Annotated[list[str] | None, Parameter(help="This method alone; may be repeated.", negative="")] = None,
    right: Annotated[int, Parameter(help="Right runs of each method.", converter=whole)] = 50,
    wrong: Annotated[int, Parameter(help="Wrong runs of each method.", converter=whole)] = 50,
    seed: Annotated[int, Parameter(help="Which ones.", converter=whole)] = 0,
    judge: Annotated[bool, Parameter(help="Let one model call decide where no rule is sure.", negative="")] = False,
    show: Annotated[bool, Parameter(help="Each run with the rule that fired and its evidence.", negative="")] = False,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> None:
    """Sort trajectories by what went right or wrong (the ReAct paper's table 2), by rules over their traces."""
    from sleuth.bench.errors import agreement, chosen, labels
    from sleuth.bench.folder import BenchFolder

    bench = BenchFolder(folder)
    cells = cells_of(bench, method)
    picked = {cell: chosen(bench.runs(cell), right=right, wrong=wrong, seed=seed) for cell in cells}
    with prints_apart():
        found = verdicts(picked, judge=judge)
    said = labels(bench)
    agreed = {pair: agreement(judged) for pair, judged in _judged(found, said).items()}
    if output.json:
        put_json(_as_json(found, agreed, labels(bench, corrected=True)))
        return
    for cell, each in found.items():
        _put_cell(cell, picked[cell], each, labels(bench, corrected=True) if show else {}, show=show)
    for (one, other), told in agreed.items():
        _put_agreement(one, other, told)
    if not said:
        put(stderr(), (f"Label some yourself: sleuth bench label {folder}", "dim"))


def cells_of(bench: BenchFolder, method: Iterable[str] | None) -> list[Cell]:
    """The bench's cells of these methods (all, unless named). Raises `BadInput` for one it has not."""
    from sleuth.errors import BadInput

    cells, named = list(bench.plan().cells()), set(method or ())
    if missing := named - {cell.method for cell in cells}:
        there = ", ".join(dict.fromkeys(cell.method for cell in cells))
        raise BadInput(f"The bench has no method '{min(missing)}'.", hint=f"It has: {there}.")
    return [cell for cell in cells if not named or cell.method in named]


def verdicts(picked: Mapping[Cell, Chosen], *, judge: bool) -> dict[Cell, list[tuple[Run, Verdict]]]:
    """Of every chosen run, the right ones first."""
    from sleuth.bench.errors import classify

    if judge:
        from sleuth.app.judging import judged

        return judged({cell: [*each.right, *each.wrong] for cell, each in picked.items()})
    return {cell: [(run, classify(run)) for run in (*each.right, *each.wrong)] for cell, each in picked.items()}


def _judged(
    found: Mapping[Cell, list[tuple[Run, Verdict]]], said: Mapping[str, Mapping[Any, Any]]
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Rules against each person, and people against each other, on the runs that both judged."""
    ruled = {(cell, run.question.id): verdict.kind for cell, each in found.items() for run, verdict in each}
    people = {name: {key: label.kind for key, label in mine.items()} for name, mine in said.items()}
    judges: list[tuple[str, Mapping[Any, str]]] = [("rules", ruled), *people.items()]
    pairs = {}
    for place, (one, ours) in enumerate(judges):
        for other, theirs in judges[place + 1 :]:
            if both := [key for key in ours if key in theirs]:
                pairs[one, other] = [(ours[key], theirs[key]) for key in both]
    return pairs


def _put_cell(
    cell: Cell, picked: Chosen, each: list[tuple[Run, Verdict]], said: Mapping[str, Mapping[Any, Any]], *, show: bool
) -> None:
    from sleuth.bench.errors import MEANING, table
    from sleuth.bench.statistics import wilson

    put(stdout(), (f"{cell.task}, {cell.method}, {cell.model}", "bold"))
    rights = len(picked.right)
    rows = []
    for some, whole_ in ((each[:rights], picked.all_right), (each[rights:], picked.all_wrong)):
        counts = table(verdict for _, verdict in some)
        for kind in MEANING:
            if count := counts.get(kind, 0):
                low, high = wilson(count, len(some))
                unsure = sum(verdict.kind == kind and not verdict.sure for _, verdict in some)
                share = f"{100 * count / len(some):.0f}% ({100 * low:.0f} to {100 * high:.0f})"
                rows.append([kind.replace("_", " "), f"{count} of {len(some)} (of {whole_})", share, str(unsure or "")])
    put_table(("kind", "runs", "share (95%)", "no rule sure"), rows)
    for run, verdict in each if show else ():
        told = f"{run.question.id}  {verdict.kind} by {verdict.rule}: {verdict.evidence}"
        told += "".join(f" {name} says {kind}." for name, kind in _people(said, cell, run).items())
        put(stdout(), (one_line(told, 300), "dim"))


def _people(said: Mapping[str, Mapping[Any, Any]], cell: Cell, run: Run) -> dict[str, str]:
    """What each person says of a run."""
    key = cell, run.question.id
    return {name: mine[key].kind for name, mine in said.items() if key in mine}


def _put_agreement(one: str, other: str, told: Agreement) -> None:
    kappa = "cannot be said" if told.kappa is None else f"{told.kappa:.2f}"
    if told.interval is not None:
        kappa += f" ({told.interval[0]:.2f} to {told.interval[1]:.2f})"
    put(
        stdout(),
        (f"{one} and {other}: ", "bold"),
        f"{told.n} runs, {100 * told.share:.0f}% alike, Cohen's kappa {kappa}",
    )
    rows = [[a, b, str(count)] for (a, b), count in sorted(told.counts.items(), key=lambda item: -item[1]) if a != b]
    if rows:
        put_table((one, other, "runs"), rows)


def _as_json(
    found: Mapping[Cell, list[tuple[Run, Verdict]]],
    agreed: Mapping[tuple[str, str], Agreement],
    said: Mapping[str, Mapping[Any, Any]],
) -> Any:
    cells = [
        {
            **asdict(cell),
            "runs": [
                {"question": run.question.id, **asdict(verdict), "people": _people(said, cell, run)}
                for run, verdict in each
            ],
        }
        for cell, each in found.items()
    ]
    pairs = [
        {
            "judges": list(pair),
            "n": a.n,
            "share": a.share,
            "kappa": a.kappa,
            "interval": a.interval,
            "counts": [{"kinds": list(kinds), "n": count} for kinds, count in sorted(a.counts.items())],
        }
        for pair, a in agreed.items()
    ]
    return {"cells": cells, "agreement": pairs}
