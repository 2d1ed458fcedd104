"""Model calls that are counted, and refused beyond a limit."""

from __future__ import annotations

from collections.abc import Sequence

from sleuth.errors import EnvironmentFault, ModelError
from sleuth.ports import Model, Pieces, Report
from sleuth.types import Completion, Generate, Message


class Counted:
    """A model that may be called `most` times. What it failed with, and whether it was asked for more, is kept."""

    def __init__(self, model: Model, most: int) -> None:
        self._model, self.most = model, most
        self.calls = 0
        self.short = False
        self.fault: EnvironmentFault | None = None

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        """The model's reply. Raises `ModelError` beyond the limit."""
        if self.calls >= self.most:
            self.short = True
            raise ModelError("The calls that blame may make are used up.")
        self.calls += 1
        try:
            return await self._model.generate(request, report=report, pieces=pieces)
        except EnvironmentFault as fault:
            self.fault = fault
            raise

    async def count(self, messages: Sequence[Message]) -> int:
        """The model's count."""
        return await self._model.count(messages)

    def price(self, read: int, written: int) -> float:
        """The model's price."""
        return self._model.price(read, written)

    async def aclose(self) -> None:
        """Who made the model closes it."""
