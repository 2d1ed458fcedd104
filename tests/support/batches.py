"""A strategy of two calls and a search, a model and a source that count what they are asked, for tests of batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from sleuth.app import settings
from sleuth.app.batch import Again, Ask, Batch, Outcome
from sleuth.app.compose import prepare
from sleuth.app.portal import portal
from sleuth.errors import BadReply
from sleuth.sources.shelf import Shelf
from sleuth.types import Answer, Completion, Flow, Generate, Message, Search, Usage
from sleuth.verbs import generate, search

CALLS = 2


def two_calls(question: str, *, k: int = 1) -> Flow[Answer]:
    """Ask, look up, ask again. A reply of "?" cannot be parsed."""
    first = yield from generate([Message("user", f"first: {question}")])
    yield from search(question, k=k)
    second = yield from generate([Message("user", f"second: {question} {first.text}")])
    if second.text == "?":
        raise BadReply("The reply is no answer.")
    return Answer(second.text, "answered", "final_answer")


class Teller:
    """A model that replies with the prompt in capitals; `spoils` may raise, wait, or say something else for a prompt."""

    name = "teller"

    def __init__(self, spoils: Callable[[str], str | Exception | None] = lambda _: None, takes: float = 0.0) -> None:
        self.spoils, self.takes = spoils, takes
        self.made: Counter[str] = Counter()
        self.busy = self.most = 0

    async def generate(self, request: Generate, *, report: Any, pieces: Any = None) -> Completion:
        prompt = request.messages[-1].content
        self.made[prompt] += 1
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            await anyio.sleep(self.takes)
        finally:
            self.busy -= 1
        told = self.spoils(prompt)
        if isinstance(told, Exception):
            raise told
        return Completion(prompt.upper() if told is None else told, usage=Usage(calls=1, read=5, written=5))

    async def count(self, messages: Any) -> int:
        return 5

    def price(self, read: int, written: int) -> float:
        return 0.0

    async def aclose(self) -> None: ...


class Pages(Shelf):
    """A source of one page that counts its searches; `fault` is raised in their place."""

    def __init__(self) -> None:
        super().__init__({"Tower": "The tower was completed in 1889."})
        self.searches = 0
        self.fault: Exception | None = None

    async def search(self, request: Search, *, report: Any) -> Any:
        self.searches += 1
        if self.fault is not None:
            raise self.fault
        return await super().search(request, report=report)


def ask_all(
    folder: Path,
    texts: list[str],
    model: Teller,
    source: Pages | None = None,
    *,
    again: Again = "interrupted",
    **more: Any,
) -> list[Outcome]:
    """Every text as its own key, through a `Batch`; the outcomes as they came."""
    told: list[Outcome] = []
    library, chosen = source or Pages(), settings.load()

    def ask(text: str) -> Ask:
        def make() -> Any:
            return prepare(text, strategy=two_calls, model=model, library=library, trace=False, given=chosen)

        return Ask(text, text, folder / f"{text}.jsonl", make)

    batch = Batch(map(ask, texts), again=again, each=told.append, **more)
    portal().submit(batch.perform).result()
    return told
