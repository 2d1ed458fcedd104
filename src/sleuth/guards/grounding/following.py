"""From which quotes an answer follows, by rule: words, numbers, dates, both sides of a comparison, counts.

The rules are Sleuth's own. They say yes only where they can name the quotes; what no rule says is for a judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

from sleuth.guards.citations import MOST_CLAIM, cite, says
from sleuth.guards.dates import moments
from sleuth.guards.evidence import snippet
from sleuth.guards.grounding.quantities import quantities, values, without_numbers
from sleuth.guards.text import sentences, stems
from sleuth.transcript.summary import mentions
from sleuth.transcript.wording import plain_words
from sleuth.types import Answer, Citation, Passage

MOST_WORDS_MISSING = 0.2
"""Share of a sentence's words that the evidence need not have, names and numbers apart: the answer's own connecting words."""
MOST_LISTED = 20
"""Things that are counted in a sentence, at most."""
VERDICTS = frozenset(("yes", "no", "true", "false", "supports", "refutes", "supported", "refuted", "both", "neither"))
"""Answers that no passage says word for word: they follow from what is said about each side of the question."""

_UNITS = frozenset(
    """m km cm mm kg g lb lbs ft foot feet inch inches mile miles metre metres meter meters kilometre kilometres kilometer
    kilometers kilogram kilograms year years day days people percent per cent tall long high old about around nearly
    approximately dollars euros""".split()
)
_BETWEEN = re.compile(
    r"\W*(?:,|(?:\w+\W+){0,2}?(?:and|or|nor|vs|versus|as)\b|(?:\w+\W+){0,3}?(?:than|before|after)\b)\W*(?:\w+\W+){0,2}?",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|no|never|none|neither|nor|without)\b|n['’]t\b", re.IGNORECASE)
_DERIVES = re.compile(
    r"\bhow (?:many|much|old|long|far|big)\b|\b(?:difference|total|sum|altogether|combined|apart|between)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an answer may follow from: passages (the cited first), verified quotes, texts of tools; and whether it was looked up at all."""

    passages: tuple[Passage, ...]
    quotes: tuple[Citation, ...]
    told: tuple[str, ...]
    looked: bool

    @staticmethod
    def of(answer: Answer) -> Evidence:
        """Of the answer's hops, citations and the passages it was read from."""
        every = {p.id: p for p in (*(p for hop in answer.hops for p in hop.evidence), *answer.read)}
        given = (*answer.citations, *(hop.citation for hop in answer.hops if hop.citation))
        quotes = tuple(dict.fromkeys(quote for quote in given if quote.verified))
        cited = [every[quote.passage] for quote in quotes if quote.passage in every]
        told = tuple(hop.answer for hop in answer.hops if hop.outcome == "found" and hop.answer and not hop.evidence)
        looked = bool(answer.read) or any(hop.outcome != "memory" for hop in answer.hops)
        return Evidence(tuple({p.id: p for p in (*cited, *every.values())}.values()), quotes, told, looked)

    @property
    def texts(self) -> tuple[str, ...]:
        """All of it as texts."""
        return (*(p.text for p in self.passages), *(quote.quote for quote in self.quotes), *self.told)

    def sentences(self) -> Iterator[tuple[Passage, str]]:
        """The passages' sentences."""
        for passage in self.passages:
            for a, b in sentences(passage.text):
                yield passage, passage.text[a:b]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer follows, the rule that says so, a sentence for people, and the quotes it follows from."""

    grounded: bool
    rule: str
    reason: str = ""
    quotes: tuple[Citation, ...] = ()


def ruled(question: str, answer: str, evidence: Evidence) -> Verdict:
    """The first rule by which the answer follows from the evidence; ``none`` where no rule says so."""
    if not any(text.strip() for text in evidence.texts):
        return Verdict(False, "no_evidence", "The look-ups brought no evidence.")
    if len(answer) > MOST_CLAIM:
        return Verdict(False, "none", "The answer is too long to be checked by rule.")
    named = sides(question)
    if plain_words(answer) in VERDICTS:
        return _each_side(question, named or mentions_of(question), evidence, "verdict")
    if len(named) > 1 and any(says(side, answer) or says(answer, side) for side in named):
        return _each_side(question, named, evidence, "comparison")
    return said(question, answer, evidence) or _parts(question, answer, evidence) or _not(answer)


def said(question: str, answer: str, evidence: Evidence) -> Verdict | None:
    """Whether one of the rules for plain answers says that it follows: quote, tool, date, number, count, arithmetic, words."""
    rules: tuple[Callable[[str, str, Evidence], Verdict | None], ...] = (
        _quoted,
        _told,
        _dated,
        _numbered,
        _counted,
        _reckoned,
        _worded,
    )
    return next((verdict for rule in rules if (verdict := rule(question, answer, evidence))), None)


def _not(answer: str) -> Verdict:
    return Verdict(False, "none", f"Nothing that was cited says {answer!r}.")


# --- sides of a comparison --------------------------------------------------------------------------------------


def mentions_of(question: str) -> tuple[str, ...]:
    """The names of a question, without bare numbers and dates."""
    return tuple(
        name for name in mentions(question) if any(c.isalpha() for c in without_numbers(name)) and not moments(name)
    )


def sides(question: str) -> tuple[str, ...]:
    """The things that a question compares: names joined by "or", "and", "than", "before", or commas; () where none are.

    "both X and Y", "X or Y", "X taller than Y". Only names (words with a capital) are seen.
    """
    found: list[tuple[str, int, int]] = []
    at = 0
    for name in mentions_of(question):
        start = question.find(name, at)
        at = start + len(name) if start >= 0 else at
        found.append((name, start, at))
    chains: list[list[tuple[str, str]]] = []
    for (name, _, end), (other, start, _) in pairwise(found):
        gap = question[end:start]
        if not _BETWEEN.fullmatch(gap):
            continue
        if not (chains and chains[-1][-1][0] == name):
            chains.append([(name, "")])
        chains[-1].append((other, gap.strip()))
    joined = [name for chain in chains if any(gap not in ("", ",") for _, gap in chain) for name, _ in chain]
    return tuple(dict.fromkeys(joined))


def _each_side(question: str, named: tuple[str, ...], evidence: Evidence, rule: str) -> Verdict:
    """Grounded where something is cited about each of the names; without names, where most of the question's words are."""
    quotes = [about(name, question, evidence) for name in named]
    missing = [name for name, quote in zip(named, quotes, strict=True) if quote is None]
    if missing:
        return Verdict(False, rule, f"Nothing is cited about {' or '.join(missing)}.")
    if not named:
        quotes = [quote] if (quote := snippet(question, evidence.passages)) else []
        asked = stems(question)
        shared = max((len(asked & stems(f"{quote.title} {quote.quote}")) for quote in quotes if quote), default=0)
        if not quotes or 2 * shared < len(asked):
            return Verdict(False, rule, "Nothing is cited about what the question asks.")
    return Verdict(True, rule, "Each side of the question is cited.", tuple(quote for quote in quotes if quote))


def about(name: str, question: str, evidence: Evidence) -> Citation | None:
    """A sentence about a name: one that says it, or one under a title that does."""
    if quote := cite(name, evidence.passages, context=question):
        return quote
    titled = [p for p in evidence.passages if says(p.title, name) or (says(name, p.title) and p.title.strip())]
    return snippet(question, titled) if titled else None


# --- plain answers ----------------------------------------------------------------------------------------------


def _quoted(question: str, answer: str, evidence: Evidence) -> Verdict | None:
    quote = cite(answer, evidence.passages, context=question)
    return Verdict(True, "quote", "A cited sentence says it.", (quote,)) if quote else None


def _told(question: str, answer: str, evidence: Evidence) -> Verdict | None:
    same = any(says(text, answer) or (values(answer) and values(answer) == values(text)) for text in evidence.told)
    return Verdict(True, "tool", "A tool's result says it.") if same else None


def _dated(question: str, answer: str, evidence: Evidence) -> Verdict | None:
    """An answer that is a date, where a sentence has that date, or one within it ("1889" for "31 March 1889")."""
    asked = moments(answer)
    rest = [stem for stem in stems(answer) if not any(c.isdigit() for c in stem)]
    if len(asked) != 1 or len(rest) > (asked[0].precision != "year"):
        return None
    for passage, sentence in evidence.sentences():
        if any(asked[0].first <= found.first and found.last <= asked[0].last for found in moments(sentence)):
            return Verdict(True, "date", "A cited sentence has that date.", (_whole(passage, sentence),))
    return None


def _numbered(question: str, answer: str, evidence: Evidence) -> Verdict | None:
    """An answer that is a number, where a sentence has that value and the answer's other words (units apart)."""
    wanted = values(answer)
    if not wanted:
        return None
    for passage, sentence in evidence.sentences():
        said, asked = stems(f"{passage.title} {sentence}"), stems(question)
        if wanted <= values(sentence) and _rest(answer) <= said | asked and said & asked:
            return Verdict(True, "number", "A cited sentence has that number.", (_whole(passage, sentence),))
    return None


def _rest(answer: str) -> frozenset[str]:
    words = [word for word in plain_words(without_numbers(answer)).split() if word not in _UNITS]
    return stems(" ".join(words))


def _counted(question: str, answer: str, evidence: Evidence) -> Verdict | None:
    """ "How many": a sentence lists as many things; or the question names them, and each is cited."""
    wanted = values(answer)
    if not re.search(r"\bhow many\b", question, re.IGNORECASE) or len(wanted) != 1 or _rest(answer) - stems(question):
        return None
    number = next(iter(wanted))
    for passage, sentence in evidence.sentences():
        if len(stems(question) & stems(sentence)) > 1 and listed(sentence) == number:
            return Verdict(True, "count", "A cited sentence lists as many.", (_whole(passage, sentence),))
    named = sides(question)
    if len(named) > 1 and number <= len(named):
        verdict = _each_side(question, named, evidence, "count")
        return verdict if verdict.grounded else None
    return None


def listed(sentence: str) -> int:
    """How many things a sentence lists ("Ada, Jon and Edda" are 3), or 0; those between the commas have at most 5 words."""
    parts = re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+", sentence)
    inner = parts[1:-1]
    fits = len(parts) <= MOST_LISTED and all(part and len(part.split()) <= 5 for part in inner)
    return len(parts) if len(parts) > 1 and fits else 0


def _reckoned(question: str, answer: str, evidence: Evidence) -> Verdict | None:
    """A number that is the sum or the difference of two numbers in quotes, where the question asks for one."""
    wanted = values(answer)
    if len(wanted) != 1 or not _DERIVES.search(question) or _rest(answer) - stems(question):
        return None
    number = next(iter(wanted))
    found = [(quote, quantity.value) for quote in evidence.quotes for quantity in quantities(quote.quote)][:60]
    for (first, a), (second, b) in combinations(found, 2):
        if a != b and number in (abs(a - b), a + b):
            quotes = tuple(dict.fromkeys((first, second)))
            return Verdict(True, "arithmetic", f"It is reckoned from {a} and {b}.", quotes)
    return None


def _worded(question: str, answer: str, evidence: Evidence) -> Verdict | None:
    """Each sentence of the answer in other order or form: its names and numbers, and most of its words, stand together."""
    quotes: list[Citation] = []
    for a, b in sentences(answer):
        quote = _sentence(question, answer[a:b], evidence)
        if quote is None:
            return None
        quotes += quote
    return (
        Verdict(True, "words", "Cited sentences say it in other words.", tuple(dict.fromkeys(quotes)))
        if quotes
        else None
    )


def _sentence(question: str, part: str, evidence: Evidence) -> list[Citation] | None:
    if not stems(part) - stems(question):
        return None
    for passage, sentence in evidence.sentences():
        if _agrees(question, part, f"{passage.title}. {sentence}"):
            return [_whole(passage, sentence)]
    together = " ".join(f"{quote.title}. {quote.quote}" for quote in evidence.quotes)
    return list(evidence.quotes) if together and _agrees(question, part, together) else None


def _agrees(question: str, part: str, text: str) -> bool:
    if bool(_DENIES.search(part)) != bool(_DENIES.search(text)) or not values(part) <= values(f"{text} {question}"):
        return False
    known, wanted = stems(f"{text} {question}"), stems(part)
    names = frozenset().union(*(stems(name) for name in mentions(part)))
    return names <= known and len(wanted - known) <= MOST_WORDS_MISSING * len(wanted) and bool(wanted & stems(text))


def _parts(question: str, answer: str, evidence: Evidence) -> Verdict | None:
    """An answer that lists several: each of them follows."""
    parts = [part for part in re.split(r"\s*[,;]\s*(?:and\s+)?|\s+(?:and|&)\s+", answer) if part.strip()]
    if not 1 < len(parts) <= MOST_LISTED:
        return None
    verdicts = [said(question, part, evidence) for part in parts]
    if not all(verdicts):
        return None
    quotes = dict.fromkeys(quote for verdict in verdicts if verdict for quote in verdict.quotes)
    return Verdict(True, "parts", "Each part of it is cited.", tuple(quotes))


def _whole(passage: Passage, sentence: str) -> Citation:
    return Citation(passage.id, passage.title, sentence, verified=sentence in passage.text)
