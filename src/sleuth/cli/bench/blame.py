"""``sleuth bench blame``: which part of each failed run is to blame, and where effort would pay."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from sleuth.cli.answers import many
from sleuth.cli.screen import Output, prints_apart, put, put_json, put_table, stderr, stdout, whole
from sleuth.cli.text import one_line


def add_to(app: App) -> None:
    """Make `blame` a command of `sleuth bench`."""
    app.command(blame, help_epilogue="Example: sleuth bench blame bench-questions --method react --most 20")


def blame(
    folder: Annotated[Path, Parameter(help="The bench's folder.")],
    *,
    method: Annotated[list[str] | None, Parameter(help="This method alone; may be repeated.", negative="")] = None,
    most: Annotated[int | None, Parameter(help="Most failed runs now; the next call goes on.", converter=whole)] = None,
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), help="No progress on stderr.", negative="")] = False,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> None:
    """Run failed questions again with one thing made right at a time, and sum what was to blame. Goes on where it stopped."""
    from sleuth.app.blaming import arranged, summed, wait_for
    from sleuth.bench.blame import Blamed
    from sleuth.bench.folder import Run

    blaming = arranged(folder, methods=method or (), most=most)
    if not quiet:
        runs, calls = many(len(blaming.waiting), "failed run"), many(blaming.most_calls, "model call")
        put(stderr(), f"{runs} without a verdict: {calls} at most")

    def told(run: Run, blamed: Blamed) -> None:
        if not quiet:
            where = f"{run.cell.method}, {run.question.id}: "
            put(stderr(), (where, "dim"), (f"{blamed.part} ", "bold"), one_line(blamed.evidence, 200))

    with prints_apart():
        wait_for(blaming, told)
    found = summed(folder, method or ())
    if output.json:
        put_json([{**asdict(cell), "parts": [asdict(share) for share in each]} for cell, each in found.items()])
        return
    for cell, each in found.items():
        put(stdout(), (f"{cell.task}, {cell.method}, {cell.model}", "bold"))
        put_table(_HEADS, [_line(share) for share in each if share.count])


_HEADS = ("part", "failures", "share", "95% interval", "EM if perfect", "F1 if perfect")


def _line(share: Any) -> list[str]:
    return [
        share.part,
        str(share.count),
        f"{100 * share.share:.0f}%",
        f"{100 * share.low:.0f} to {100 * share.high:.0f}%",
        f"{100 * share.em:.1f}",
        f"{100 * share.f1:.1f}",
    ]
