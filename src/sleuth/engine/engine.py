"""The face of the engine."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from sleuth.engine.drive import Run
from sleuth.engine.perform import Ports
from sleuth.engine.replay import Recording
from sleuth.errors import Cancelled
from sleuth.events import Sink
from sleuth.ports import Model, Source, Tool
from sleuth.types import Budget, Flow, Role

T = TypeVar("T")


class Engine:
    """Drives flows: performs their requests through the ports, within a budget, and tells the sinks what happens.

    `models` gives roles models of their own. `budget` is each run's. `recording` answers instead of the ports
    (strict: a replay) or before them (not strict: a resume). With `deltas`, every reply is also told piece by
    piece while it is written (`Delta` events), for live readers. One engine may drive several runs at once.
    The engine does not close its ports: who made them does.
    """

    def __init__(
        self,
        model: Model,
        source: Source | None = None,
        *,
        models: Mapping[Role, Model] | None = None,
        tools: Iterable[Tool] = (),
        sinks: Iterable[Sink] = (),
        budget: Budget = Budget(),
        recording: Recording | None = None,
        deltas: bool = False,
    ) -> None:
        self._ports = Ports(model, dict(models or {}), source, {tool.name: tool for tool in tools})
        self._sinks = tuple(sinks)
        self._budget = budget
        self._recording = recording
        self._deltas = deltas
        self._runs: set[Run] = set()

    async def run(
        self, flow: Flow[T], *, question: str = "", about: Mapping[str, Any] | None = None, run: str | None = None
    ) -> T:
        """Drive the flow to its end; `Opened` is told first, `Closed` last, whatever happens.

        An `Answer` gets `usage` (the total; its seconds are those of all requests, not of the clock) and `run` filled
        in. A failure that the flow does not catch becomes ``Answer("", "failed", why, note=...)``, whatever T is;
        `WrongUse`, `CassetteMiss` and what is no `SleuthError` (a bug, in the main flow, a fork or a port) are
        raised. When the deadline passes or the run is cancelled, what all branches wait for is cancelled, and
        `DeadlineExceeded` or `Cancelled` raised in the flows there and at whatever they ask for afterwards
        (notes, joins and the like still work), so that a flow may still return what it has.
        """
        going = Run(
            self._ports,
            cast("Flow[Any]", flow),
            run=run or new_run(),
            sinks=self._sinks,
            budget=self._budget,
            recording=self._recording,
            deltas=self._deltas,
        )
        self._runs.add(going)
        try:
            return cast(T, await going.go(question, about or {}))
        finally:
            self._runs.discard(going)

    def cancel(self) -> None:
        """Cancel the runs in progress; each returns its answer. From the event loop they run in."""
        for going in tuple(self._runs):
            going.end(Cancelled("The run was cancelled."))


def new_run() -> str:
    """A run's id: sorts by time (UTC), and is unique ("20240131-120000-123456-9f2c1a")."""
    now = time.time_ns()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now // 10**9))
    return f"{stamp}-{now % 10**9 // 1000:06d}-{secrets.token_hex(3)}"
