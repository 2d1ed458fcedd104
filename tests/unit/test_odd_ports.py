"""Models and sources that do not keep to their port are named, with what is wrong, instead of failing somewhere inside."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.homes import private

import sleuth
from sleuth.errors import WrongUse
from sleuth.types import Completion, Page


class Model:
    """A model that returns whatever it was made with."""

    name = "odd"

    def __init__(self, value: Any = None) -> None:
        self.value = value

    async def generate(self, request: Any, *, report: Any, pieces: Any = None) -> Any:
        return self.value

    async def count(self, messages: Any) -> int:
        return 1

    def price(self, read: int, written: int) -> float:
        return 0.0

    async def aclose(self) -> None: ...


class Plain(Model):
    def generate(self, request: Any, *, report: Any, pieces: Any = None) -> Any:  # type: ignore[override]
        return Completion("x")


class Source:
    name = "odd"

    def __init__(self, found: Any = (), page: Any = None) -> None:
        self.found, self.page = found, page

    async def search(self, request: Any, *, report: Any) -> Any:
        return self.found

    async def open(self, request: Any, *, report: Any) -> Any:
        return self.page

    async def aclose(self) -> None: ...


class PlainSource(Source):
    def search(self, request: Any, *, report: Any) -> Any:  # type: ignore[override]
        return ()


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    private(monkeypatch, tmp_path)


def searching(question: str) -> Any:
    yield from sleuth.search(question)
    page = yield from sleuth.open_page(question)
    return sleuth.Answer(page.title, "answered", "final_answer")


def asked(model: Any, library: Any, strategy: Any = "standard") -> sleuth.Answer:
    return sleuth.ask("Who?", strategy=strategy, model=model, library=library, trace=False)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (object(), "object, which has no aclose, count, generate, name, price"),
        (5, "The model given is a int"),
        (Plain(), r"`generate` is no coroutine function. Write it with `async def`"),
        (Model("x"), "`generate` returned a str, not a Completion"),
        (Model(None), "returned a NoneType"),
    ],
)
def test_a_model_that_is_none_is_wrong_use(model: Any, said: str) -> None:
    with pytest.raises(WrongUse, match=said):
        asked(model, sleuth.Shelf({}))


@pytest.mark.parametrize(
    ("library", "said"),
    [
        (object(), "The library given is a object, which has no aclose, name, open, search"),
        (PlainSource(), "`search` is no coroutine function"),
        (Source("text"), "`search` returned a str, not a tuple of Passages"),
        (Source(["text"]), "returned a list, not a tuple of Passages"),
        (Source(None), "returned a NoneType"),
        (Source((), "text"), "`open` returned a str, not a Page or Similar"),
    ],
)
def test_a_source_that_is_none_is_wrong_use(library: Any, said: str) -> None:
    with pytest.raises(WrongUse, match=said):
        asked(Model(Completion("x")), library, searching)


def test_a_source_that_keeps_to_its_port_is_used() -> None:
    assert asked(Model(Completion("x")), Source([], Page("Tower", ("It stands.",))), searching).text == "Tower"
