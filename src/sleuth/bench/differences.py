"""Where the hops of several runs part: pure, over anything that has hops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sleuth.types import Hop

FIELDS = ("question", "query", "passages")
"""What a hop is compared by, in the order in which it comes about."""


class HasHops(Protocol):
    """A run, as far as it is compared."""

    @property
    def hops(self) -> tuple[Hop, ...]:
        """Its hops in order."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first hop (from 1) at which runs part.

    `rows` are their places in the comparison, `hops` what each did there (None: it made no such hop), `fields` in what
    they differ, of `FIELDS`; none of these when a run has ended before that hop.
    """

    hop: int
    fields: tuple[str, ...]
    rows: tuple[int, ...]
    hops: tuple[Hop | None, ...]

    def groups(self) -> list[tuple[tuple[int, ...], Hop | None]]:
        """The rows that did the same at this hop, and what that was, in the order of the rows."""
        found: dict[Any, tuple[tuple[int, ...], Hop | None]] = {}
        for row, hop in zip(self.rows, self.hops, strict=True):
            key = _compared(hop) if hop else None
            rows, first = found.get(key, ((), hop))
            found[key] = ((*rows, row), first)
        return list(found.values())


def difference(rows: Sequence[HasHops], which: Sequence[int]) -> Difference | None:
    """Where these rows' hops part; None when they are the same to the end. Case and spacing do not count."""
    most = max((len(rows[number].hops) for number in which), default=0)
    for place in range(most):
        hops = tuple(_at(rows[number].hops, place) for number in which)
        made = [_compared(hop) for hop in hops if hop is not None]
        fields = tuple(
            name for name, values in zip(FIELDS, zip(*made, strict=True), strict=True) if len(set(values)) > 1
        )
        if fields or None in hops:
            return Difference(place + 1, fields, tuple(which), hops)
    return None


def _at(hops: Sequence[Hop], place: int) -> Hop | None:
    return hops[place] if place < len(hops) else None


def _compared(hop: Hop) -> tuple[str, str, tuple[str, ...]]:
    """What a hop is compared by. A query that was not told is the question."""
    question = " ".join(hop.question.casefold().split())
    query = " ".join(hop.query.casefold().split()) or question
    return question, query, tuple(passage.id for passage in hop.evidence)
