"""A model as a bench asks it: given up when it fails several times running, and one on this machine asked in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import anyio

from sleuth.errors import ContextTooLong, EnvironmentFault
from sleuth.ports import Model, Pieces, Report
from sleuth.types import Completion, Generate, Message

PATIENCE = 3
"""Calls that may fail one after the other (each with its own retries)."""
NOTHING = 0.01
"""Seconds that are no waiting."""


class Watched:
    """The model, and `give_up` with its last error after `PATIENCE` failed calls running. A prompt that is too long is none."""

    def __init__(self, model: Model, give_up: Callable[[EnvironmentFault], None]) -> None:
        self._model, self._give_up, self._failed = model, give_up, 0

    @property
    def name(self) -> str:
        return self._model.name

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        try:
            reply = await self._model.generate(request, report=report, pieces=pieces)
        except ContextTooLong:
            raise
        except EnvironmentFault as error:
            self._failed += 1
            if self._failed >= PATIENCE:
                self._give_up(error)
            raise
        self._failed = 0
        return reply

    async def count(self, messages: Sequence[Message]) -> int:
        return await self._model.count(messages)

    def price(self, read: int, written: int) -> float:
        return self._model.price(read, written)

    async def aclose(self) -> None:
        await self._model.aclose()


class InTurn:
    """The model, one call at a time: a call's own seconds are known, since it tells what it waited (a report of kind ``queue``).

    A model on this machine answers no sooner when several ask at once; their waiting for each other would be counted as
    the strategy's time.
    """

    def __init__(self, model: Model) -> None:
        self._model, self._turn = model, anyio.Lock()

    @property
    def name(self) -> str:
        return self._model.name

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        began = time.monotonic()
        async with self._turn:
            waited = time.monotonic() - began
            if waited > NOTHING:
                report("queue", f"Waited {waited:.1f} s for its turn.", seconds=waited)
            return await self._model.generate(request, report=report, pieces=pieces)

    async def count(self, messages: Sequence[Message]) -> int:
        return await self._model.count(messages)

    def price(self, read: int, written: int) -> float:
        return self._model.price(read, written)

    async def aclose(self) -> None:
        await self._model.aclose()
