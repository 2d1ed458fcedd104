"""Where a run should have found a missing gold page, what it should have asked there, and why a source does not give it."""

from __future__ import annotations

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


def gold_query(question: Question, record: Record, place: Place, pages: tuple[GoldPage, ...]) -> str:
    """The gold sub-question with its references filled in, where known; else the pages' titles with the hop's own words.

    Of the hop's words those stay that the question or the pages know; where they are fewer than two, the question's stand in.
    """
    if len(pages) == 1 and (asked := _sub_question(question, pages[0])):
        return asked
    known = stems(" ".join([question.text, *(page.text for page in pages)]))
    own = [word for word in place[1].split() if stems(word) & known]
    titles = " ".join(page.title for page in pages)
    return f"{titles} {' '.join(own) if len(own) > 1 else question.text}"


def _sub_question(question: Question, page: GoldPage) -> str:
    for part in question.parts:
        if page.document and part.document == page.document and part.question:
            text = part.question
            for number, earlier in reversed(list(enumerate(question.parts, 1))):
                text = text.replace(f"#{number}", earlier.answer or f"#{number}")
            return "" if "#" in text else text
    return ""


async def why_missing(
    source: Source, record: Record, place: Place, query: str, pages: tuple[GoldPage, ...]
) -> tuple[bool, str]:
    """Does the source not give these pages for a good query either, and why: not there, a namesake in its place, or below k."""
    told = []
    for page in pages:
        asked = place[0] == "search" or not await _opens(source, page)
        if not asked:
            continue
        deep = await source.search(Search(query, DEEP), report=silent)
        k = max([K, *(len(look.passages) for look in record.lookups if _place(look) == place)])
        ranks = [rank for rank, passage in enumerate(deep, 1) if page.holds(passage)]
        if ranks and ranks[0] <= k:
            continue
        told.append(await _reason(source, page, query, ranks, k))
    return bool(told), " ".join(told)


async def _reason(source: Source, page: GoldPage, query: str, ranks: list[int], k: int) -> str:
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
