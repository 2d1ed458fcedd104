"""Comparisons of two dates by rule: small models do not reason over dates, and with both before them name either."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sleuth.guards.dates import Moment, moments
from sleuth.guards.text import forms
from sleuth.types import Hop

LONGEST = 500
"""Characters of a question that is looked at: one of two short names is shorter."""

_OPTIONS = re.compile(r"(?:^|[,:]|\bbetween\b|\bof\b)\s*([^,:?]+?),? (?:or|and) ([^,:?]+?)\s*\?*\s*$")
_EARLIER = re.compile(r"\b(?:first|earlier|earliest|older|oldest|before)\b", re.IGNORECASE)
_LATER = re.compile(
    r"\b(?:later|latest|last|younger|youngest|newer|newest|more recent(?:ly)?|most recent(?:ly)?)\b", re.IGNORECASE
)


def earlier_or_later(question: str, hops: Sequence[Hop]) -> tuple[str, tuple[Hop, Hop]] | None:
    """Which of the two that the question names ("Which came first, X or Y?") the dates of two hops speak for, and these hops.

    Each of the two must be named by one grounded hop, whose answer tells one date, and the dates must not overlap. None
    where any of that fails, or the question does not ask for the earlier or the later.
    """
    question = " ".join(question.split())
    if len(question) > LONGEST:
        return None
    found, early, late = _OPTIONS.search(question), _EARLIER.search(question), _LATER.search(question)
    if not found or bool(early) == bool(late):
        return None
    options = (found[1].strip(), found[2].strip())
    told = [
        [hop for hop in hops if _names(hop.question, o) and not _names(hop.question, other)]
        for o, other in (options, options[::-1])
    ]
    if any(len(each) != 1 for each in told):
        return None
    one, two = told[0][0], told[1][0]
    a, b = _date(one), _date(two)
    if a is None or b is None or (a.first <= b.last and b.first <= a.last):
        return None
    return options[(a.last < b.first) != bool(early)], (one, two)


def _names(query: str, option: str) -> bool:
    """Whether the option stands in the query, word for word."""
    return f" {' '.join(forms(option))} " in f" {' '.join(forms(query))} "


def _date(hop: Hop) -> Moment | None:
    found = moments(hop.answer) if hop.grounded else ()
    return found[0] if len(found) == 1 else None
