"""Passages chosen to answer together: the pair that covers the question best and is linked, then what they lead to.

The score of a pair is the share of the question's idf mass that the two cover together, and bonuses: for the BM25 score
of each, for titles that stand in the question, and for a link (the text of one holds the other's title). The weights
were set on the development half of the sets of benchmarks/retrieval.py, where steps of a quarter change little.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sleuth.library.search import POOL, Asked, passage, ranked, reasons, timely
from sleuth.library.store import Row, Snapshot
from sleuth.library.words import keys
from sleuth.types import Passage, Search

if TYPE_CHECKING:
    import tantivy

RELEVANCE, NAMED, BOTH_NAMED, LINK = 0.1, 0.15, 0.1, 0.4
"""Bonuses of a pair, in shares of the question's idf mass: for each passage its relative BM25 score, and whether its
title stands in the question; for both, if both titles do, and for a link between them."""

BACKWARD = 0.6
"""What a link counts that leads to a passage named in the question from one that is not: it tells less than one away."""

NEXT_LINK = 0.5
"""Bonus of a further passage for a link to one already chosen."""

TOGETHER = 4
"""How many passages are chosen as a set: a pair, and two that go with it."""

_LINKING = 10  # best passages whose links are followed
_MOST = 120  # candidates
_PAIRED = 60  # candidates that may form the pair
_HOMONYMS = 5  # documents of one title; a title that more have leads nowhere in particular
_BITS = 24  # whole numbers that a score (32-bit float) holds exactly


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A passage that may be chosen. `covers` has a bit for each term of the question that it holds.

    `alone` is the weight of these terms, `relevance` its BM25 score relative to the best, `links` the weight (0 to 1,
    less where many passages name the title) of each title in its text.
    """

    row: Row
    score: float
    relevance: float
    covers: int
    alone: float
    names: tuple[str, ...]
    named: bool
    links: dict[str, float]
    ranked: bool


@dataclass(frozen=True, slots=True)
class Field:
    """The candidates of a question, the weights of the links between them (either way), and what their terms weigh."""

    found: list[Candidate]
    near: dict[Candidate, dict[Candidate, float]]
    mass: Mass


class Mass:
    """The weight of the terms whose bits are set (see `Candidate.covers`), remembered."""

    def __init__(self, asked: Asked) -> None:
        self._weights = [term.weight for term in asked.terms]
        self._known: dict[int, float] = {}

    def __call__(self, covers: int) -> float:
        known = self._known.get(covers)
        if known is None:
            known = sum(weight for bit, weight in enumerate(self._weights) if covers >> bit & 1)
            self._known[covers] = known
        return known


def together(at: Snapshot, asked: Asked, request: Search) -> tuple[Passage, ...]:
    """The passages of `Library.search` with `together`: best pair first, then the next two, then links, then BM25.

    Only a pair that is linked, or both named in the question, is trusted; else the links of BM25's best two come after
    them, and where these have none the order is BM25's.
    """
    out = frozenset(request.exclude)
    field = candidates(at, asked, out)
    pair = best_pair(field)
    order = _first_seen(grow(field, pair) if pair else [], links_first(field.found))
    rest: list[tuple[float, Row]] = []
    if request.k > len(order):
        rest = ranked(at, asked.query, request.k, out | {one.row.id for one in order})
    rows = timely([*((one.score, one.row) for one in order), *rest], request.when)[: request.k]
    known = {one.row.id: one.covers for one in order}
    return tuple(passage(row, score, "; ".join(_why(asked, row, known.get(row.id, 0), order))) for score, row in rows)


def candidates(at: Snapshot, asked: Asked, exclude: Collection[str] = ()) -> Field:
    """BM25's best, passages titled by names in the question, and those that the best ones link to."""
    first = ranked(at, asked.query, POOL, exclude)
    rows = {row.id: (score, row) for score, row in first}
    named = frozenset(asked.named)
    _add_titled(at, asked, asked.named, rows, exclude)
    linking = [row for n, (_, row) in enumerate(rows.values()) if n < _LINKING or not named.isdisjoint(keys(row.title))]
    _add_titled(at, asked, dict.fromkeys(name for row in linking for name in row.links), rows, exclude)
    kept = _without_homonyms(list(rows.values()), len(first))[:_MOST]
    covers = coverage(at, asked, [row.id for _, row in kept])
    best = max((score for score, _ in kept), default=0.0) or 1.0
    mass, weigh = Mass(asked), _LinkWeights(at)
    found = [
        Candidate(
            row=row,
            score=score,
            relevance=score / best,
            covers=covers.get(row.id, 0),
            alone=mass(covers.get(row.id, 0)),
            names=keys(row.title),
            named=not named.isdisjoint(keys(row.title)),
            links={name: weigh(name) for name in row.links},
            ranked=number < len(first),
        )
        for number, (score, row) in enumerate(kept)
    ]
    return Field(found, _near(found), mass)


def _near(found: list[Candidate]) -> dict[Candidate, dict[Candidate, float]]:
    """For each candidate, those it links to or that link to it, with the link's weight."""
    titled: dict[str, list[Candidate]] = {}
    for one in found:
        for name in one.names:
            titled.setdefault(name, []).append(one)
    near: dict[Candidate, dict[Candidate, float]] = {one: {} for one in found}
    for one in found:
        for name, weight in one.links.items():
            for other in titled.get(name, ()):
                if other is not one:
                    worth = weight * BACKWARD if other.named and not one.named else weight
                    near[one][other] = near[other][one] = max(worth, near[one].get(other, 0.0))
    return near


class _LinkWeights:
    """What a link to a title weighs: 1 when one passage names it, 0 when all do, by the logarithm of their number."""

    def __init__(self, at: Snapshot) -> None:
        self._at, self._known = at, dict[str, float]()
        self._all = math.log(max(2, at.searcher.num_docs))

    def __call__(self, name: str) -> float:
        weight = self._known.get(name)
        if weight is None:
            naming = max(1, self._at.searcher.doc_freq("mentions", name))
            weight = self._known[name] = max(0.0, 1.0 - math.log(naming) / self._all)
        return weight


def _add_titled(
    at: Snapshot, asked: Asked, names: Iterable[str], rows: dict[str, tuple[float, Row]], exclude: Collection[str]
) -> None:
    """Add the passages that have these titles, those that fit the question best first."""
    import tantivy

    wanted = list(names)
    if not wanted:
        return
    titled = tantivy.Query.const_score_query(tantivy.Query.term_set_query(at.schema, "name", wanted), 0.0)
    query = tantivy.Query.boolean_query([(tantivy.Occur.Must, titled), (tantivy.Occur.Should, asked.query)])
    for score, row in ranked(at, query, _MOST, exclude):
        rows.setdefault(row.id, (score, row))


def _without_homonyms(rows: list[tuple[float, Row]], keep: int) -> list[tuple[float, Row]]:
    """Without passages, after the first `keep`, whose titles too many documents have."""
    holders: dict[str, set[str]] = {}
    for _, row in rows:
        for name in keys(row.title):
            holders.setdefault(name, set()).add(row.document)
    crowded = {name for name, documents in holders.items() if len(documents) > _HOMONYMS}
    return [one for n, one in enumerate(rows) if n < keep or not crowded.issuperset(keys(one[1].title))]


def coverage(at: Snapshot, asked: Asked, ids: Sequence[str]) -> dict[str, int]:
    """Which terms each passage holds in title or text, as bits.

    The index tells by its score: each term that a passage holds adds its own power of two.
    """
    import tantivy

    query, should = tantivy.Query, tantivy.Occur.Should
    only = query.const_score_query(query.term_set_query(at.schema, "id", list(ids)), 0.0)
    found: dict[tuple[int, int], int] = {}
    addresses: dict[tuple[int, int], tantivy.DocAddress] = {}
    for start in range(0, len(asked.terms), _BITS):
        clauses = [(tantivy.Occur.Must, only)]
        for bit, term in enumerate(asked.terms[start : start + _BITS]):
            either = [(should, query.term_query(at.schema, name, term.stem, "freq")) for name in ("text", "title")]
            clauses.append((should, query.const_score_query(query.boolean_query(either), float(1 << bit))))
        for bits, address in at.searcher.search(query.boolean_query(clauses), max(1, len(ids)), count=False).hits:
            place = (address.segment_ord, address.doc)
            addresses[place] = address
            found[place] = found.get(place, 0) | int(bits) << start
    return {at.row(addresses[place]).id: bits for place, bits in found.items()}


def best_pair(field: Field) -> tuple[Candidate, Candidate] | None:
    """The pair of the highest score, if it is linked or both are named in the question; the earlier of equals."""
    mass, near = field.mass, field.near
    bonus = {one: RELEVANCE * one.relevance + NAMED * one.named for one in field.found}
    row = sorted(field.found, key=lambda one: (-one.alone - bonus[one] - BOTH_NAMED * one.named, one.row.id))[:_PAIRED]
    best, pair = -1.0, None
    for n, one in enumerate(row):
        own, linked, covers, named = bonus[one], near[one], one.covers, one.named
        for other in row[n + 1 :]:
            score = mass(covers | other.covers) + own + bonus[other]
            if named and other.named:
                score += BOTH_NAMED
            if other in linked:
                score += LINK * linked[other]
            if score > best + 1e-9:
                best, pair = score, (one, other)
    if pair is None or not (pair[1] in near[pair[0]] or (pair[0].named and pair[1].named)):
        return None
    return pair


def grow(field: Field, pair: tuple[Candidate, Candidate]) -> list[Candidate]:
    """The pair, then one by one what adds most: terms not yet covered, relevance, a link to one already chosen."""
    chosen = sorted(pair, key=lambda one: (-one.score, one.row.id))
    covered = pair[0].covers | pair[1].covers
    rest = [one for one in field.found if one not in pair]
    while rest and len(chosen) < TOGETHER:

        def worth(one: Candidate, covered: int = covered) -> tuple[float, float]:
            near = max(field.near[other].get(one, 0.0) for other in chosen)
            gain = field.mass(one.covers & ~covered) + RELEVANCE * one.relevance + NEXT_LINK * near
            return round(gain, 6), one.score

        best = max(rest, key=worth)
        rest.remove(best)
        chosen.append(best)
        covered |= best.covers
    return chosen


def links_first(found: list[Candidate]) -> list[Candidate]:
    """The best two, the two best that they link to, then the rest by BM25. Titles named in the question come first."""
    by_score = sorted(found, key=lambda one: (-one.score, one.row.id))
    order = _first_seen([one for one in by_score if one.named][:3], [one for one in by_score if one.ranked])
    heads = order[:2]
    linked = [
        one for one in by_score if one not in heads and any(name in head.links for head in heads for name in one.names)
    ]
    return _first_seen(heads, linked[:2], order)


def _first_seen(*lists: Iterable[Candidate]) -> list[Candidate]:
    return list(dict.fromkeys(one for items in lists for one in items))


def _why(asked: Asked, row: Row, covers: int, order: list[Candidate]) -> list[str]:
    """The reasons of `search.reasons`, and the links with other candidates, the first two in their order."""
    names = frozenset(keys(row.title))
    others = [one for one in order if one.row.document != row.document]
    naming = list(dict.fromkeys(one.row.title for one in others if not names.isdisjoint(one.links)))[:2]
    targets = list(dict.fromkeys(one.row.title for one in others if not frozenset(row.links).isdisjoint(one.names)))[:2]
    held = frozenset(term.stem for bit, term in enumerate(asked.terms) if covers >> bit & 1)
    told = reasons(asked, row, held)
    return [*told, *(f"named in: {title}" for title in naming), *(f"links to: {title}" for title in targets)]
