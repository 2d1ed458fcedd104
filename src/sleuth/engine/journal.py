"""Events out to the sinks, numbered, in order, with `Closed` last; and the run's total, which is a fold over them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from sleuth.engine.budget import dollars
from sleuth.events import Body, Closed, Event, Failed, Finished, Sink, Span
from sleuth.types import Usage

ROOT = Span("", 0)


class Journal:
    """One run's stream of events.

    Sinks are called at once, one after the other. One that raises is told of nothing more in this run (its record
    would have a hole), the run goes on, and a `RuntimeWarning` says so, once; where warnings are errors, that error
    is kept in `complaint` for the end of the run.
    """

    def __init__(self, run: str, sinks: Iterable[Sink]) -> None:
        self.run = run
        self.complaint: Warning | None = None
        self._sinks = list(sinks)
        self._seq = 0
        self._closed = False
        self._total = Usage()
        self._usd = Fraction(0)

    @property
    def total(self) -> Usage:
        """The sum of all usages told so far; dollars summed exactly, then rounded once."""
        return replace(self._total, usd=float(self._usd))

    def write(self, span: Span, body: Body, *, seq: int = 0) -> None:
        """Tell the sinks. `seq` is the least number to use (a replay keeps the recorded ones). After `Closed`: nothing."""
        if self._closed:
            return
        self._closed = isinstance(body, Closed)
        if isinstance(body, Finished | Failed):
            self._total += body.usage
            self._usd += dollars(body.usage.usd)
        event = Event(self.run, max(seq, self._seq), time.time(), span, body)
        self._seq = event.seq + 1
        for sink in tuple(self._sinks):
            try:
                sink(event)
            except Exception as error:  # noqa: BLE001  (a sink is somebody else's code; the run does not depend on it)
                self._drop(sink, error)

    def _drop(self, sink: Sink, error: Exception) -> None:
        self._sinks.remove(sink)
        text = f"A sink failed and is told of nothing more in run {self.run}: {sink!r}: {type(error).__name__}: {error}"
        try:
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        except RuntimeWarning as complaint:
            self.complaint = complaint
