"""``sleuth compare``: one question by several strategies, side by side."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from sleuth.cli.ask import pairs
from sleuth.cli.screen import Output, prints_apart, put, stderr, whole
from sleuth.errors import BadInput

EXAMPLE = """\
Examples:
  sleuth compare "Who was US president when the Eiffel Tower was completed?" --strategies link-then-read,self-ask
  sleuth compare "Who designed it?" --library notes --strategies react,react:paper,cot-sc:n=5 --calls 12"""


def add_to(app: App) -> None:
    """Make `compare` a command of the application."""
    app.command(compare, help_epilogue=EXAMPLE)


def compare(
    *question: Annotated[str, Parameter(help="The question.")],
    strategies: Annotated[
        str | None,
        Parameter(help="Which, by commas: NAME, NAME:SETTING or NAME:PARAMETER=VALUE. Without it: every one there is."),
    ] = None,
    setting: Annotated[str | None, Parameter(help="The setting of those named without one.")] = None,
    library: Annotated[str | None, Parameter(help="Where to look it up (sleuth library list).")] = None,
    model: Annotated[
        str | None, Parameter(help="local, local:FILE.gguf, openai:NAME, ollama:NAME, http://HOST/v1#NAME.")
    ] = None,
    calls: Annotated[int | None, Parameter(help="Most model calls of each.", converter=whole)] = None,
    tokens: Annotated[int | None, Parameter(help="Most tokens of each, read and written.", converter=whole)] = None,
    usd: Annotated[float | None, Parameter(help="Most US dollars of each.")] = None,
    seconds: Annotated[float | None, Parameter(help="Deadline of each, in seconds.")] = None,
    tool: Annotated[
        list[str] | None,
        Parameter(
            help="A tool, for those that use tools: calculator, dates, or FILE.py:function; may be repeated.",
            negative="",
        ),
    ] = None,
    guard: Annotated[
        list[str] | None,
        Parameter(help="A guard of each, NAME=VALUE, such as compress=0; may be repeated.", negative=""),
    ] = None,
    at_once: Annotated[
        int, Parameter(help="Runs at the same time; more than 1 helps with a server only.", converter=whole)
    ] = 1,
    no_trace: Annotated[bool, Parameter(help="Write no traces.", negative="")] = False,
    offline: Annotated[bool | None, Parameter(help="Never fetch a model.", negative="")] = None,
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), help="No progress on stderr.", negative="")] = False,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> int:
    """Answer a question by several strategies, and show where they part."""
    from sleuth.app import comparing, settings
    from sleuth.cli.board import Board
    from sleuth.cli.compared import exit_status, put_comparison, put_comparison_json

    chosen = settings.load(
        setting=setting,
        library=library,
        model=model,
        calls=calls,
        tokens=tokens,
        usd=usd,
        seconds=seconds,
        offline=offline,
    )
    board = Board(stderr(), quiet=quiet)
    with prints_apart():
        runs = comparing.arranged(
            " ".join(question),
            None if strategies is None else listed(strategies),
            tools=tool or (),
            guards=pairs(guard, "--guard compress=0") if guard else None,
            at_once=at_once,
            sinks=(board,),
            trace=False if no_trace else None,
            given=chosen,
        )
    show = put_comparison_json if output.json else put_comparison
    try:
        with prints_apart(), board.show(runs):
            comparison = comparing.wait_for(runs)
    except KeyboardInterrupt:
        put(stderr(), "Interrupted; what there is so far:")
        show(runs.so_far())
        raise
    show(comparison)
    if output.debug:
        for row in comparison.rows:
            if row.error is not None:
                raise row.error
    return exit_status(comparison)


def listed(names: str) -> list[str]:
    """The names between the commas. Raises `BadInput` when one of them is empty."""
    found = [name.strip() for name in names.split(",")]
    if not all(found):
        raise BadInput(
            f"A name is missing in --strategies '{names}'.", hint="Write --strategies link-then-read,self-ask"
        )
    return found
