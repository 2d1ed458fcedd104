"""A recorded run, held to again: what was recorded answers, and events come in the recorded order.

Strict (a replay): no port is touched; branches take turns at a turnstile that lets each event through in its
recorded place, so that parallel runs repeat exactly. A request that was never recorded is a `CassetteMiss`, and so is
a stand-still: the recording has an event next that the run no longer makes. A note more or less stops nothing.

Not strict (a resume): finished calls are answered from the recording, everything else goes live.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import anyio

from sleuth.engine.journal import Journal
from sleuth.engine.tasks import INNER, Step
from sleuth.errors import Cancelled, CassetteMiss, DeadlineExceeded, Ended, EnvironmentFault
from sleuth.events import Attempt, Body, Closed, Delta, Event, Failed, Finished, Noted, Opened, Span, Started
from sleuth.types import Completion, Listening, Read, Request

STILL_TICK = 0.05
STILL_TICKS = 4
"""A strict replay waits for nothing outside: so many ticks (of so many seconds) without a move are a stand-still."""

Key: TypeAlias = tuple[Span, str]


class Recording(Protocol):
    """A recorded run that the engine can ask. `sleuth.trace.Cassette` is one."""

    @property
    def strict(self) -> bool:
        """True: replay, nothing but the recording answers. False: resume, what it lacks goes live."""
        ...

    @property
    def events(self) -> Sequence[Event]:
        """All that was recorded, in order."""
        ...

    def find(self, branch: str, digest: str, ordinal: int) -> Finished | Failed | None:
        """How the request of that identity ended, None where that is not recorded."""
        ...

    def miss(self, request: Request[Any], branch: str, digest: str, ordinal: int) -> CassetteMiss:
        """The error for a request that is not recorded; its message shows the nearest one as a unified diff."""
        ...


class Replay:
    """One run's use of a recording, if there is one."""

    def __init__(self, recording: Recording | None, journal: Journal) -> None:
        events = recording.events if recording is not None else ()
        self.strict = recording is not None and recording.strict
        self.turnstile = Turnstile(events if self.strict else (), journal)
        self._recording = recording
        self._opened = next((event.body for event in events if isinstance(event.body, Opened)), None)
        self._cut = _stopped(events) if self.strict else None
        self._started: set[tuple[str, str, int]] = set()
        self._heard: dict[Listening, Completion] = {}
        reads: dict[Span, Listening] = {}
        for event in events:
            match event.body:
                case Started(request, digest, ordinal):
                    self._started.add((event.span.branch, digest, ordinal))
                    if isinstance(request, Read):
                        reads[event.span] = request.listening
                case Finished(value) if isinstance(value, Completion) and event.span in reads:
                    self._heard[reads[event.span]] = value

    @property
    def opened(self) -> Opened | None:
        """Strict: how the recorded run was opened, which the replayed one repeats."""
        return self._opened if self.strict else None

    def look(self, step: Step) -> Finished | Failed | None:
        """The recorded outcome. Strict: raises the recording's `CassetteMiss` where nothing of the kind was started."""
        if self._recording is None:
            return None
        identity = (step.branch.path, step.digest, step.ordinal)
        found = self._recording.find(*identity)
        if found is None and self.strict and identity not in self._started:
            raise self._recording.miss(step.request, *identity)
        return found

    def cut_off(self, request: Request[Any]) -> Ended | None:
        """Strict: why a flow that asks nothing of the outside is closed where the recorded one was; else None."""
        if self._cut is None or not self.turnstile.over:
            return None
        outside = isinstance(request, Request) and not isinstance(request, INNER)
        return None if outside else self._cut.again()  # type: ignore[return-value]  # of the same class

    def heard(self, listening: Listening) -> Completion | None:
        """The end of a recorded reply that was read piece by piece; None where it was not read to the end."""
        return self._heard.get(listening)

    @staticmethod
    def is_reusable(found: Finished | Failed | None) -> bool:
        """In a resume: what failed for its surroundings, or because the run was stopped, is tried again."""
        return isinstance(found, Finished) or (
            isinstance(found, Failed) and not isinstance(found.error, EnvironmentFault | Ended)
        )


class Turnstile:
    """Lets events through in the recorded order. `moves` counts them."""

    def __init__(self, events: Sequence[Event], journal: Journal) -> None:
        self.moves = 0
        self._events = [event for event in events if not isinstance(event.body, Opened | Closed)]
        self._journal = journal
        self._at = 0
        self._notes = Counter(event.span for event in self._events if isinstance(event.body, Noted))
        self._waiting: dict[str, tuple[Key, anyio.Event]] = {}
        self._gone: set[str] = set()

    async def turn(self, span: Span, body: Body) -> None:
        """Wait for this event's recorded place, then write it; what the caller does next comes before any other event.

        A note that was not recorded is written at once; a recorded one that does not come is passed over.
        """
        if isinstance(body, Noted) and not self._notes[span]:
            return self._journal.write(span, body)
        called = anyio.Event()
        self._waiting[span.branch] = ((span, _kind(body)), called)
        self._advance()
        try:
            if not called.is_set():
                await called.wait()
        finally:
            del self._waiting[span.branch]
        self._write(span, body)
        self._advance()
        return None

    def leave(self, branch: str) -> None:
        """The branch makes no more events."""
        self._gone.add(branch)
        self._advance()

    @property
    def over(self) -> bool:
        """Have all recorded events been written?"""
        return self._at >= len(self._events)

    def next_text(self) -> str:
        """What the recording has next, for a message."""
        if self._at >= len(self._events):
            return "the recording ends here"
        event = self._events[self._at]
        where = f"branch {event.span.branch!r}, request {event.span.number}"
        return f"the recording goes on with {_describe(event.body)} ({where}), which this run does not do"

    def _advance(self) -> None:
        """Call whoever is next; write what comes by itself."""
        while self._at < len(self._events):
            event = self._events[self._at]
            if isinstance(event.body, Attempt | Delta):
                self._write(event.span, event.body)
                continue
            waiting = self._waiting.get(event.span.branch)
            if waiting is not None and waiting[0] == (event.span, _kind(event.body)):
                return waiting[1].set()
            if not isinstance(event.body, Noted) or (waiting is None and event.span.branch not in self._gone):
                return None
            self._pass_over(event)
        return None

    def _write(self, span: Span, body: Body) -> None:
        event = self._events[self._at]
        self._at += 1
        self.moves += 1
        if isinstance(body, Noted):
            self._notes[span] -= 1
        self._journal.write(span, body, seq=event.seq)

    def _pass_over(self, event: Event) -> None:
        self._at += 1
        self._notes[event.span] -= 1


def _stopped(events: Sequence[Event]) -> Ended | None:
    """What ended a recorded run that was stopped from outside, and had no answer of its own."""
    answer = next((event.body.answer for event in events if isinstance(event.body, Closed)), None)
    if answer is None or answer.status != "failed" or answer.ended not in ("deadline", "cancelled"):
        return None
    return (DeadlineExceeded if answer.ended == "deadline" else Cancelled)(answer.note)


def _kind(body: Body) -> str:
    return "outcome" if isinstance(body, Finished | Failed) else type(body).__name__


def _describe(body: Body) -> str:
    text = repr(body.request) if isinstance(body, Started) else f"{type(body).__name__} of an earlier request"
    return text if len(text) <= 200 else f"{text[:197]}..."
