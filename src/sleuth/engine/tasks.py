"""Branches of a run: the flow being driven, its place among the others, and who waits for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio

from sleuth import codec
from sleuth.errors import Cancelled, Ended, SleuthError, WrongUse
from sleuth.events import Failed, Finished, Span
from sleuth.types import Cancel, Flow, Join, Next, Note, Request, Usage

MOST_REFUSALS = 100
"""A flow that is told so often in a row that the run (or its budget) has ended, and goes on asking, is closed."""

MOST_LAST = 1000
"""So many notes (joins, and the like) a flow may still make when the run has ended; each fork allows it ten more."""

INNER = (Note, Join, Next, Cancel)
"""Requests that ask nothing of the outside: they are performed even when the run has ended."""


@dataclass(slots=True, eq=False)
class Step:
    """One request of a branch while it is performed.

    `bill` is what it is charged, `carried` what an earlier, failed performance of it was (a resumed run's). `over`:
    nothing more happens to it.
    """

    branch: Branch
    request: Request[Any]
    digest: str
    ordinal: int
    span: Span
    recorded: Finished | Failed | None = None
    bill: Usage = Usage()
    carried: Usage = Usage()
    over: bool = False

    @property
    def charge(self) -> Usage:
        """All it is charged."""
        return self.carried + self.bill


@dataclass(slots=True, eq=False)
class Outcome:
    """What is sent back, or the error that is thrown instead. Silent: nothing is told of it (the recording is torn there)."""

    value: Any = None
    error: SleuthError | None = None
    bill: Usage = Usage()
    silent: bool = False

    def body(self) -> Finished | Failed:
        """The event; an error's copy is without traceback, which would keep the run's frames alive."""
        return Finished(self.value, self.bill) if self.error is None else Failed(self.error.again(), self.bill)


@dataclass(slots=True, eq=False)
class Branch:
    """One flow in progress. `path` is "" for the run itself, "0.2" for the third fork of its first fork.

    `returned`: the flow is at its end, its `value` or `error` decided. `done`: its own forks are at their end too.
    `ending`: why it gets nothing more from outside. `given_up`: its outcome is `Cancelled`, whatever it returns.
    """

    path: str
    flow: Flow[Any]
    children: list[Branch] = field(default_factory=list)
    hearings: list[Any] = field(default_factory=list)
    request: Request[Any] = field(default_factory=Request)  # none yet
    value: Any = None
    error: SleuthError | None = None
    returned: bool = False
    done: bool = False
    given_up: bool = False
    ending: Ended | None = None
    stuck: WrongUse | None = None
    scope: anyio.CancelScope | None = None
    count: int = 0
    _ordinals: Counter[str] = field(default_factory=Counter)
    _refusals: int = 0
    _last: int = 0

    def step(self, request: object) -> Step:
        """The request's identity and span. Only requests with an identity are numbered, so a `Note` shifts nothing.

        Raises `WrongUse` for what is no request, or cannot be stored.
        """
        if not isinstance(request, Request):
            kind = type(request).__name__
            raise WrongUse(f"A flow yielded a {kind}, which is no request.", hint="Was `yield from` meant?")
        digest = codec.digest(request)
        step = Step(self, request, digest, self._ordinals[digest], Span(self.path, self.count))
        self._ordinals[digest] += 1
        self.count += 1
        return step

    def fork(self, flow: Flow[Any]) -> Branch:
        """A new branch below this one, numbered by the order of forks alone."""
        child = Branch(f"{self.path}.{len(self.children)}" if self.path else str(len(self.children)), flow)
        self.children.append(child)
        return child

    def is_within(self, other: Branch) -> bool:
        """Whether it is the other, or was forked below it."""
        return self is other or self.path.startswith(f"{other.path}.")

    def advance(self, outcome: Outcome) -> None:
        """Drive the flow to its next request, or to its end. What is no `SleuthError` is a bug, and passes through."""
        if not self._goes_on(outcome):
            return self.close(outcome.error if isinstance(outcome.error, Ended) else self.ending)
        try:
            if outcome.error is None:
                self.request = self.flow.send(outcome.value)
            else:
                self.request = self.flow.throw(outcome.error)
        except StopIteration as stop:
            self._decide(value=stop.value)
        except SleuthError as error:
            self._decide(error=error)
        return None

    def halt(self, reason: Ended) -> None:
        """Let it have nothing more from outside: what it waits for is cancelled, what it asks for is refused."""
        if self.ending is None:
            self.ending = reason
        if self.scope is not None:
            self.scope.cancel()
        for hearing in self.hearings:
            hearing.halt()

    def give_up(self, reason: Cancelled) -> None:
        """Cancel it and all below it, unless its outcome is decided."""
        if not self.returned:
            self.given_up = True
            self.halt(reason)
        for child in self.children:
            child.give_up(reason)

    def abandon(self) -> None:
        """Close the flow where it stands."""
        with suppress(Exception):  # a flow that minds being closed must not hide why it was
            self.flow.close()

    def close(self, reason: Ended | None) -> None:
        """End it here, for this reason: it would not end by itself."""
        self.abandon()
        self._decide(error=reason)

    def _goes_on(self, outcome: Outcome) -> bool:
        if isinstance(outcome.error, Ended):
            self._refusals += 1
        elif self.ending is not None:
            self._last += 1
        elif not isinstance(self.request, INNER):
            self._refusals = 0
        return self._refusals <= MOST_REFUSALS and self._last <= MOST_LAST + 10 * len(self.children)

    def _decide(self, value: Any = None, error: SleuthError | None = None) -> None:
        self.returned = True
        if self.given_up:
            value, error = None, Cancelled(f"The task {self.path} was given up.")
        self.value, self.error = value, error


class Board:
    """Which branches there are, which have ended, in what order, and which wait for which."""

    def __init__(self, root: Branch) -> None:
        self.branches = {root.path: root}
        self._running = {root.path: root}
        self.order: list[Branch] = []
        self._waits: dict[Branch, tuple[Callable[[], bool], bool]] = {}
        self._changed = anyio.Event()

    def add(self, branch: Branch) -> None:
        """A fork."""
        self.branches[branch.path] = self._running[branch.path] = branch

    def first(self, targets: Iterable[Branch]) -> Branch:
        """Whichever of these ended first; one must have."""
        wanted = set(targets)
        return next(branch for branch in self.order if branch in wanted)

    def ended(self, branch: Branch) -> None:
        """The branch is done; wake who waits."""
        branch.done = True
        self._running.pop(branch.path, None)
        self.order.append(branch)
        self._changed.set()
        self._changed = anyio.Event()
        self._untangle()

    async def wait(self, branch: Branch, targets: Iterable[Branch], *, every: bool = True, free: bool = True) -> None:
        """Until every one of the targets (or any one) has ended.

        Where all branches wait for each other and none can go on, the last to wait is `stuck`: its scope is
        cancelled. `free` says that it may be chosen.
        """
        wanted = tuple(targets)
        enough: Callable[[Iterable[bool]], bool] = all if every else any

        def over() -> bool:
            return enough(target.done for target in wanted)

        if over():
            return
        self._waits[branch] = (over, free)
        try:
            self._untangle()
            while not over():
                await self._changed.wait()
        finally:
            del self._waits[branch]

    def _untangle(self) -> None:
        if not all(self._is_blocked(branch) for branch in self._running.values()):
            return
        free = [branch for branch, (_, free) in self._waits.items() if free and branch.scope is not None]
        if free and (scope := free[-1].scope) is not None:
            names = ", ".join(branch.path or "the run" for branch in self._waits)
            free[-1].stuck = WrongUse(f"These tasks wait for each other, so none can go on: {names}.")
            scope.cancel()

    def _is_blocked(self, branch: Branch) -> bool:
        if branch not in self._waits or branch.stuck is not None:
            return False
        if branch.scope is not None and branch.scope.cancel_called:
            return False
        return not self._waits[branch][0]()
