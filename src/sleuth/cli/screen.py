"""Where output goes: results on stdout, progress and errors on stderr; colours only on a terminal."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter, Token
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sleuth.cli.text import clean, one_line
from sleuth.errors import CassetteMiss, SleuthError

NARROWEST = 20
"""Columns that are written for at least."""


@Parameter(name="*")
@dataclass(frozen=True)
class Output:
    """What every command takes."""

    json: Annotated[bool, Parameter(negative="", help="Print JSON on stdout, for machines.")] = False
    debug: Annotated[bool, Parameter(negative="", help="Show a traceback when something fails.")] = False


def whole(kind: Any, tokens: Sequence[Token]) -> int:
    """A whole number as it is written: "1.5" is an error, not 1. Raises ValueError."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"Invalid value {one_line(text, 40)!r}: a whole number is needed.") from None


def default_shown(value: Any) -> str | None:
    """A parameter's default for the help; None (nothing is shown) without one, and for a switch that is off."""
    return None if value is None or value is False or value == "" else str(value)


def stdout() -> Console:
    """The console for results."""
    return _console(sys.stdout)


def stderr() -> Console:
    """The console for progress and errors."""
    return _console(sys.stderr)


class _Console(Console):
    """Rich's console, but for its end of a pipe that nobody reads: the command ends so, not the console."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(stream: Any) -> Console:
    console = _Console(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True)
    if console.width < NARROWEST:  # COLUMNS=0, or a terminal that does not know: nothing at all would be shown
        console.width = NARROWEST
    return console


def prints_apart() -> contextlib.redirect_stdout[Any]:
    """While it lasts, what a user's tool prints goes to stderr: stdout holds the result and nothing else."""
    return contextlib.redirect_stdout(sys.stderr)


def put_json(value: Any) -> None:
    """One JSON value on stdout; of a dataclass its fields, of anything else that JSON has not its `repr`."""
    print(json.dumps(value, ensure_ascii=True, default=_plain, indent=2 if sys.stdout.isatty() else None))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return repr(value)


def put(console: Console, *parts: tuple[str, str] | str) -> None:
    """One line of cleaned text; a part may be (text, style)."""
    line = Text()
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        line.append(clean(text), style=style)
    console.print(line)


def put_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, most: int = 60) -> None:
    """A table on stdout: aligned on a terminal, separated by tabs in a pipe."""
    console = stdout()
    if not console.is_terminal:
        for row in rows:
            print("\t".join(one_line(cell) for cell in row))  # rich would make spaces of the tabs
        return
    table = Table(box=None, pad_edge=False)
    for at, head in enumerate(heads):
        table.add_column(Text(head, style="bold"), no_wrap=at == 0, overflow="fold" if at == 0 else "ellipsis")
    for row in rows:
        table.add_row(*(Text(one_line(cell, most)) for cell in row))
    console.print(table, soft_wrap=False)


def put_error(error: SleuthError, *, as_json: bool) -> None:
    """The error as one paragraph on stderr (a replay's miss with its diff); for machines also as an object on stdout."""
    text = str(error) if isinstance(error, CassetteMiss) else one_line(str(error))
    put(stderr(), ("Error: ", "bold red"), text)
    if as_json:
        put_json({"error": {"kind": type(error).__name__, "message": error.message, "hint": error.hint}})
