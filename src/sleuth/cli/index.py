"""``sleuth index``: files into a library."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from sleuth.cli.screen import Output, put, put_json, stderr, stdout
from sleuth.cli.text import one_line

EXAMPLE = """\
Examples:
  sleuth index ~/notes --library notes
  sleuth index report.md facts.jsonl --library work"""


def add_to(app: App) -> None:
    """Make `index` a command of the application."""
    app.command(index, help_epilogue=EXAMPLE)


def index(
    *paths: Annotated[Path, Parameter(help=".txt, .md and .jsonl files, or folders of them.")],
    library: Annotated[str, Parameter(help="The library's name; it is made if there is none.")] = "default",
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), help="No progress on stderr.", negative="")] = False,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> int:
    """Read files into a library, or bring it up to date with them."""
    from sleuth.app import libraries, settings
    from sleuth.library import index as build

    folder = libraries.new(library, settings.load())
    with bytes_bar("indexing", quiet=quiet) as progress:
        task = progress.add_task("indexing", total=None)

        def show(done: int, total: int, what: str) -> None:
            progress.update(task, completed=done, total=total, description=one_line(Path(what).name, 40))

        summary = build(list(paths), folder, progress=show)
    for skipped in summary.skipped:
        put(stderr(), ("skipped ", "yellow"), f"{skipped.path}: {skipped.reason}")
    if output.json:
        put_json({"library": library, "folder": str(folder), **dataclasses.asdict(summary)})
        return 0
    changes = f"{summary.added} files added, {summary.changed} changed, {summary.removed} removed, {summary.unchanged} unchanged"
    put(
        stdout(),
        (library, "bold"),
        f": {summary.documents:,} documents, {summary.passages:,} passages, {summary.links:,} links",
    )
    put(stdout(), f"{changes}, {len(summary.skipped)} skipped ({summary.seconds:.1f} s)")
    put(stderr(), (f'Next: sleuth ask "..." --library {library}', "dim"))
    return 0


def bytes_bar(what: str, *, quiet: bool) -> Progress:
    """A progress bar on stderr that counts bytes; hidden when quiet or not on a terminal."""
    console = stderr()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    return Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
