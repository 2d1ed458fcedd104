"""Short ways to drive a flow in a test and to look at what was told."""

from __future__ import annotations

import asyncio
import atexit
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

import anyio

from sleuth import codec
from sleuth.engine import Engine
from sleuth.errors import Ended, EnvironmentFault, ModelTimeout, SleuthError
from sleuth.events import Attempt, Closed, Event, Failed, Finished, Noted, Started
from sleuth.types import (
    Answer,
    Call,
    Completion,
    Flow,
    Generate,
    Listen,
    Message,
    Open,
    Read,
    Search,
    Task,
    Usage,
)
from sleuth.verbs import cancel, fork, generate, join, listen, next_of, note, read, search

T = TypeVar("T")


@dataclass
class Told:
    """A run's events, with the questions that tests ask of them."""

    events: list[Event] = field(default_factory=list)

    def bodies(self, kind: type, branch: str | None = None) -> list[Any]:
        return [e.body for e in self.events if isinstance(e.body, kind) and branch in (None, e.span.branch)]

    def requests(self, kind: type, branch: str | None = None) -> list[Any]:
        return [body.request for body in self.bodies(Started, branch) if isinstance(body.request, kind)]

    def notes(self, branch: str | None = None) -> list[str]:
        return [body.text for body in self.bodies(Noted, branch)]

    def failures(self, branch: str | None = None) -> list[str]:
        return [type(body.error).__name__ for body in self.bodies(Failed, branch)]

    def failed(self) -> list[Failed]:
        return self.bodies(Failed)

    def closing(self) -> Answer:
        answer: Answer = self.bodies(Closed)[0].answer
        return answer

    def attempts(self) -> list[Attempt]:
        return self.bodies(Attempt)

    def index(self, wanted: Callable[[Event], bool]) -> int:
        return next(number for number, event in enumerate(self.events) if wanted(event))

    def identities(self) -> set[tuple[str, str, int]]:
        return {(e.span.branch, e.body.digest, e.body.ordinal) for e in self.events if isinstance(e.body, Started)}

    def spent(self) -> Usage:
        total = Usage()
        for body in self.bodies(Finished) + self.bodies(Failed):
            total += body.usage
        return total

    def lines(self) -> list[str]:
        """Each event but for its run and time, as text that can be compared."""
        return [_line(event) for event in self.events]

    def assert_closed(self) -> None:
        """Numbered upwards, and `Closed` last, once."""
        numbers = [event.seq for event in self.events]
        assert numbers == sorted(set(numbers))
        assert [i for i, e in enumerate(self.events) if isinstance(e.body, Closed)] == [len(self.events) - 1]

    def assert_whole(self) -> None:
        """Closed, and one outcome for each request."""
        self.assert_closed()
        open_spans: set[Any] = set()
        for event in self.events:
            if isinstance(event.body, Started):
                assert event.span not in open_spans
                open_spans.add(event.span)
            elif isinstance(event.body, Finished | Failed):
                open_spans.remove(event.span)
        assert not open_spans


def _line(event: Event) -> str:
    body = event.body
    if isinstance(body, Closed):
        body = Closed(replace(body.answer, run=""))
    return json.dumps([event.seq, event.span.branch, event.span.number, codec.plain(body, other=repr)], sort_keys=True)


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run it in a loop that all such tests share: a property test runs hundreds of flows."""
    return _runner().run(work)


@cache
def _runner() -> asyncio.Runner:
    runner = asyncio.Runner()
    atexit.register(runner.close)
    return runner


def drive(flow: Flow[Any], model: Any, source: Any = None, **how: Any) -> tuple[Any, Told]:
    """Run the flow to its end; what it gives, and what was told."""
    told = Told()
    engine = Engine(model, source, sinks=[told.events.append], **how)
    value = in_loop(engine.run(flow))
    told.assert_whole()
    return value, told


def given_up(events: Iterable[Event]) -> int:
    """How many requests were stopped from outside: they may have reached the model or source, and brought nothing."""
    return sum(isinstance(event.body, Failed) and isinstance(event.body.error, Ended) for event in events)


def outside(events: Iterable[Event]) -> dict[Any, bool]:
    """What was asked of model, source and tools, by its identity, and whether it was performed now (not if it was given up)."""
    events = list(events)
    kept = {e.span for e in events if isinstance(e.body, Attempt) and e.body.kind == "cache"}
    kept |= {e.span for e in events if isinstance(e.body, Failed) and isinstance(e.body.error, Ended)}
    return {
        (e.span.branch, e.body.digest, e.body.ordinal): e.span not in kept
        for e in events
        if isinstance(e.body, Started) and isinstance(e.body.request, Generate | Listen | Search | Open | Call)
    }


def ended_for_good(events: Iterable[Event]) -> set[Any]:
    """What a resumed run must not ask again: a failure of the surroundings is not of it, nor a reply heard in part."""
    begun: dict[Any, Started] = {}
    heard: dict[Any, Any] = {}
    over = set()
    for event in events:
        if isinstance(event.body, Started):
            begun[event.span] = event.body
        elif isinstance(event.body, Finished | Failed) and (start := begun.get(event.span)):
            identity, value = (event.span.branch, start.digest, start.ordinal), getattr(event.body, "value", None)
            if isinstance(start.request, Listen):
                heard[value] = identity
            elif isinstance(start.request, Read) and isinstance(value, Completion):
                over.add(heard[start.request.listening])
            elif isinstance(event.body, Finished) or not isinstance(event.body.error, EnvironmentFault | Ended):
                over.add(identity)
    return over


def ask(text: str, **how: Any) -> Flow[str]:
    """One call; its text."""
    completion = yield from generate([Message("user", text)], **how)
    return completion.text


def prompt(request: Generate) -> str:
    return "".join(message.content for message in request.messages)


class Clerk:
    """A model that replies by prompt, each after a delay of its own. "!"-prompts take until they are cancelled."""

    name = "clerk"

    def __init__(
        self,
        delays: Mapping[str, float] | None = None,
        *,
        usage: Callable[[Generate], Usage] | None = None,
        usd: float = 0.0,
    ) -> None:
        self.delays = delays or {}
        self.asked: list[str] = []
        self.busy = 0
        self.stopped: list[str] = []
        self._usage = usage or (lambda request: Usage(read=1, written=1))
        self._usd = usd

    async def generate(self, request: Generate, *, report: Any, pieces: Any = None) -> Completion:
        text = prompt(request)
        self.asked.append(text)
        self.busy += 1
        try:
            await anyio.sleep(3600 if text.startswith("!") else self.delays.get(text, 0))
        except anyio.get_cancelled_exc_class():
            self.stopped.append(text)
            raise
        finally:
            self.busy -= 1
        return Completion(text.upper(), usage=self._usage(request))

    async def count(self, messages: Iterable[Message]) -> int:
        return sum(len(message.content.split()) for message in messages)

    def price(self, read: int, written: int) -> float:
        return (read + written) * self._usd

    async def aclose(self) -> None: ...


class Forbidden:
    """A model and a source that fail the test when they are touched."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a port was touched: {name}")


# --- any flow ---------------------------------------------------------------------------------------------------

ACTIONS = ("ask", "note", "fork", "join", "next", "cancel", "listen", "fail", "careful", "search")


def interpreted(program: Iterable[Any], tasks: list[Task[Any]]) -> Flow[str]:
    """A flow made from a list of actions (a pair is a fork with its own list), over tasks that all of them share."""
    text, careful = "", False
    for number, action in enumerate(program):
        name, inner = action if isinstance(action, tuple) else (action, ["ask"])
        try:
            if name == "ask":
                text += yield from ask(f"q{number}")
            elif name == "note":
                yield from note("n", text)
            elif name == "fork":
                tasks.append((yield from fork(interpreted(inner, tasks))))
            elif name == "join" and tasks:
                text += str((yield from join(tasks[number % len(tasks)])))
            elif name == "next" and tasks:
                text += (yield from next_of(tasks)).branch
            elif name == "cancel" and tasks:
                yield from cancel(tasks[number % len(tasks)])
            elif name == "listen":
                text += yield from _listened(number)
            elif name == "search":
                text += str((yield from search(f"s{number}")))
            elif name == "fail":
                raise ModelTimeout("own")
            elif name == "careful":
                careful = True
        except SleuthError as error:
            if not careful:
                raise
            text += type(error).__name__
    return text


def _listened(number: int) -> Flow[str]:
    handle = yield from listen(Generate((Message("user", f"l{number}"),)))
    text = ""
    for _ in range(number % 4):
        text += str((yield from read(handle, None if number % 2 else " ")))
    return text
