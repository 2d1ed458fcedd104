"""How many calls an endpoint gets at once: found by trying, shared by every run that uses the endpoint."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import anyio

from sleuth.errors import ModelError, ModelRateLimited, ModelTimeout
from sleuth.ports import Model, Pieces, Report
from sleuth.types import Completion, Generate, Message


class Limiter:
    """The adaptive limit of one endpoint, for many runs in one event loop.

    Additive increase, multiplicative decrease (D.-M. Chiu, R. Jain, "Analysis of the Increase and Decrease Algorithms
    for Congestion Avoidance in Computer Networks", 1989): while calls fill the limit, each that succeeds raises it by
    ``1 / limit``, so by one a round; "too many requests" and time-outs multiply it by `factor`, once for all the calls
    that were under way together. A server's Retry-After holds every call until it has passed, at most `most_held`
    seconds. Waiting calls go first come, first served. The limit stays between `least` and `most`.
    """

    def __init__(
        self,
        start: int = 8,
        *,
        least: int = 1,
        most: int = 512,
        factor: float = 0.5,
        most_held: float = 120.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self.limit = float(start)
        self.running = 0
        self._least, self._most, self._factor, self._most_held = least, most, factor, most_held
        self._clock, self._sleep = clock, sleep
        self._waiting: deque[anyio.Event] = deque()
        self._held_until = float("-inf")
        self._decreases = 0

    @property
    def waiting(self) -> int:
        """Calls in the queue."""
        return len(self._waiting)

    async def enter(self, report: Report) -> int:
        """Wait for a place; a mark of when it was got, for `pushed_back`. Whoever enters must `leave`."""
        if self._waiting or self.running >= int(self.limit):
            report(
                "wait", f"{self.running} calls are under way at the endpoint, its present limit", limit=int(self.limit)
            )
            await self._queue()
        else:
            self.running += 1
        try:
            while (wait := self._held_until - self._clock()) > 0:
                report("wait", f"the endpoint asked for {wait:.1f} s of quiet", seconds=round(wait, 3))
                await self._sleep(wait)
        except BaseException:  # cancelled: the place is given back
            self.leave()
            raise
        return self._decreases

    async def _queue(self) -> None:
        turn = anyio.Event()
        self._waiting.append(turn)
        try:
            await turn.wait()
        except BaseException:  # cancelled, perhaps just after the place was handed over
            if turn.is_set():
                self.leave()
            else:
                self._waiting.remove(turn)
            raise

    def leave(self) -> None:
        """Give the place back."""
        self.running -= 1
        self._admit()

    def succeeded(self) -> None:
        if self.running >= int(self.limit):
            self.limit = min(float(self._most), self.limit + 1 / self.limit)
            self._admit()

    def pushed_back(self, mark: int, retry_after: float | None = None) -> None:
        """The endpoint had too much. Only the first of the calls entered since the last decrease decreases again."""
        if mark == self._decreases:
            self.limit = max(float(self._least), self.limit * self._factor)
            self._decreases += 1
        if retry_after:
            self._held_until = max(self._held_until, self._clock() + min(retry_after, self._most_held))

    def _admit(self) -> None:
        while self._waiting and self.running < int(self.limit):
            self.running += 1
            self._waiting.popleft().set()


class Limited:
    """`model`, with its calls admitted by `limiter`. Implements `sleuth.ports.Model`."""

    def __init__(self, model: Model, limiter: Limiter) -> None:
        self._model = model
        self.limiter = limiter

    @property
    def name(self) -> str:
        return self._model.name

    def price(self, read: int, written: int) -> float:
        return self._model.price(read, written)

    async def count(self, messages: Sequence[Message]) -> int:
        return await self._model.count(messages)

    async def aclose(self) -> None:
        await self._model.aclose()

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        """One call, when its turn comes. Raises what the model raises."""
        mark = await self.limiter.enter(report)
        try:
            completion = await self._model.generate(request, report=report, pieces=pieces)
        except ModelError as error:
            if isinstance(error, ModelRateLimited | ModelTimeout) or error.details.get("status") in (503, 529):
                self.limiter.pushed_back(mark, error.details.get("retry_after"))
            raise
        else:
            self.limiter.succeeded()
            return completion
        finally:
            self.limiter.leave()
