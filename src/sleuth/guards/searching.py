"""Search as strategies need it: tried once more when it fails, and honest about what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sleuth.errors import SourceError, SourceRateLimited, SourceTimeout
from sleuth.types import Flow, Passage, Why
from sleuth.verbs import note, search

NOTHING = "No answer found"
"""What the model reads where a search brought nothing (write-up of Self-Ask, "Requirements")."""

Outcome: TypeAlias = Literal["found", "nothing", "failed", "timeout", "rate_limited"]


@dataclass(frozen=True, slots=True)
class Looked:
    """What a search came to: its passages, the outcome where there are none, and a failure's own words."""

    passages: tuple[Passage, ...]
    outcome: Outcome
    reason: str = field(default="", compare=False)

    def ended(self) -> Why:
        """Why a run ends that has nothing but this search: nothing was there, or the source failed."""
        return "final_answer" if self.outcome in ("found", "nothing") else "source_error"

    def told(self) -> str:
        """The same in a sentence: the failure's own words, if it failed."""
        return self.reason or "Nothing was found."


def look_up(
    query: str, k: int = 5, *, together: bool = False, exclude: Iterable[str] = (), when: str = ""
) -> Flow[Looked]:
    """Search; once more if it fails or times out. Nothing found is not tried again. Never raises `SourceError`."""
    for last in (False, True):
        try:
            found = yield from search(query, k, together=together, exclude=exclude, when=when)
        except SourceError as error:
            outcome = _outcome(error)
            yield from note("search_failed", str(error), query=query, outcome=outcome, again=not last)
            if last:
                return Looked((), outcome, str(error))
        else:
            if not found:
                yield from note("nothing_found", query, query=query)
            return Looked(found, "found" if found else "nothing")
    raise AssertionError("unreachable")


def _outcome(error: SourceError) -> Outcome:
    if isinstance(error, SourceTimeout):
        return "timeout"
    return "rate_limited" if isinstance(error, SourceRateLimited) else "failed"
