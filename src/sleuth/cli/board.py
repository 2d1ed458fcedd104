"""Several runs as they go on, on stderr: a live table on a terminal, one plain line at a time elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sleuth.app.compare import Row
from sleuth.app.comparing import Comparing
from sleuth.cli.answers import many
from sleuth.cli.live import Tenths, doing
from sleuth.cli.screen import put
from sleuth.cli.text import one_line
from sleuth.events import Attempt, Closed, Event, Noted, Opened

STYLES = {"answered": "green", "abstained": "yellow", "failed": "red", "running": "cyan", "waiting": "dim"}


class Board:
    """A sink of all runs of a comparison: `show` says which. Nothing is shown when `quiet`."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._comparing: Comparing | None = None
        self._tenths = Tenths()
        self._live: Live | None = None
        if console.is_terminal and not quiet:
            self._live = Live(console=console, get_renderable=self.table, refresh_per_second=4, transient=True)

    def show(self, comparing: Comparing) -> Board:
        """Show this comparison, as a context: ``with board.show(comparing): ...``."""
        self._comparing = comparing
        return self

    def __enter__(self) -> Board:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: Event) -> None:
        if self._live is None and not self._quiet and self._comparing is not None:
            rows = self._comparing.rows()
            place = next(number for number, row in enumerate(rows) if row.run == event.run)
            if line := self._line(rows[place], event):
                put(self._console, (f"[{place + 1}/{len(rows)}] {rows[place].name}: ", "dim"), line)

    def table(self) -> Table:
        """The rows as they are now, as wide as the terminal: what is cut first is what is being done."""
        table = Table(box=None, pad_edge=False, width=self._console.width)
        table.add_column("strategy", no_wrap=True)
        table.add_column("status", no_wrap=True)
        table.add_column("doing", no_wrap=True, ratio=1, overflow="ellipsis")
        for head in ("hops", "calls", "seconds"):
            table.add_column(head, no_wrap=True, justify="right")
        for row in self._comparing.rows() if self._comparing else ():
            table.add_row(*cells(row, time.time()))
        return table

    def _line(self, row: Row, event: Event) -> str:
        """What an event is worth saying in a line; "" for most."""
        match event.body:
            case Opened():
                return "begins"
            case Noted(kind="hop", text=text):
                return f"hop {len(row.hops)}: {one_line(text, 200)}"
            case Attempt(kind="download", text=text, data=data) if "what" in data:
                return text if self._tenths.another(data["done"], data["total"]) else ""
            case Attempt(kind=kind, text=text) if kind != "cache":
                return f"{kind}: {one_line(text, 200)}"
            case Closed(answer=answer):
                told = one_line(answer.text, 200) or one_line(answer.note, 200)
                why = answer.ended.replace("_", " ")
                return f"{answer.status}, {why}: {told} ({many(row.usage.calls, 'call')}, {row.seconds:.1f} s)"
        return ""


def cells(row: Row, now: float) -> tuple[Text, ...]:
    """A row of the live table; `now` is in seconds since the epoch."""
    going = row.status == "running"
    seconds = now - (row.began or now) - row.loading if going else row.seconds
    what = doing(row.doing) if going and row.doing is not None else row.text or row.note
    begun = row.began is not None
    return (
        Text(one_line(row.name, 32), style="bold"),
        Text(row.status, style=STYLES[row.status]),
        Text(one_line(what, 200), style="dim" if going else ""),
        *(
            Text(text if begun else "")
            for text in (str(len(row.hops)), str(row.usage.calls), f"{max(0.0, seconds):.1f}")
        ),
    )
