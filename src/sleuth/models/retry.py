"""A model that tries again. Wraps any model; each retry is reported, so it stands in the trace."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Sequence

import anyio

from sleuth.errors import ModelError, ModelRateLimited, ModelTimeout
from sleuth.ports import Model, Pieces, Report
from sleuth.types import Completion, Generate, Message


class Retrying:
    """`model`, called up to `attempts` times. Implements `sleuth.ports.Model`.

    Tried again are only failures that may pass: time-outs, "too many requests", and errors whose
    ``details["retryable"]`` is true (an adapter's word goes first: a time-out marked false is not retried).
    When a reply broke off of which pieces were already handed on, the next try must begin with the same text, which
    is then not handed on twice; if it begins differently, the call fails, because nobody can unread a piece.

    The wait before retry n (from 0) is drawn evenly from 0 to ``min(longest, first * 2**n)`` seconds ("full jitter":
    M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015), or is what the server asked for
    (``details["retry_after"]``) if that is more. A server that asks for more than `most_asked` seconds, or a wait
    that would end more than `within` seconds after the first try, ends the call with the error.

    To share a limiter, wrap it: ``Retrying(Limited(model, limiter))``, so that each try takes its place in the queue.
    """

    def __init__(
        self,
        model: Model,
        attempts: int = 3,
        *,
        first: float = 0.5,
        longest: float = 20.0,
        most_asked: float = 60.0,
        within: float = 180.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        draw: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._model = model
        self._attempts = attempts
        self._first, self._longest = first, longest
        self._most_asked, self._within = most_asked, within
        self._clock, self._sleep, self._draw = clock, sleep, draw

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
        """One call, or several. Raises the last error, with ``details["attempts"]``."""
        begun = self._clock()
        handed = _Handed(pieces) if pieces else None
        tried = 0
        while True:
            try:
                completion = await self._model.generate(request, report=report, pieces=handed)
                if handed and tried:
                    handed.check(completion.text)
                return completion
            except ModelError as error:
                tried += 1
                wait = self._wait(error, tried)
                over = wait is not None and self._clock() - begun + wait > self._within
                if wait is None or over:
                    error.details["attempts"] = tried
                    raise
                self._tell(report, error, tried, wait)
            await self._sleep(wait)
            if handed:
                handed.at = 0

    def _wait(self, error: ModelError, tried: int) -> float | None:
        """Seconds to wait before the next try; None to give up."""
        passing = error.details.get("retryable", isinstance(error, ModelTimeout | ModelRateLimited))
        asked = error.details.get("retry_after") or 0.0
        if not passing or tried >= self._attempts or asked > self._most_asked:
            return None
        return max(asked, self._draw(0.0, min(self._longest, self._first * 2.0 ** (tried - 1))))

    def _tell(self, report: Report, error: ModelError, tried: int, wait: float) -> None:
        kind = "wait" if isinstance(error, ModelRateLimited) else "retry"
        text = f"{error.message} Try {tried + 1} of {self._attempts} in {wait:.1f} s."
        report(kind, text, seconds=round(wait, 3), attempt=tried + 1, error=type(error).__name__)


class _Handed:
    """Hands pieces on, each once, however often the reply begins anew. `at`: how far the present try has come."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._text = ""
        self.at = 0

    def __call__(self, text: str) -> None:
        known = self._text[self.at : self.at + len(text)]
        if not text.startswith(known):
            raise _differs()
        self.at += len(text)
        if new := text[len(known) :]:
            self._text += new
            self._pieces(new)

    def check(self, text: str) -> None:
        """Raise if the whole reply is not what was handed on, or more."""
        if not text.startswith(self._text):
            raise _differs()


def _differs() -> ModelError:
    text = "The reply broke off, and a second one differs from what was already shown of the first."
    return ModelError(text, hint="Ask again.", retryable=False)
