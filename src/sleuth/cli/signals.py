"""A command that is told to end (SIGTERM), or whose terminal is closed (SIGHUP), ends as it does at Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from functools import partial
from types import FrameType


class ToldToEnd(KeyboardInterrupt):
    """Raised where Ctrl-C would be; `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """While it lasts, these signals raise `ToldToEnd`. One that is ignored (nohup) or handled already stays so."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    terminals = _terminals()
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, partial(_raise, terminals))
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _raise(terminals: list[int], number: int, frame: FrameType | None) -> None:
    if number != signal.SIGTERM:  # writing to a closed terminal is an error; what is still to be said goes nowhere
        for output in terminals:
            os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    raise ToldToEnd(number)


def _terminals() -> list[int]:
    """The outputs that are a terminal; asked early, since a closed one no longer says so."""
    found = []
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            if stream.isatty():
                found.append(stream.fileno())
    return found
