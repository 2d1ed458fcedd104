"""From the words of the command line to an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from sleuth import __version__
from sleuth.cli import ask, bench, compare, index, library, models, plan, runs, strategies
from sleuth.cli.screen import default_shown, put, put_error, stderr
from sleuth.cli.signals import ToldToEnd, heard
from sleuth.errors import BadInput, EnvironmentFault, SleuthError

INTERRUPTED, BROKEN_PIPE = 130, 141


def build() -> App:
    """The application with all its commands."""
    app = App(
        name="sleuth",
        help="Answers questions whose answer is not written in one place, hop by hop, with the proof.",
        version=__version__,
        help_format="plaintext",
        default_parameter=Parameter(show_default=default_shown),
        help_epilogue='Example: sleuth ask "Who was US president when the Eiffel Tower was completed?"',
        suppress_keyboard_interrupt=False,
    )
    for group in (ask, plan, compare, index):
        group.add_to(app)
    for group in (library, strategies, runs, models, bench):
        app.command(group.app)
    return app


def main(words: Sequence[str] | None = None) -> int:
    """Run a command. Returns 0 answered or done, 1 no answer, 2 wrong use, 3 environment, 130 Ctrl-C (143 SIGTERM)."""
    tokens = list(sys.argv[1:] if words is None else words)
    _prepare_streams()
    try:
        with heard():
            status = _run(tokens)
            sys.stdout.flush()
    except KeyboardInterrupt as end:
        put(stderr(), "Cancelled.")
        return 128 + end.number if isinstance(end, ToldToEnd) else INTERRUPTED
    except BrokenPipeError:
        _drop_output()  # the reader has left
        return BROKEN_PIPE
    except OSError:
        _drop_output()  # the disk under the output is full: nothing can be said there
        return EnvironmentFault.exit_status
    return status


def _prepare_streams() -> None:
    """What cannot be encoded is replaced; a stream that was closed before the start (``>&-``) takes all and keeps nothing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  it lives as long as the process
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """Keep the interpreter from complaining when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(tokens: list[str]) -> int:
    debug, as_json = "--debug" in tokens, "--json" in tokens
    try:
        status = build()(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except BrokenPipeError:
        raise
    except Exception as error:  # a user never sees a bare traceback; --debug raises it
        if debug:
            raise
        told = _said(error, tokens)
        put_error(told, as_json=as_json)
        return told.exit_status
    return status if isinstance(status, int) else 0


def _said(error: Exception, tokens: list[str]) -> SleuthError:
    """The error as a user can read it."""
    if isinstance(error, SleuthError):
        return error
    if isinstance(error, CycloptsError):
        return BadInput(str(error), hint=f"Try: {_help_for(tokens)}")
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return EnvironmentFault(f"The system says: {error.strerror or error}{where}.", hint="Add --debug to see where.")
    return SleuthError(f"This is a bug in Sleuth: {type(error).__name__}: {error}.", hint="Add --debug to see where.")


def _help_for(tokens: list[str]) -> str:
    commands = [token for token in tokens[:2] if token.isalpha()]
    known = build()
    path: list[str] = []
    for name in commands:
        if name not in known:
            break
        known = known[name]
        path.append(name)
    return " ".join(["sleuth", *path, "--help"])
