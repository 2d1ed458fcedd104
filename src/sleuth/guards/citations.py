"""Quotes that stand in the evidence word for word, and evidence that contradicts an answer's date.

Also offered here, from `sleuth.guards.defusing`: `defuse` and its kin, for outside text that holds a scaffold's labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sleuth.guards.dates.holding import holds
from sleuth.guards.dates.moment import Moment, iso, scan
from sleuth.guards.defusing import LABELS, defuse, original_span, undefuse
from sleuth.guards.text import Span, Word, find, forms, sentences, stems, words
from sleuth.types import Citation, Passage

MOST_CLAIM = 2_000
"""Characters of a claim, at most: a longer one is no short answer, and stands in no passage."""

__all__ = ["LABELS", "cite", "contradicts", "defuse", "original_span", "says", "undefuse", "verify"]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence that says the claim. Ranks by: says it itself, words shared with the context, shortness, order."""

    rank: tuple[int, float, int, int]
    passage: Passage
    span: Span


def cite(claim: str, passages: Iterable[Passage], *, context: str = "") -> Citation | None:
    """The sentence that supports a short answer, as a verified citation; None when no passage says it.

    A sentence supports the claim when it contains it word for word, but for case, accents, punctuation, articles and
    the form of numbers, dates and years. Of several, the one that shares most words with `context` (the question) is
    taken, then the shortest. Failing that, in a passage whose title holds the claim, a sentence with the claim's last
    word ("Harrison took office ..." under "Benjamin Harrison"). The quote is a verbatim run of the passage's text.
    """
    if len(claim) > MOST_CLAIM:
        return None
    wanted = stems(context) - stems(claim)
    found = [candidate for at, passage in enumerate(passages) for candidate in _candidates(claim, passage, wanted, at)]
    if not found:
        return None
    best = max(found, key=lambda candidate: candidate.rank)
    quote = best.passage.text[best.span[0] : best.span[1]]
    return verify(Citation(best.passage.id, best.passage.title, quote), (best.passage,))


def verify(citation: Citation, passages: Iterable[Passage]) -> Citation:
    """The citation with `verified` true exactly when its quote, which must say something, stands in its passage."""
    stands = bool(citation.quote.strip()) and any(
        passage.id == citation.passage and citation.quote in passage.text for passage in passages
    )
    return replace(citation, verified=stands)


def says(text: str, claim: str) -> bool:
    """Does the text contain the claim word for word, in the sense of `cite`?"""
    return len(claim) <= MOST_CLAIM and _place(claim, text) is not None


def contradicts(answer: str, passages: Sequence[Passage], when: str, *, about: str = "") -> bool:
    """Does the evidence about `answer` tell when it held its office, and never at the moment `when` (ISO)?

    The evidence is the passages titled with the answer; failing a judgement by those, the sentences that name it.
    `about` says which office ("US president"). False whenever it cannot be judged, or evidence speaks on both sides.
    """
    titled = [passage.text for passage in passages if _names(passage.title, answer)]
    verdicts = {holds(text, when, about=about) for text in titled} - {None}
    if not verdicts:
        naming = (sentence for passage in passages for sentence in _naming(answer, passage))
        verdicts = {holds(sentence, when, about=about) for sentence in naming} - {None}
    return verdicts == {False}


# --- containing a claim ------------------------------------------------------------------------------------------


def _candidates(claim: str, passage: Passage, wanted: frozenset[str], at: int) -> Iterator[_Candidate]:
    text = passage.text
    whole = _place(claim, text)
    last = forms(claim)[-1:] if whole is None and _names(passage.title, claim) else ()
    if whole is None and not last:
        return
    title = stems(passage.title) & wanted
    for start, end in sentences(text):
        sentence = text[start:end]
        direct = whole is not None and _place(claim, sentence) is not None
        if direct or (last and find(last, words(sentence)) >= 0):
            own = stems(sentence) & wanted
            shared = len(own) + len(title - own) / 2
            yield _Candidate((int(direct), shared, start - end, -at), passage, (start, end))


def _place(claim: str, text: str) -> int | None:
    """Where the text says the claim (an index of its words), by its words as they are or with dates made alike."""
    needle, hay = words(claim), words(text)
    at = find(tuple(word.form for word in needle), hay)
    if at >= 0:
        return at
    if not any(word.form[0].isdigit() for word in needle):
        return None
    dated = tuple(word.form for word in _with_dates(claim, needle))
    at = find(dated, _with_dates(text, hay))
    return at if at >= 0 else None


def _with_dates(text: str, found: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words with each date of more than one word made one, in ISO form."""
    result: list[Word] = []
    dates = [date for date in scan(text) if date.precision in ("day", "month")]
    at = 0
    for word in found:
        while at < len(dates) and dates[at].span[1] <= word.start:
            at += 1
        if at == len(dates) or word.start < dates[at].span[0]:
            result.append(word)
        elif not (result and result[-1].start == dates[at].span[0]):
            result.append(_dated(dates[at]))
    return tuple(result)


def _dated(date: Moment) -> Word:
    return Word(f"@{iso(date)}", *date.span)


def _names(title: str, answer: str) -> bool:
    return len(answer) <= MOST_CLAIM and find(forms(answer), words(title)) >= 0


def _naming(answer: str, passage: Passage) -> Iterator[str]:
    if not says(passage.text, answer):
        return
    for start, end in sentences(passage.text):
        if says(passage.text[start:end], answer):
            yield passage.text[start:end]
