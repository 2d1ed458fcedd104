"""Requests that touch a port: model calls, searches, pages, tools. Here the budget is kept and time is taken."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import anyio

from sleuth.engine.budget import Ledger, Price, dollars
from sleuth.engine.journal import Journal
from sleuth.engine.tasks import Step
from sleuth.errors import Cancelled, ContextTooLong, ModelRateLimited, SleuthError, ToolError, WrongUse
from sleuth.events import Attempt, Delta
from sleuth.ports import Model, Pieces, Report, Source, Tool
from sleuth.types import (
    Budget,
    Call,
    Completion,
    Count,
    Generate,
    Listening,
    Message,
    Open,
    Page,
    Passage,
    Role,
    Search,
    Similar,
    ToolResult,
    Usage,
)

T = TypeVar("T")

UNREAD = (ModelRateLimited, ContextTooLong)
"""Refusals made before the model reads a token: they are charged as a call, but no tokens."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What an engine performs with."""

    model: Model
    models: Mapping[Role, Model]
    source: Source | None
    tools: Mapping[str, Tool]

    def model_for(self, role: Role) -> Model:
        """The role's own model, else the one for all."""
        return self.models.get(role, self.model)

    def closing(self, budget: Budget) -> Price:
        """What one closing call may cost: whichever way its tokens fall, with whichever model."""
        tokens, usd = budget.closing_tokens, 0.0
        if budget.usd is not None:
            every = (self.model, *self.models.values())
            usd = max(price for model in every for price in (model.price(tokens, 0), model.price(0, tokens)))
        return Price(1, tokens, dollars(usd))


@dataclass(slots=True, eq=False)
class Hearing:
    """A model call that is read while it is written.

    `told`: its bill is in the stream of events. `recorded`: its pieces come from a recording, no call is made.
    """

    listening: Listening
    step: Step
    text: str = ""
    heard: int = 0
    completion: Completion | None = None
    error: SleuthError | None = None
    told: bool = False
    recorded: bool = False
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    changed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def ended(self) -> bool:
        return self.completion is not None or self.error is not None

    def piece(self, text: str) -> None:
        """More of the reply has come."""
        if not self.ended:
            self.text += text
            self.heard += len(text)
            self._wake()

    def end(self, completion: Completion | None = None, error: SleuthError | None = None) -> None:
        """The call is over. What a model did not give in pieces comes as the last one."""
        if completion is not None:
            self.text += completion.text[self.heard :]
        self.completion, self.error = completion, error
        self._wake()

    def halt(self) -> None:
        """Stop the call."""
        self.scope.cancel()

    def bill(self) -> Usage:
        """What the call is charged, once."""
        bill = Usage() if self.told else self.step.bill
        self.told = True
        return bill

    async def read(self, until: str | None) -> str | Completion:
        """The next piece; the completion at the end. Raises what the model raised."""
        while not self.ended and not (self.text if until is None else until in self.text):
            await self.changed.wait()
        if self.error is not None and not self.text:
            raise self.error.again() from self.error
        if not self.text and self.completion is not None:
            return self.completion
        end = len(self.text)
        if until is not None and until in self.text:
            end = self.text.index(until) + len(until)
        piece, self.text = self.text[:end], self.text[end:]
        return piece

    async def close(self) -> Completion:
        """Give it up, unless it is over: its completion, or why there is none."""
        self.halt()
        while not self.ended:
            await self.changed.wait()
        if self.completion is None:
            raise (self.error or Cancelled("The call was given up.")).again()
        return self.completion

    def _wake(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()


class Performer:
    """Performs one run's requests through the ports."""

    def __init__(self, ports: Ports, budget: Budget, journal: Journal, *, deltas: bool) -> None:
        self.ledger = Ledger(budget, ports.closing(budget))
        self._ports = ports
        self._budget = budget
        self._journal = journal
        self._deltas = deltas

    async def perform(self, step: Step) -> Any:
        """What the port gives. Raises what it raises; `step.bill` is set in either case."""
        match step.request:
            case Generate() as request:
                reserved = await self.reserve(step, request)
                return await self.generate(step, request, reserved, None)
            case Count(text, role):
                return await self._ports.model_for(role).count((Message("user", text),))
            case Search() as request:
                source = self._source()
                work = awaited(source.search(request, report=self._report(step)), "search", source)
                return _passages(source, await self._timed(step, work, searches=1))
            case Open() as request:
                source = self._source()
                opening = awaited(source.open(request, report=self._report(step)), "open", source)
                return _page(source, await self._timed(step, opening, searches=1))
            case Call(tool, arguments):
                text = await self._timed(step, self._tool(tool).call(arguments, report=self._report(step)))
                return ToolResult(text, f"call-{step.span.branch or 'run'}-{step.span.number}")
        raise WrongUse(f"The engine does not know the request {type(step.request).__name__}.")

    async def reserve(self, step: Step, request: Generate) -> Usage:
        """The call's price, put aside. Tokens are counted only where a limit asks for it. Raises `BudgetExceeded`."""
        bill = Usage(calls=1)
        if self._budget.tokens is not None or self._budget.usd is not None:
            model = self._ports.model_for(request.role)
            read = await model.count(request.messages)
            bill = Usage(1, read=read, written=request.max_tokens, usd=model.price(read, request.max_tokens))

        def waiting(limit: str) -> None:
            self._report(step)("wait", f"the rest of the {limit} may not be enough: waiting for other calls to end")

        await self.ledger.reserve(bill, closing=request.closing, waiting=waiting)
        return bill

    async def generate(self, step: Step, request: Generate, reserved: Usage, pieces: Pieces | None) -> Completion:
        """One reserved call, settled however it ends: an unknown bill (cancelled, failed) in full."""
        model = self._ports.model_for(request.role)
        if pieces is None and self._deltas:
            pieces = self._delta(step)
        bill, begun = reserved, time.perf_counter()
        try:
            completion = await awaited(
                model.generate(request, report=self._report(step), pieces=pieces), "generate", model
            )
            if not isinstance(completion, Completion):
                raise _wrong(model, "generate", completion, "a Completion")
            bill = self._bill(model, completion.usage)
        except UNREAD:
            bill = Usage(calls=1)
            raise
        finally:
            charged = self.ledger.settle(reserved, bill)
            step.bill = replace(charged, seconds=time.perf_counter() - begun)
            self._say_cut(step, bill, charged)
        return completion

    def hear(self, hearing: Hearing) -> Pieces:
        """Pieces of a reply go to its reader, and to live readers where there are any."""
        delta = self._delta(hearing.step) if self._deltas else None

        def pieces(text: str) -> None:
            hearing.piece(text)
            if delta is not None:
                delta(text)

        return pieces

    @staticmethod
    def _bill(model: Model, usage: Usage) -> Usage:
        usd = usage.usd or model.price(usage.read + usage.cached, usage.written)
        return replace(usage, calls=1, searches=0, usd=usd)

    def _say_cut(self, step: Step, bill: Usage, charged: Usage) -> None:
        if bill.tokens > charged.tokens or bill.usd > charged.usd:
            text = "the model reports more than it promised at most; the charge was cut at what the budget has left"
            self._report(step)("overrun", text, tokens=bill.tokens - charged.tokens, usd=bill.usd - charged.usd)

    async def _timed(self, step: Step, work: Awaitable[T], searches: int = 0) -> T:
        begun = time.perf_counter()
        try:
            return await work
        finally:
            step.bill = Usage(searches=searches, seconds=time.perf_counter() - begun)

    def _report(self, step: Step) -> Report:
        def report(kind: str, text: str, **data: Any) -> None:
            if not step.over:
                self._journal.write(step.span, Attempt(kind, text, data))

        return report

    def _delta(self, step: Step) -> Pieces:
        def delta(text: str) -> None:
            if not step.over:
                self._journal.write(step.span, Delta(text))

        return delta

    def _source(self) -> Source:
        if self._ports.source is None:
            raise WrongUse("This run has nothing to search.", hint="Give the engine a source, or index a library.")
        return self._ports.source

    def _tool(self, name: str) -> Tool:
        if name not in self._ports.tools:
            known = ", ".join(sorted(self._ports.tools)) or "none"
            raise ToolError(f"There is no tool named {name!r}. Known tools: {known}.", tool=name)
        return self._ports.tools[name]


def awaited(work: Awaitable[T], method: str, port: object) -> Awaitable[T]:
    """What a port's method gave, to be awaited. Raises `WrongUse` for a port whose method is a plain function."""
    if not inspect.isawaitable(work):
        raise WrongUse(f"{_called(port)}: its `{method}` is no coroutine function.", hint="Write it with `async def`.")
    return work


def _passages(source: object, found: object) -> tuple[Passage, ...]:
    if not isinstance(found, list | tuple) or not all(isinstance(one, Passage) for one in found):
        raise _wrong(source, "search", found, "a tuple of Passages")
    return tuple(found)


def _page(source: object, found: object) -> Page | Similar:
    if not isinstance(found, Page | Similar):
        raise _wrong(source, "open", found, "a Page or Similar")
    return found


def _wrong(port: object, method: str, given: object, wanted: str) -> WrongUse:
    text = f"{_called(port)}: its `{method}` returned a {type(given).__name__}, not {wanted}."
    return WrongUse(text, hint="See sleuth.ports for what it has to return.")


def _called(port: object) -> str:
    return f"The {type(port).__name__} that the run was given does not fit"
