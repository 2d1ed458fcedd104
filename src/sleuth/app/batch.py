"""Many questions through the engine: what is finished stays, what was interrupted goes on from its own trace.

A run is written beside its place (``NAME.half``) and moved there when it has ended. One that was interrupted answers for
itself what it holds; interrupted again, the fuller of its two traces goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
import anyio.to_thread

from sleuth.app.compose import Order, perform
from sleuth.app.keep import Keep
from sleuth.events import Closed, Event, Finished
from sleuth.trace import Cassette, salvage
from sleuth.types import Answer

Again: TypeAlias = Literal["interrupted", "failed", "all"]
"""What is asked once more: only what did not end; also what failed; everything, from its first call on."""

OUTSIDE = ("model_error", "source_error", "deadline")
"""Why a run failed that says nothing of the calls that it had finished: asked again, it goes on behind them."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to be asked: its key, where its trace goes, and what makes its order when its turn comes."""

    key: str
    question: str
    trace: Path
    make: Callable[[], Order]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. `answer` is None where `error` was raised; `reused` where it was finished before."""

    key: str
    answer: Answer | None
    error: Exception | None
    trace: Path
    reused: bool = False


class Batch:
    """Performs its asks, `at_once` at a time, and hands each outcome to `each` as it comes; one that raises stops no other."""

    def __init__(
        self,
        asks: Iterable[Ask],
        *,
        at_once: int = 1,
        again: Again = "interrupted",
        each: Callable[[Outcome], None] | None = None,
    ) -> None:
        self._asks, self._at_once, self._again, self._each = asks, at_once, again, each

    async def perform(self, keep: Keep) -> None:
        """Ask what is not finished. Cancelled, it stops; what is done is in its traces. Raises what `each` raises."""
        left = iter(self._asks)
        async with anyio.create_task_group() as group:
            for _ in range(self._at_once):
                group.start_soon(self._work, left, keep)

    async def _work(self, left: Iterator[Ask], keep: Keep) -> None:
        """One of the workers: takes the next ask as soon as it has ended one."""
        for ask in left:
            try:
                outcome = await self._asked(ask, keep)
            except Exception as error:  # noqa: BLE001  whatever one question does, the others go on; its outcome tells
                outcome = Outcome(ask.key, None, error, ask.trace)
            if self._each is not None:
                self._each(outcome)

    async def _asked(self, ask: Ask, keep: Keep) -> Outcome:
        answer, events = await anyio.to_thread.run_sync(found, ask.trace, self._again)
        if answer is not None:
            return Outcome(ask.key, answer, None, ask.trace, reused=True)
        order = replace(ask.make(), trace=_half(ask.trace))
        if events:
            order = replace(order, recording=Cassette(events, strict=False))
        try:
            answer = await perform(order, keep)
        except Exception:
            _ended(ask.trace)
            raise
        _ended(ask.trace)
        return Outcome(ask.key, answer, None, ask.trace)


def found(trace: Path, again: Again) -> tuple[Answer | None, Sequence[Event]]:
    """The answer that stands, or None and the events that a new run goes on from (none: it begins anew)."""
    half = _half(trace)
    events, answer = ((), None) if again == "all" else _read(trace)
    if answer is not None and not (again == "failed" and answer.status == "failed"):
        return answer, ()
    if again == "all" or (answer is not None and answer.ended not in OUTSIDE):
        trace.unlink(missing_ok=True)  # its own failure would only come again from its recording
        half.unlink(missing_ok=True)
        return None, ()
    fresh, _ = _read(half)
    if _finished(fresh) > _finished(events):
        half.replace(trace)
        events = fresh
    half.unlink(missing_ok=True)
    return None, events


def _read(trace: Path) -> tuple[Sequence[Event], Answer | None]:
    """The events before the end, and the answer of a run that ended by itself; nothing of what is no trace."""
    events = salvage(trace)
    last = events[-1].body if events else None
    if not isinstance(last, Closed):
        return events, None
    return events[:-1], None if last.answer.ended == "cancelled" else last.answer


def _finished(events: Sequence[Event]) -> int:
    return sum(isinstance(event.body, Finished) for event in events)


def _half(trace: Path) -> Path:
    return trace.with_name(trace.name + ".half")


def _ended(trace: Path) -> None:
    """Put the trace of a run that has ended into its place; there is none where it could not be written."""
    half = _half(trace)
    if half.exists():
        half.replace(trace)


def single(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group: the others were cancelled by it."""
    inner = group.exceptions[0]
    return single(inner) if isinstance(inner, BaseExceptionGroup) else inner
