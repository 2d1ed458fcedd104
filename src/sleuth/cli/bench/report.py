"""``sleuth bench report`` and ``compare``: what a bench shows, as a page or Markdown, and benches against each other."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from sleuth.cli.screen import Output, put, put_json, put_table, stdout
from sleuth.errors import BadInput

if TYPE_CHECKING:
    from sleuth.bench.folder import Cell
    from sleuth.bench.report.comparing import Compared
    from sleuth.bench.report.pairs import Pair

COMPARE = """\
Examples:
  sleuth bench compare bench-questions
  sleuth bench compare bench-before bench-after --metrics em,f1
  sleuth bench compare bench-a#react bench-b#self-ask"""

Metrics = Annotated[
    list[str] | None,
    Parameter(help="Scores in place of the task's own, the one that decides first: em,f1.", negative=""),
]


def add_to(app: App) -> None:
    """Make `report` and `compare` commands of `sleuth bench`."""
    app.command(report, help_epilogue="Example: sleuth bench report bench-questions --against react")
    app.command(compare, help_epilogue=COMPARE)


def report(
    folder: Annotated[Path, Parameter(help="The bench's folder.")],
    *,
    file: Annotated[
        Path | None, Parameter(name=("--output", "-o"), help="Where to write. Without it: FOLDER/report.html and .md.")
    ] = None,
    metrics: Metrics = None,
    against: Annotated[str, Parameter(help="Test every method against this one alone.")] = "",
    html: Annotated[bool, Parameter(help="The HTML page alone.", negative="")] = False,
    markdown: Annotated[bool, Parameter(help="The Markdown alone.", negative="")] = False,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> None:
    """Write what a bench shows, as one HTML page and as Markdown. Nothing is asked."""
    from sleuth import __version__
    from sleuth.bench.folder import BenchFolder
    from sleuth.bench.report import FORMS, build

    wanted = [form for form, given in zip(FORMS, (html, markdown), strict=True) if given] or FORMS
    files = build(
        BenchFolder(folder), output=file, metrics=_names(metrics), against=against, forms=wanted, version=__version__
    )
    if output.json:
        put_json({"files": [str(each) for each in files]})
        return
    for each in files:
        put(stdout(), ("written  ", "bold"), str(each))


def compare(
    *bench: Annotated[str, Parameter(help="A bench's folder, or one of its methods: FOLDER#METHOD.")],
    metrics: Metrics = None,
    task: Annotated[str, Parameter(help="This task alone.")] = "",
    output: Output = Output(),  # noqa: B008  a frozen value
) -> None:
    """Compare methods of one bench, or benches, on the same questions: paired differences, adjusted for all pairs (Holm)."""
    from sleuth.bench.report import comparing

    if not bench:
        raise BadInput(
            "There is no bench to compare.", hint="Give a bench's folder: sleuth bench compare bench-questions"
        )
    found = comparing.compare(bench, metrics=_names(metrics), task=task)
    if output.json:
        put_json([_as_json(each) for each in found])
        return
    for each in found:
        _put(each)


def _names(given: list[str] | None) -> list[str]:
    return [name.strip() for text in given or () for name in text.split(",") if name.strip()]


def _put(compared: Compared) -> None:
    from sleuth.bench.report.findings import could_show, in_common
    from sleuth.bench.report.tables import pair_table
    from sleuth.bench.report.words import counted, named

    put(stdout(), (f"{named(compared.metric)}, adjusted for {counted(len(compared.pairs), 'pair')} (Holm)", "bold"))
    if not compared.pairs:
        put(stdout(), "No pair has two questions that both have answered.")
        return
    table = pair_table(_named(compared.pairs), compared.pairs)
    put_table(table.heads, table.rows)
    left = [pair for pair in compared.pairs if pair.better is None]
    if left:
        which = "" if len(left) == len(compared.pairs) else f" in {len(left)} of {len(compared.pairs)} pairs"
        put(stdout(), f"No difference shown{which} with {in_common(left)}; {could_show(left)}.")


def _named(pairs: tuple[Pair, ...]) -> Any:
    """What a cell is called: its method, with its model and task where they are several."""
    cells = [cell for pair in pairs for cell in (pair.ours, pair.theirs)]
    models, tasks = {cell.model for cell in cells}, {cell.task for cell in cells}

    def name(cell: Cell) -> str:
        more = [each for each, several in ((cell.task, len(tasks) > 1), (cell.model, len(models) > 1)) if several]
        return f"{cell.method} ({', '.join(more)})" if more else cell.method

    return name


def _as_json(compared: Compared) -> dict[str, Any]:
    return {
        "metric": compared.metric,
        "pairs": [
            {
                "ours": asdict(pair.ours),
                "theirs": asdict(pair.theirs),
                **asdict(pair.difference),
                "could_have_shown": pair.least if pair.least != float("inf") else None,
            }
            for pair in compared.pairs
        ],
    }
