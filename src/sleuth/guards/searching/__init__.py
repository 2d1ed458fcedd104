"""Search as strategies need it: tried once more when it fails, in other words when it finds nothing, honest about both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

from sleuth.errors import SourceError, SourceRateLimited, SourceTimeout
from sleuth.guards.searching.expansion import asked_of_model, feedback, keywords_of
from sleuth.types import Flow, Passage, Search, Why
from sleuth.verbs import note, search

NOTHING = "No answer found"
"""What the model reads where a search brought nothing (write-up of Self-Ask, "Requirements")."""

Outcome: TypeAlias = Literal["found", "nothing", "failed", "timeout", "rate_limited"]
Fallback: TypeAlias = Literal["off", "feedback", "model"]


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


# --- fallback ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Findings:
    """What a branch of the run has found so far, and what it has searched instead of what.

    It does not hold what other branches found that it has not joined: what it falls back to must not hang on timing.
    """

    passages: dict[str, Passage] = field(default_factory=dict)
    expansions: dict[str, str] = field(default_factory=dict)
    tried: set[Search] = field(default_factory=set)

    def add(self, passages: Iterable[Passage]) -> None:
        """These were found; the first finding of each counts."""
        for passage in passages:
            self.passages.setdefault(passage.id, passage)

    def forked(self) -> Findings:
        """What a flow forked now starts with."""
        return Findings(dict(self.passages), dict(self.expansions), set(self.tried))

    def joined(self, other: Findings) -> None:
        """A forked flow has returned: what it found is found."""
        self.add(other.passages.values())
        self.expansions = {**other.expansions, **self.expansions}
        self.tried |= other.tried


def searched(request: Search, findings: Findings, fallback: Fallback = "feedback") -> Flow[tuple[Passage, ...]]:
    """The request's passages; where it finds nothing, those of its expansion, then those of its keywords.

    Each level is noted ("fallback": level, query, instead_of, found). Everything but the query is kept, only the
    keywords are searched without `when`. Raises what the search raises, on any level: a source that fails is no
    source that has nothing. At most one model call a query, with ``model`` alone.
    """
    found = cast("tuple[Passage, ...]", (yield request))
    if not found and request.k > 0 and fallback != "off" and request not in findings.tried:
        found = yield from _fallen_back(request, findings, fallback)
    findings.add(found)
    return found


def _fallen_back(request: Search, findings: Findings, fallback: Fallback) -> Flow[tuple[Passage, ...]]:
    done = {request}
    for level in ("expansion", "keywords"):
        if level == "expansion":
            wider = replace(request, query=(yield from _expansion(request.query, findings, fallback)))
        else:
            wider = replace(request, query=keywords_of(request.query) or request.query, when="")
        if not wider.query or wider in done:
            continue
        done.add(wider)
        findings.tried.add(wider)
        found = cast("tuple[Passage, ...]", (yield wider))
        yield from note(
            "fallback", wider.query, level=level, query=wider.query, instead_of=request.query, found=len(found)
        )
        if found:
            return found
    return ()


def _expansion(query: str, findings: Findings, fallback: Fallback) -> Flow[str]:
    if fallback != "model":
        return feedback(query, findings.passages.values())
    if query not in findings.expansions:
        findings.expansions[query] = yield from asked_of_model(query)
    return findings.expansions[query]
