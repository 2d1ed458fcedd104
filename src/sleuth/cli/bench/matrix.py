"""A bench as it goes on, on stderr: one live line on a terminal, a plain line every half minute elsewhere."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from sleuth.cli.bench.shown import duration
from sleuth.cli.screen import put
from sleuth.cli.text import one_line

if TYPE_CHECKING:
    from sleuth.app.benching import Benching

EVERY = 30.0
"""Seconds between two lines where the output is no terminal."""


class Matrix:
    """The progress of a bench over all its cells, as a context. Nothing is shown when `quiet`."""

    def __init__(self, console: Console, benching: Benching, *, quiet: bool = False) -> None:
        self._console, self._benching, self._quiet = console, benching, quiet
        self._over = threading.Event()
        self._live: Live | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Matrix:
        if self._quiet:
            return self
        if self._console.is_terminal:
            self._live = Live(console=self._console, get_renderable=self.line, refresh_per_second=2, transient=True)
            self._live.start()
        else:
            self._thread = threading.Thread(target=self._tell, name="bench progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._over.set()
        if self._live is not None:
            self._live.stop()
        if self._thread is not None:
            self._thread.join(1)
        if not self._quiet:
            put(self._console, str(self.line()))

    def line(self) -> Text:
        """How far it is, what is asked now, and how long it will take."""
        now = self._benching.so_far()
        words = [f"{now.done:,} of {now.total:,} runs"]
        if now.failed:
            words.append(f"{now.failed:,} failed")
        if now.cell is not None and now.done < now.total:
            words.append(one_line(f"{now.cell.task}, {now.cell.method}, {now.cell.model}", 80))
        if now.left is not None and now.done < now.total:
            words.append(f"{duration(now.left)} left")
        return Text("; ".join(words))

    def _tell(self) -> None:
        while not self._over.wait(EVERY):
            put(self._console, str(self.line()))
