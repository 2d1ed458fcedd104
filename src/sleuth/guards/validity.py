"""Whether a plan step's result is one that later steps can stand on (write-up of retrieval planning, HybridAgent).

A result is invalid when it is empty, has no evidence, says that nothing was found, or is of another type than was
asked for: no date where a date was asked, no number where a number was, neither yes nor no where that was.
Rules on the text alone; what they cannot tell is valid.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias

from sleuth.guards import dates
from sleuth.guards.searching import NOTHING
from sleuth.guards.text import forms, same
from sleuth.types import Hop

Kind: TypeAlias = Literal["date", "number", "yes or no", ""]

NOT_KNOWN = re.compile(
    r"(?:no(?: such)? (?:answer|information|result|evidence|passage|match)s?\b.*|none|nothing|unknown|unclear|n/?a|null"
    r"|not (?:found|known|available|given|mentioned|stated|specified|applicable|provided)\b.*"
    r"|(?:i|we) (?:do not|don't|cannot|can't|could not) .*|cannot be determined.*|unable to .*)",
    re.IGNORECASE,
)
"""How models say that they have no answer; the whole answer must say so ("Nothing Else Matters" is a song)."""

_DATE = re.compile(
    r"^(?:(?:on|in|from|since|until|by|at) )?(?:when\b|(?:what|which)(?: \w+)? (?:date|year|day|month|century|decade)\b)"
    r"|\b(?:date|year|birthday)(?: of .+)?$",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\bhow (?:many|much|old|tall|high|long|far|large|big|deep|wide|heavy)\b|^(?:what|which) (?:is|was|are|were) "
    r"(?:the|\w+['’]s?) (?:\w+ ){0,2}(?:number|population|height|length|area|age|distance|percentage|price|cost|salary)"
    r"(?= (?:of|in|on|at|after|before|for|when|by)\b|$)|^(?:number|population) of\b|\b(?:population|height|price)$",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should) (?!.*\b(?:or|which|what|who)\b)",
    re.IGNORECASE,
)
_NUMBER_WORDS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen "
    "half once twice".split()
)
_FIELDS: Mapping[str, Kind] = {
    "date": "date",
    "year": "date",
    "when": "date",
    "number": "number",
    "count": "number",
    "population": "number",
    "height": "number",
    "price": "number",
}
"""Fields of a step whose names say their type."""


class Result(Protocol):
    """A step's result as plans give it: what was looked up, and each field that later steps name with its text."""

    @property
    def fields(self) -> Mapping[str, str]: ...
    @property
    def hop(self) -> Hop: ...
    @property
    def query(self) -> str: ...


class Asked(Protocol):
    """A plan's step, as far as validity is concerned: `sleuth.guards.plans.PlanStep`."""

    @property
    def tool(self) -> str: ...
    @property
    def synthesis(self) -> bool: ...


def invalid(step: Asked, result: Result) -> str:
    """Why the step's result cannot be used, as a short phrase for people and the model; "" when it can.

    A tool's result needs no passage; a synthesis step has no result of its own and is always valid.
    """
    if step.synthesis:
        return ""
    hop, answer = result.hop, result.hop.answer.strip()
    quoted = hop.citation is not None  # read from what an earlier step had found, whatever this search came to
    if hop.outcome in ("failed", "timeout", "rate_limited") and not quoted:
        return f"the source did not answer ({hop.outcome.replace('_', ' ')})"
    if says_nothing(answer) or (hop.outcome == "nothing" and not quoted):
        return "no answer found"
    if not answer:
        return "the answer is empty"
    if not (step.tool or hop.evidence or quoted):
        return "no evidence"
    kind = asked_for(result.query)
    if kind and not fits(kind, answer):
        return f"a {kind} was asked for, and the answer is {answer!r}"
    return next((told for name, text in result.fields.items() if (told := _bad_field(name, text))), "")


def says_nothing(answer: str) -> bool:
    """Whether an answer says, in whatever words, that there is none."""
    return same(answer, NOTHING) or bool(NOT_KNOWN.fullmatch(answer.strip(" .!\"'")))


def asked_for(query: str) -> Kind:
    """What type of answer a query asks for, where its form tells: "When ...?", "How many ...?", "Did ...?"."""
    text = " ".join(query.split()).rstrip("?!. ")
    if _DATE.search(text):
        return "date"
    if _NUMBER.search(text):
        return "number"
    return "yes or no" if _YES_NO.search(text) else ""


def fits(kind: Kind, answer: str) -> bool:
    """Whether an answer is of that type."""
    if kind == "date":
        return bool(dates.moments(answer)) or bool(re.search(r"\d", answer))
    if kind == "number":
        return bool(re.search(r"\d", answer)) or bool(_NUMBER_WORDS & set(forms(answer)))
    return kind == "" or forms(answer)[:1] in (("yes",), ("no",))


def _bad_field(name: str, text: str) -> str:
    """What is wrong with a field's text: it is empty, says nothing, or is of another type than its name says."""
    if not text.strip() or says_nothing(text):
        return f"no answer found for {name!r}"
    kind = _FIELDS.get(name.casefold(), "")
    return "" if fits(kind, text) else f"{name!r} should be a {kind}, and is {text!r}"
