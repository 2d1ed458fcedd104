"""Where a run should have found a missing gold page, what it should have asked there, and why a source does not give it."""

from __future__ import annotations

from dataclasses import dataclass

from sleuth.bench.blame.gold import GoldPage, GoldPassages, same_title, silent
from sleuth.bench.blame.repairs import Place
from sleuth.bench.questions import Question
from sleuth.bench.record import Lookup, Record
from sleuth.guards.text import forms, stems
from sleuth.ports import Source
from sleuth.types import Open, Page, Search

DEEP = 50
"""Ranks that are looked through for a page that the first k do not hold."""
K = 5


def at_places(record: Record, gold: GoldPassages, missing: tuple[GoldPage, ...]) -> dict[Place, tuple[GoldPage, ...]]:
    """The missing pages by the look-up that should have brought them, in the order of the look-ups.

    A page goes to the look-up without gold whose words are most like its own, the earliest of equals; each takes one
    page as long as there are enough. Where every look-up brought some gold, the last one takes what is missing.
    """
    looked = [look for look in record.lookups if look.kind != "call"]
    free = list({_place(look): look for look in looked if not gold.among(look.passages)}.values())
    found: dict[Place, tuple[GoldPage, ...]] = {}
    for page in missing:
        choice = [look for look in free if _place(look) not in found] or free or looked[-1:]
        if not choice:
            return {}
        about = stems(page.text)
        best = max(choice, key=lambda look: len(stems(look.asked) & about))
        found[_place(best)] = (*found.get(_place(best), ()), page)
    order = [_place(look) for look in looked]
    return dict(sorted(found.items(), key=lambda each: order.index(each[0])))


def first_place(record: Record) -> Place:
    """The run's first look-up of a source. Raises IndexError where there is none."""
    return next(_place(look) for look in record.lookups if look.kind != "call")


def gold_queries(question: Question, place: Place, pages: tuple[GoldPage, ...]) -> tuple[str, ...]:
    """Good queries for these pages, the best first.

    The gold sub-question with its references filled in, where known; the pages' titles with the hop's own words (those
    that the question or the pages know), with the question's, and alone.
    """
    known = stems(" ".join([question.text, *(page.text for page in pages)]))
    own = " ".join(word for word in place[1].split() if stems(word) & known)
    titles = " ".join(page.title for page in pages)
    asked = [_sub_question(question, pages[0])] if len(pages) == 1 else []
    wordy = [f"{titles} {own}"] if len(own.split()) > 1 else []
    return tuple(query for query in dict.fromkeys([*asked, *wordy, f"{titles} {question.text}", titles]) if query)


def _sub_question(question: Question, page: GoldPage) -> str:
    for part in question.parts:
        if page.document and part.document == page.document and part.question:
            text = part.question
            for number, earlier in reversed(list(enumerate(question.parts, 1))):
                text = text.replace(f"#{number}", earlier.answer or f"#{number}")
            return "" if "#" in text else text
    return ""


@dataclass(frozen=True, slots=True)
class Sought:
    """What a source gives for good queries: the query that brings most of the pages, and why each page that none brings is missing."""

    query: str
    lacking: tuple[str, ...] = ()


async def sought(
    question: Question, source: Source, record: Record, place: Place, pages: tuple[GoldPage, ...]
) -> Sought:
    """Ask the source for these pages by good queries, together and one by one: not there, a namesake in its place, or below k?"""
    k = max([K, *(len(look.passages) for look in record.lookups if _place(look) == place)])
    queries = gold_queries(question, place, pages)
    brought = {query: await _brought(source, query, pages, k) for query in queries}
    best = max(queries, key=lambda query: len(brought[query]))
    told = []
    for page in pages:
        if any(page in found for found in brought.values()) or (place[0] == "open" and await _opens(source, page)):
            continue
        alone = gold_queries(question, place, (page,))
        if len(pages) > 1 and any([await _brought(source, query, (page,), k) for query in alone]):
            continue
        told.append(await _reason(source, page, alone[0], k))
    return Sought(best, tuple(told))


async def _brought(source: Source, query: str, pages: tuple[GoldPage, ...], k: int) -> tuple[GoldPage, ...]:
    """The pages among the first k of a search."""
    found = await source.search(Search(query, k), report=silent)
    return tuple(page for page in pages if any(page.holds(passage) for passage in found))


async def _reason(source: Source, page: GoldPage, query: str, k: int) -> str:
    deep = await source.search(Search(query, DEEP), report=silent)
    ranks = [rank for rank, passage in enumerate(deep, 1) if page.holds(passage)]
    if ranks:
        return f"'{query}' ranks {page.title} {ranks[0]}, below the first {k}."
    found = await source.open(Open(page.title), report=silent)
    if isinstance(found, Page) and any(page.holds(passage) for passage in found.passages):
        return f"{page.title} is in the source, and not among the first {DEEP} for '{query}'."
    if isinstance(found, Page):
        return f"{found.title} stands in the place of {page.title} (a namesake)."
    near = [p.title for p in await source.search(Search(page.title, K), report=silent)]
    like = next((title for title in near if _alike(title, page.title)), "")
    return f"{page.title} is not in the source{f'; {like}, a namesake, is found in its place' if like else ''}."


async def _opens(source: Source, page: GoldPage) -> bool:
    found = await source.open(Open(page.title), report=silent)
    return isinstance(found, Page) and any(page.holds(passage) for passage in found.passages)


def _alike(one: str, other: str) -> bool:
    return same_title(one, other) or len(set(forms(one)) & set(forms(other))) >= 2


def _place(look: Lookup) -> Place:
    return (look.kind, look.asked)
