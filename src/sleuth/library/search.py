"""Search with BM25: the question's words as terms (a query is never parsed), best passages first, each with its reason."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sleuth.guards.dates import holds, overlap
from sleuth.library.links import ANY_LENGTH, titles_in
from sleuth.library.store import Row, Snapshot
from sleuth.library.words import asked_words, keys
from sleuth.types import Passage, Search

if TYPE_CHECKING:
    import tantivy

TITLE_WEIGHT = 0.6
"""Weight of the title field against 1 for the text (benchmarks/retrieval.py --weights: 0.5 to 1 differ by noise)."""

POOL = 30
"""Passages looked at further: BM25's best."""

_MOST_TERMS = 64  # of a question: the rarest
_MOST_LETTERS = 20_000  # of a question are read
_MOST_NAMED = 2_000  # letters of a question are searched for titles


@dataclass(frozen=True, slots=True)
class Term:
    """A stem of the question, the word it comes from, and its share of the question's idf mass (they sum to 1)."""

    stem: str
    word: str
    weight: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A question made ready: its terms in order, the BM25 query they make, the titles that stand in it (as keys)."""

    terms: tuple[Term, ...]
    query: tantivy.Query
    named: tuple[str, ...]


def search(at: Snapshot, request: Search) -> tuple[Passage, ...]:
    """See `Library.search`."""
    asked = ask(at, request.query) if request.k > 0 else None
    if asked is None:
        return ()
    if request.together:
        from sleuth.library.linked import together  # here, because it builds on this module

        return together(at, asked, request)
    found = ranked(at, asked.query, max(request.k, POOL), frozenset(request.exclude))
    first = timely(found, request.when)[: request.k]
    return tuple(passage(row, score, "; ".join(reasons(asked, row, _stems(at, row)))) for score, row in first)


def ask(at: Snapshot, question: str) -> Asked | None:
    """The question's terms without stop words, weighed by how rare they are; None when it holds no word."""
    import tantivy

    words: dict[str, str] = {}
    for word in asked_words(question[:_MOST_LETTERS]):
        for stem in at.stems(word):
            words.setdefault(stem, word)
    if not words:
        return None
    idf = {stem: _idf(at, stem) for stem in words}
    rarest = frozenset(sorted(words, key=lambda stem: -idf[stem])[:_MOST_TERMS])
    total = sum(idf[stem] for stem in rarest)
    terms = tuple(Term(stem, word, idf[stem] / total) for stem, word in words.items() if stem in rarest)
    clauses = []
    for term in terms:
        title, text = (tantivy.Query.term_query(at.schema, name, term.stem, "freq") for name in ("title", "text"))
        clauses += [
            (tantivy.Occur.Should, text),
            (tantivy.Occur.Should, tantivy.Query.boost_query(title, TITLE_WEIGHT)),
        ]
    return Asked(terms, tantivy.Query.boolean_query(clauses), tuple(named_in(at, question)))


def _idf(at: Snapshot, stem: str) -> float:
    held = max(at.searcher.doc_freq("text", stem), at.searcher.doc_freq("title", stem))
    return math.log((at.searcher.num_docs + 1) / (min(held, at.searcher.num_docs) + 0.5))


def named_in(at: Snapshot, question: str) -> list[str]:
    """Keys of the library's titles that stand in the question (in any case, if it is all in small letters)."""
    asked = question[:_MOST_NAMED]
    return titles_in(asked, lambda name: at.has("lead", name), lambda _: ANY_LENGTH, any_case=asked[1:].islower())


def ranked(at: Snapshot, query: tantivy.Query, k: int, exclude: Collection[str] = ()) -> list[tuple[float, Row]]:
    """The best `k` by score (to four decimals), then id, so that equal scores do not depend on how the index lies on disk."""
    wanted = k + len(exclude)
    limit = wanted + 10
    while True:
        hits = at.searcher.search(query, limit, count=False).hits
        settled = len(hits) < limit or round(hits[-1][0], 4) < round(hits[wanted - 1][0], 4)
        if settled or limit > 100 * wanted:
            break
        limit *= 4
    rows = [(round(score, 4), at.row(address)) for score, address in hits]
    return sorted((one for one in rows if one[1].id not in exclude), key=lambda one: (-one[0], one[1].id))[:k]


def timely(found: list[tuple[float, Row]], when: str) -> list[tuple[float, Row]]:
    """Of the first `POOL`, those with an interval that holds the moment first (those that hold more of it before the rest)."""
    if not when:
        return found

    def share(one: tuple[float, Row]) -> float:
        text = one[1].text
        return -round(max(0.1, overlap(text, when)), 1) if holds(text, when) else 0.0

    return sorted(found[:POOL], key=share) + found[POOL:]


def reasons(asked: Asked, row: Row, held: Collection[str]) -> list[str]:
    """Why a passage fits: "title in question", "covers: tower, completed". `held` are the stems it holds."""
    covered = [term.word for term in asked.terms if term.stem in held]
    named = ["title in question"] if not frozenset(asked.named).isdisjoint(keys(row.title)) else []
    return [*named, *([f"covers: {', '.join(covered[:12])}"] if covered else [])]


def _stems(at: Snapshot, row: Row) -> frozenset[str]:
    return frozenset(at.stems(f"{row.title}\n{row.text}"))


def passage(row: Row, score: float = 0.0, why: str = "") -> Passage:
    """A kept row as the `Passage` others see."""
    return Passage(row.id, row.document, row.title, row.text, score, row.span, why)
