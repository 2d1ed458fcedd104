"""``sleuth bench list`` and ``show``: the benches of a folder, and one of them as far as it has come."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from sleuth.cli.screen import Output, put, put_json, put_table, stderr, stdout
from sleuth.errors import BadInput

if TYPE_CHECKING:
    from sleuth.bench.folder import BenchFolder


def add_to(app: App) -> None:
    """Make `list` and `show` commands of `sleuth bench`."""
    app.command(list_, name="list", help_epilogue="Example: sleuth bench list")
    app.command(show, help_epilogue="Example: sleuth bench show bench-questions")


def list_(
    where: Annotated[Path, Parameter(help="The folder to look in.")] = Path(),
    output: Output = Output(),  # noqa: B008  a frozen value
) -> None:
    """List the benches in a folder (this one)."""
    from sleuth.bench.folder import BenchFolder

    if not where.is_dir():
        raise BadInput(f"There is no folder {where}.", hint="Give the folder that the benches are in.")
    found = [_found(BenchFolder(file.parent)) for file in sorted(where.glob("*/bench.json"))]
    if output.json:
        put_json(found)
        return
    if not found:
        put(stderr(), f"No benches in {where.resolve()}. Make one: sleuth bench run QUESTIONS.jsonl")
        return
    put_table(_SHOWN, [[str(fact[key]) for key in _SHOWN] for fact in found])


def show(
    folder: Annotated[Path, Parameter(help="The bench's folder.")],
    output: Output = Output(),  # noqa: B008  a frozen value
) -> None:
    """Show what a bench asks, how far it is, and its scores so far. Nothing is asked."""
    from sleuth.bench.folder import BenchFolder
    from sleuth.cli.bench.shown import put_summary

    bench = BenchFolder(folder)
    facts, plan = _facts(bench), bench.plan()
    if not output.json:
        for key, value in facts.items():
            put(stdout(), (f"{key:<9}", "dim"), str(value))
        for method in plan.methods:
            put(stdout(), (f"{method.name}: ", "bold"), "; ".join(dict.fromkeys(method.entries.values())))
    put_summary(bench, as_json=output.json)


_SHOWN = ("bench", "began", "tasks", "models", "methods", "done")


def _found(bench: BenchFolder) -> dict[str, Any]:
    """A bench's facts; of a damaged one why there are none."""
    try:
        return _facts(bench)
    except BadInput as fault:
        return {**dict.fromkeys(_SHOWN, ""), "bench": str(bench.folder), "done": fault.message}


def _facts(bench: BenchFolder) -> dict[str, Any]:
    plan = bench.plan()
    runs = [(cell, question) for cell in plan.cells() for question in bench.questions(cell.task)]
    there = sum(bench.trace(cell, question.id).exists() for cell, question in runs)
    return {
        "bench": str(bench.folder),
        "began": str(plan.about.get("began", "")),
        "tasks": ", ".join(f"{task.name} ({len(bench.questions(task.name))})" for task in plan.tasks),
        "models": ", ".join(plan.models),
        "methods": len(plan.methods),
        "done": f"{there} of {len(runs)} runs",
    }
