"""What type of question is this, told by its words alone? For choosing how to look things up without asking a model.

The types are those of the retrieval-planning write-up's decision tree (open-ended, a chain, parallel parts), with three
more: a single fact, two things side by side, and things that lead to each other. Rules read English; a question that
none of them knows, in whatever language, counts as `linked`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sleuth.guards.dates import is_time_question

Kind: TypeAlias = Literal["open", "chain", "parallel", "pair", "single", "linked"]

MEANING: dict[Kind, str] = {
    "single": "one fact about one thing",
    "linked": "things that lead to each other: a fact about a thing that another thing names",
    "chain": "a chain of three facts or more, or who held a role at some moment",
    "pair": "two named things side by side",
    "parallel": "several parts that can be looked up at the same time",
    "open": "open-ended: why, how, what came of it",
}
"""The types, as people and models read them."""
CHAIN = 3
"""Facts that make a chain: pairs of linked passages cover two (docs/decisions/link-then-read.md)."""
SHORT = 14
"""Most words of a question for a single fact."""
MOST = 1000
"""Characters of a question that are read."""


@dataclass(frozen=True, slots=True)
class QuestionType:
    """A type and what speaks for it, in words of the question where there are any."""

    kind: Kind
    reason: str


_WORD = r"[A-ZÀ-ÖØ-Þ](?:[\w&-]|\.(?=\w)|['’](?!s\b)(?=\w))*"
_JOINED = r"(?:\s+(?:(?:of|the|de|del|della|di|du|da|la|le|von|van|der|&|for)\s+){0,2}|\s*[:!]\s+)"
_NAME = re.compile(rf"\"[^\"]+\"|“[^”]+”|(?<!\w){_WORD}(?:{_JOINED}{_WORD})*(?:\s*\([^)]*\))?")
_THE = r"(?:the\s+|an?\s+)?"
_WHO = r"(?:who|whom|whose|what|which|when|where|how|why)"
_ASKED = re.compile(rf"(?:(?:in|on|at|from|to|by|for|with|under|of|during)\s+)?({_WHO})\b\s*", re.IGNORECASE)
_COUNT = r"(?:\d{1,2}|three|four|five|six|seven|eight|nine|ten|several)"
_NO_EST = r"(?!(?:w|r|for|inter|harv|requ|prot|cont|conqu|gu|pri|hon|mod|arr|inv|sugg)est\b)"
_EST = rf"(?:most|least|{_NO_EST}\w{{2,}}est)"

_OPEN = re.compile(
    r"^(?:why\b|how\s+(?:come|did|do|does|can|could|should|would|is|are|was|were|has|have|might|to)\b"
    r"|(?:please\s+)?(?:explain|describe|discuss|summari[sz]e|tell|analy[sz]e|give|help|compare)\b"
    r"|what\s+(?:if|happen(?:ed|s)|led|caused|makes?|did\b.*\b(?:say|think|mean)\b|would|should|could|might)\b)"
    r"|\b(?:consequences?|implications?|significance|effects?|impact|causes|reasons?|drawbacks)\s+(?:of|for|behind|why)\b"
    r"|\bpros and cons\b|\breact(?:ed|ion)?\s+to\b|\bin your opinion\b",
    re.IGNORECASE,
)
_HOW_FACT = re.compile(
    r"^how\s+(?:(?:is|are|was|were)\s+N\s+(?:related|called|spelled|pronounced)\b|did\s+N\s+die\b)", re.IGNORECASE
)
_HOW_PARTS = re.compile(
    r"^how\b.*\w\s+and\s+\w.*\b(?:react|respond|differ|change|compare|develop|perform|fare)\b", re.IGNORECASE
)
_PARALLEL = (
    (
        re.compile(
            r"\band\s+(?:(?:in|on|at|from|by)\s+)?(?:(?:who|whom|where|when|what|which|how|why)\s+"
            r"(?:is|was|are|were|did|does|do|has|have|many|much|\w+ed|\w+s)\b)",
            re.IGNORECASE,
        ),
        "asks two things",
    ),
    (re.compile(r"\b(?:each|every|respectively|one by one|for all)\b", re.IGNORECASE), "asks the same of each"),
    (
        re.compile(
            r"^(?:please\s+)?(?:(?:list|enumerate)\s+\w+"
            r"|(?:name|find|identify)\s+(?:(?!that\b|who\b|which\b|where\b|of\b)\w[\w-]*\s+){0,3}?\w*[^s\W]s\b)",
            re.IGNORECASE,
        ),
        "asks for a list",
    ),
    (
        re.compile(
            rf"\b(?:top|first|last|latest|most recent)\s+{_COUNT}\b|\b(?:the|N's)\s+{_COUNT}\s+[\w-]+|\ball\s+(?:of\s+)?the\s+\w+s\b",
            re.IGNORECASE,
        ),
        "asks of several",
    ),
    (
        re.compile(
            r"^(?:what|which|who)\s+(?:are|were)\s+the\s+(?:[\w-]+\s+){0,3}\w+s\s+(?:of|for|in|by)\s+(?:the|all|N's)"
            r"\s+(?:[\w-]+\s+){0,4}?\w+[^s\W]s\b",
            re.IGNORECASE,
        ),
        "asks of several",
    ),
    (
        re.compile(rf"^\w+\s(?:[^,]*\s)?N,\s+{_THE}N(?:,\s+{_THE}N)*,?\s+(?:and|or)\s+{_THE}N\b"),
        "names three or more",
    ),
    (
        re.compile(
            r"^(?:what|which|who)\s+(?:is|are|was|were)\s+the\s+\w+(?:,\s+\w+)*,?\s+and\s+(?:the\s+)?\w+\s+of\b",
            re.IGNORECASE,
        ),
        "asks two things of one",
    ),
)
_PAIR = (
    re.compile(rf"\w,?\s+or\s+(?:(?:in|by|on)\s+)?{_THE}(?:[\w-]+\s+){{0,3}}\w\S*\W*$"),
    re.compile(
        rf"\bboth\b|\bin common\b|\bthan\s+{_THE}(?:[\w-]+\s+){{0,2}}N\b|\b(?:the|these)\s+two\s+\w+s\b", re.IGNORECASE
    ),
    re.compile(rf"\bN(?:'s)?,?\s+and\s+{_THE}(?:[\w-]+\s+)?N\b"),
)
_ONE = re.compile(
    r"\b(?:(?:place|date|year|day|month|cause|time|country|city)\s+of\s+(?:\w*birth|death|burial|origin|citizenship)"
    r"|(?:kind|type|sort|number|name|one|part|member|form|piece|title|style|amount|level|use)s?\s+of"
    r"|(?:out|because|instead)\s+of)\b",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"\bof\b|(?:'s|s'|’s)(?=\s)|\b(?:that|who|whom|whose|where|which)\s+\w+|\bnamed\s+after\b"
    r"|\b(?:written|directed|composed|performed|founded|designed|produced|owned|created|painted|played|sung|published)\s+by\b"
    r"|\b(?:starring|featuring|based\s+on)\b"
    r"|\b(?:grand(?:father|mother|son|daughter|child|parent)s?|step\w+|\w+-in-law|uncle|aunt|cousin|nephew|niece)\b",
    re.IGNORECASE,
)
_BEST = re.compile(rf"\b(?:the|N's|its|their)\s+(?:\w+\s+)?{_EST}\b", re.IGNORECASE)
_BEFORE = re.compile(
    r"^(?:who|what|which)\b.*\b(?:was|were|is|led|held|ruled)\b.*\b(?:before|after)\s+\w", re.IGNORECASE
)
_BEGINNINGS = frozenset(
    """who whom whose what which when where why how is are was were am do does did has have had can could will would
    should shall may might in on at from to by for with under of during the a an please list name find explain describe
    discuss summarize summarise tell analyze analyse give help compare enumerate if as after before besides between both
    """.split()
)
"""Words that begin a question with a capital and are no name."""


def question_type(question: str) -> QuestionType:
    """The question's type, and why. Reads any text; never raises."""
    text, names = _masked(" ".join(question.split())[:MOST])
    if _HOW_PARTS.search(text):
        return QuestionType("parallel", "asks the same of several parts")
    if (found := _OPEN.search(text)) and not _HOW_FACT.search(text):
        return QuestionType("open", f"open-ended: '{_quoted(found, names)}'")
    for rule, reason in _PARALLEL:
        if found := rule.search(text):
            return QuestionType("parallel", f"{reason}: '{_quoted(found, names)}'")
    for rule in _PAIR:
        if found := rule.search(text):
            return QuestionType("pair", f"two things side by side: '{_quoted(found, names)}'")
    if is_time_question(text) or _BEFORE.search(text):
        return QuestionType("chain", "asks who or what it was at some moment")
    return _by_links(text, names)


def _masked(text: str) -> tuple[str, list[str]]:
    """The text with "N" for each name, and the names; the word it begins with is one only where questions do not begin with it."""
    begun = re.match(r"\w+", text)
    first = begun.end() if begun and begun.group().casefold() in _BEGINNINGS else 0
    return text[:first] + _NAME.sub("N", text[first:]), _NAME.findall(text[first:])


def _by_links(text: str, names: list[str]) -> QuestionType:
    """By the number of facts that hang on each other: the links between things, and what is asked of the last."""
    asked = _ASKED.match(text)
    if not asked:
        return QuestionType("linked", "no rule tells more")
    rest = text[asked.end() :]
    bare = _ONE.sub(" ", rest)
    links = [_quoted(link, names) for rule in (_LINK, _BEST) for link in rule.finditer(bare)]
    facts = len(links) + _asks_more(asked.group(1).casefold(), rest)
    if facts >= CHAIN:
        told = "', '".join(links)
        return QuestionType("chain", f"{facts} facts that hang on each other: '{told}'")
    if facts <= 1 and len(re.findall(r"\bN\b", text)) <= 1 and len(text.split()) <= SHORT:
        return QuestionType("single", "one fact about one thing")
    return QuestionType(
        "linked", f"two facts that hang on each other: '{links[0]}'" if links else "names several things"
    )


def _asks_more(word: str, rest: str) -> bool:
    """Whether the question asks a fact beside its links: "When was [the mother of N] born?", unlike "Who is [the mother of N]?"."""
    named = re.match(r"(?:is|was|are|were|'s|’s)\s+(?:the|an?|N's)\s+(\w+ \w+ \w+)?", rest)
    return not named or (word in ("when", "where", "how") and not _ONE.match(named.group(1) or ""))


def _quoted(found: re.Match[str], names: list[str]) -> str:
    """What a rule found, its names as they were."""
    named = iter(names[len(re.findall(r"\bN\b", found.string[: found.start()])) :])
    text = re.sub(r"\bN\b", lambda mark: next(named, mark.group()), " ".join(found.group().split()))
    return text if len(text) <= 60 else f"{text[:57]}..."
