"""Many questions through the engine: what is finished stays, what was interrupted goes on from its own trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import anyio

from sleuth.app.compose import Order, perform
from sleuth.app.keep import Keep
from sleuth.errors import BadInput
from sleuth.events import Closed, Event
from sleuth.trace import Cassette, read_trace
from sleuth.types import Answer


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to ask, the file its trace goes to, and how its run is made (when its turn comes)."""

    key: str
    question: str
    trace: Path
    make: Callable[[], Order]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an ask ended: its answer, or what was raised; `reused` where it was finished before."""

    key: str
    answer: Answer | None
    error: Exception | None
    trace: Path
    reused: bool = False


class Batch:
    """Performs its asks, `at_once` at a time; one that raises stops no other."""

    def __init__(
        self, asks: Sequence[Ask], *, at_once: int = 1, again: Literal["interrupted", "failed", "all"] = "interrupted"
    ) -> None:
        self._asks, self._at_once, self._again = tuple(asks), at_once, again
        self._outcomes: dict[str, Outcome] = {}

    async def perform(self, keep: Keep) -> tuple[Outcome, ...]:
        """Ask what is not finished. Cancelled, it stops; what is done is in its traces."""
        limiter = anyio.CapacityLimiter(self._at_once)
        async with anyio.create_task_group() as group:
            for ask in self._asks:
                group.start_soon(self._one, ask, keep, limiter)
        return tuple(self._outcomes[ask.key] for ask in self._asks)

    async def _one(self, ask: Ask, keep: Keep, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            try:
                self._outcomes[ask.key] = await self._asked(ask, keep)
            except Exception as error:  # noqa: BLE001  whatever one question does, the others go on; its outcome tells
                self._outcomes[ask.key] = Outcome(ask.key, None, error, ask.trace)

    async def _asked(self, ask: Ask, keep: Keep) -> Outcome:
        events = _events(ask.trace)
        closed = events[-1].body if events else None
        if isinstance(closed, Closed) and not (
            self._again == "all" or (self._again == "failed" and closed.answer.status == "failed")
        ):
            return Outcome(ask.key, closed.answer, None, ask.trace, reused=True)
        order = ask.make()
        if not events or isinstance(closed, Closed):
            return Outcome(ask.key, await perform(replace(order, trace=ask.trace), keep), None, ask.trace)
        beside = ask.trace.with_name(ask.trace.name + ".half")
        beside.unlink(missing_ok=True)
        answer = await perform(replace(order, trace=beside, recording=Cassette(events, strict=False)), keep)
        beside.replace(ask.trace)
        return Outcome(ask.key, answer, None, ask.trace)


def _events(trace: Path) -> Sequence[Event]:
    """Of a trace that is there and can be read."""
    if not trace.exists():
        return ()
    try:
        return read_trace(trace)
    except BadInput:
        trace.unlink()
        return ()
