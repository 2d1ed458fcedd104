"""The models that outlive a run: loading the local one takes seconds, so later runs find it here."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

import anyio

from sleuth.ports import Model

if TYPE_CHECKING:
    from sleuth.models.limit import Limiter

CLOSING = 2.0
"""Seconds that closing a model may take."""


class Keep:
    """Models by the key they were made from, and one limiter a server; all used in one event loop."""

    def __init__(self) -> None:
        self._models: dict[Hashable, Model] = {}
        self._limiters: dict[Hashable, Limiter] = {}

    def model(self, key: Hashable, make: Callable[[], Model]) -> Model:
        """The model of that key, made at first use."""
        if key not in self._models:
            self._models[key] = make()
        return self._models[key]

    def limiter(self, server: Hashable) -> Limiter:
        """The limiter of that server, made at first use."""
        from sleuth.models.limit import Limiter

        return self._limiters.setdefault(server, Limiter())

    async def aclose(self) -> None:
        """Close every model. One that fails to close does not keep the others open."""
        while self._models:
            _, model = self._models.popitem()
            with contextlib.suppress(Exception), anyio.move_on_after(CLOSING):  # the process is on its way out
                await model.aclose()

    def kill(self) -> None:
        """Close every model from another thread, when their own event loop no longer answers."""
        closer = threading.Thread(target=lambda: anyio.run(self.aclose), daemon=True)
        closer.start()
        closer.join(CLOSING)
