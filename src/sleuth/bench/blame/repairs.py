"""A flow with one of its look-ups made right: the request asked otherwise, or its result replaced; in its forks too."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from sleuth.bench.blame.gold import GoldPage
from sleuth.types import Flow, Fork, Open, Page, Passage, Request, Search

Place: TypeAlias = tuple[str, str]
"""A look-up: "search" or "open", and what was asked."""


@dataclass(frozen=True, slots=True)
class Mend:
    """What is asked in a look-up's place ("": as it was), and the gold pages that are put first into its result.

    `only` leaves nothing else in the result.
    """

    query: str = ""
    title: str = ""
    put: tuple[GoldPage, ...] = ()
    only: bool = False


class Mends:
    """Mends by place, each done at the first look-up of that place; `made` are those that were done."""

    def __init__(self, mends: Mapping[Place, Mend]) -> None:
        self._left = dict(mends)
        self.made: list[Place] = []

    def take(self, request: Request[Any]) -> Mend | None:
        """The mend for this request, once."""
        place = _place(request)
        mend = self._left.pop(place, None) if place is not None else None
        if place is not None and mend is not None:
            self.made.append(place)
        return mend


def mended(flow: Flow[Any], mends: Mends) -> Generator[Any, Any, Any]:
    """Drive a flow with its look-ups mended on the way."""
    try:
        request = next(flow)
        while True:
            mend = mends.take(request)
            try:
                value = yield _asked(request, mend, mends)
            except GeneratorExit:
                flow.close()
                raise
            except BaseException as error:  # noqa: BLE001  whatever is thrown in belongs to the flow inside
                request = flow.throw(error)
            else:
                request = flow.send(_given(request, value, mend))
    except StopIteration as end:
        return end.value


def _place(request: Request[Any]) -> Place | None:
    match request:
        case Search(query=query):
            return ("search", query)
        case Open(title=title):
            return ("open", title)
    return None


def _asked(request: Any, mend: Mend | None, mends: Mends) -> Any:
    match request:
        case Fork(flow=inner):
            return Fork(mended(inner, mends))
        case Search() if mend is not None and mend.query:
            return replace(request, query=mend.query)
        case Open() if mend is not None and mend.title:
            return Open(mend.title)
    return request


def _given(request: Any, value: Any, mend: Mend | None) -> Any:
    if mend is None or not mend.put:
        return value
    gold = tuple(passage for page in mend.put for passage in page.passages)
    if isinstance(request, Search):
        return _first(gold, () if mend.only else value, max(request.k, len(gold)))
    if isinstance(request, Open):
        return Page(mend.put[0].title, tuple(passage.text for passage in gold), gold)
    return value


def _first(gold: tuple[Passage, ...], found: tuple[Passage, ...], k: int) -> tuple[Passage, ...]:
    ids = {passage.id for passage in gold}
    return (*gold, *(passage for passage in found if passage.id not in ids))[:k]
