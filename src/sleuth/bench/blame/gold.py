"""The gold passages of a question, by page, and what of them a run has seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from sleuth.bench.questions import Question
from sleuth.ports import Source
from sleuth.types import Open, Page, Passage, Search

LOOKED_THROUGH = 20
"""Passages of a search by title among which a page is looked for when its title opens another."""


@dataclass(frozen=True, slots=True)
class GoldPage:
    """A supporting page: its title, its id in the corpus ("" where not known) and its passages."""

    title: str
    document: str = ""
    passages: tuple[Passage, ...] = ()

    def holds(self, passage: Passage) -> bool:
        """Is the passage of this page? By its id where known, else by its title but for case and spacing."""
        if self.document:
            return passage.document == self.document
        return same_title(passage.title, self.title)

    @property
    def text(self) -> str:
        """All it says, with its title."""
        return " ".join([self.title, *(passage.text for passage in self.passages)])


@dataclass(frozen=True, slots=True)
class GoldPassages:
    """The supporting pages of one question, in the order of its gold."""

    pages: tuple[GoldPage, ...] = ()

    @property
    def passages(self) -> tuple[Passage, ...]:
        """All their passages."""
        return tuple(passage for page in self.pages for passage in page.passages)

    def missing(self, seen: Sequence[Passage]) -> tuple[GoldPage, ...]:
        """The pages of which nothing is among these."""
        return tuple(page for page in self.pages if not any(page.holds(passage) for passage in seen))

    def among(self, passages: Iterable[Passage]) -> bool:
        """Is any of these passages gold?"""
        return any(page.holds(passage) for passage in passages for page in self.pages)


def same_title(one: str, other: str) -> bool:
    """Equal but for case and spacing."""
    return " ".join(one.lower().split()) == " ".join(other.lower().split())


async def gold_of(question: Question, source: Source) -> GoldPassages:
    """The question's supporting pages as the source has them; one that it lacks has no passages. Raises `SourceError`."""
    known = question.documents if len(question.documents) == len(question.supporting) else ()
    pages = [
        await _page(source, title, document, question) for title, document in zip_longest(question.supporting, known)
    ]
    return GoldPassages(tuple(pages))


async def _page(source: Source, title: str, document: str | None, question: Question) -> GoldPage:
    wanted = (document,) if document else question.documents
    opened = await source.open(Open(title), report=silent)
    found = opened.passages if isinstance(opened, Page) else ()
    if wanted and not any(passage.document in wanted for passage in found):
        found = await source.search(Search(title, LOOKED_THROUGH), report=silent)
    found = tuple(p for p in found if (p.document in wanted if wanted else same_title(p.title, title)))
    return GoldPage(title, document or (found[0].document if found else ""), found)


def silent(kind: str, text: str, **data: object) -> None:
    """A report that nobody hears."""
