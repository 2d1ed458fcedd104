"""What the engine needs from outside, as protocols. Any object with these methods will do.

`report` is the engine's: an adapter tells through it what it does on the way (retries, waits, cache hits), and
each becomes an `Attempt` event. Adapters raise the errors of `sleuth.errors`, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sleuth.types import Completion, Generate, Message, Open, Page, Passage, Search, Similar


class Report(Protocol):
    """Tell the engine what happens on the way: ``report("retry", "server said 503, waiting 1 s", seconds=1)``."""

    def __call__(self, kind: str, text: str, **data: Any) -> None: ...


class Pieces(Protocol):
    """Receives a reply's text piece by piece while it is written."""

    def __call__(self, text: str) -> None: ...


class Model(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """How it is called in traces ("local:qwen2.5-coder-1.5b-instruct-q4_k_m")."""
        ...

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        """One call. Cancellable: when the awaiting task is cancelled, the model stops within a second."""
        ...

    async def count(self, messages: Sequence[Message]) -> int:
        """Tokens of these messages: exact where the model has its tokeniser at hand, else never less than the truth."""
        ...

    def price(self, read: int, written: int) -> float:
        """US dollars for so many tokens; 0.0 for a local model."""
        ...

    async def aclose(self) -> None:
        """Free what it holds. May be called twice."""
        ...


class Source(Protocol):
    """Something that can be searched."""

    @property
    def name(self) -> str: ...

    async def search(self, request: Search, *, report: Report) -> tuple[Passage, ...]: ...

    async def open(self, request: Open, *, report: Report) -> Page | Similar: ...

    async def aclose(self) -> None: ...


class Tool(Protocol):
    """Any other tool."""

    @property
    def name(self) -> str: ...

    async def call(self, arguments: str, *, report: Report) -> str:
        """Arguments and result as text (arguments: JSON). Raises `ToolError`."""
        ...
