"""Scores of the sentences a run stands on: HotpotQA's and 2Wiki's supporting facts, MuSiQue's paragraphs, FEVER's evidence.

A run *predicts* the sentences that its citations' quotes fall in, in the order of the citations; a quote over two
sentences predicts both, a quote that does not stand in its passage none. A passage that only was read predicts nothing.
Sentences are numbered in the text of the whole page as far as the run has seen it, split by `sleuth.guards.text.sentences`
(or as the page that was opened lists them). The data sets split theirs by other tools: of their supporting sentences 98.6% of
1,348 (HotpotQA), 89.6% of 182 (2Wiki) and all of 56 (FEVER) get the same number. A
sentence whose place in its page cannot be known (what stands before it was never seen) is numbered -1: predicted, and wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from sleuth.bench.metrics.answers import FEVER, HOTPOT, TWO_WIKI, right_label
from sleuth.bench.metrics.evidence import passages_of, title_key
from sleuth.bench.metrics.metric import Metric
from sleuth.bench.metrics.words import NONE, Agreement, agreement, exact_match, harmonic, overlap
from sleuth.bench.questions import Question, Sentence
from sleuth.bench.record import Record
from sleuth.guards.text import Span, sentences
from sleuth.types import Page, Passage

MOST = 5
"""Predicted sentences that count for the FEVER score (Thorne et al. 2018, section 5)."""
NOT_ENOUGH = "NOT ENOUGH INFO"


def predicted(record: Record) -> tuple[Sentence, ...]:
    """The sentences that the citations' quotes fall in: (title, number), each once, in the order of the citations."""
    if record.answer is None:
        return ()
    known = {passage.id: passage for passage in passages_of(record)}
    pages = {title_key(each.page.title): each.page for each in record.lookups if each.page is not None}
    found: dict[Sentence, None] = {}
    for citation in record.answer.citations:
        passage = known.get(citation.passage)
        if passage is None or not citation.quote.strip():
            continue
        at = passage.text.find(citation.quote)
        if at >= 0:
            place = (at, at + len(citation.quote))
            page = pages.get(title_key(passage.title))
            found.update(dict.fromkeys((passage.title, n) for n in _numbers(place, passage, page, known)))
    return tuple(found)


def _numbers(place: Span, passage: Passage, page: Page | None, known: Mapping[str, Passage]) -> Iterable[int]:
    if page is not None:
        quote = passage.text[place[0] : place[1]]
        if inside := [n for n, sentence in enumerate(page.sentences) if quote in sentence or sentence.strip() in quote]:
            return inside
    before = _before(passage, known)
    if before is None:
        return (-1,)
    spans = _split(passage.text)
    return [before + n for n, (begin, end) in enumerate(spans) if begin < place[1] and place[0] < end]


def _before(passage: Passage, known: Mapping[str, Passage]) -> int | None:
    """How many sentences of the page stand before the passage; None where some of that was not seen."""
    others = [each for each in known.values() if each.document == passage.document and each.span[1] > each.span[0]]
    count, at = 0, 0
    while at < passage.span[0]:
        follows = next(
            (each for each in others if at <= each.span[0] <= at + 2 and each.span[1] <= passage.span[0]), None
        )
        if follows is None:
            return count if passage.span[0] - at <= 2 else None
        count += len(_split(follows.text))
        at = follows.span[1]
    return count


@lru_cache(maxsize=4096)
def _split(text: str) -> tuple[Span, ...]:
    return sentences(text)


# --- HotpotQA and 2Wiki -----------------------------------------------------------------------------------------


def _facts(record: Record, question: Question) -> Agreement | None:
    if not question.facts or record.answer is None:
        return None
    return overlap(_keys(predicted(record)), _keys(question.facts))


def _keys(found: Iterable[Sentence]) -> set[Sentence]:
    return {(title_key(title), number) for title, number in found}


def _sf_em(record: Record, question: Question) -> float | None:
    facts = _facts(record, question)
    return None if facts is None else float(facts.f1 == 1.0)


def _sf_f1(record: Record, question: Question) -> float | None:
    facts = _facts(record, question)
    return None if facts is None else facts.f1


def _joint_em(record: Record, question: Question) -> float | None:
    facts = _facts(record, question)
    if facts is None or not question.answers:
        return None
    return exact_match(record.text, question.answers) * float(facts.f1 == 1.0)


def _joint_f1(record: Record, question: Question) -> float | None:
    facts = _facts(record, question)
    if facts is None or not question.answers:
        return None
    words = [agreement(record.text, gold) for gold in question.answers]
    precision, recall = max(each.precision for each in words), max(each.recall for each in words)
    return harmonic(precision * facts.precision, recall * facts.recall)


# --- MuSiQue ----------------------------------------------------------------------------------------------------


def _support(record: Record, question: Question) -> float | None:
    """F1 of the documents that are cited, over the supporting ones; titles where documents are not known."""
    gold = question.documents or tuple(map(title_key, question.supporting))
    if not gold or record.answer is None:
        return None
    known = {passage.id: passage for passage in passages_of(record)}
    cited = [known[each.passage] for each in record.answer.citations if each.passage in known]
    ours = {passage.document if question.documents else title_key(passage.title) for passage in cited}
    return overlap(ours, gold).f1 if cited else NONE.f1


# --- FEVER ------------------------------------------------------------------------------------------------------


def _fever(record: Record, question: Question) -> float | None:
    if not question.answers or not _is_fever(question):
        return None
    if not right_label(record.text, question.answers):
        return 0.0
    if _is_not_enough(question):
        return 1.0
    ours = _keys(predicted(record)[:MOST])
    return float(any(_keys(each) <= ours for each in question.evidence))


def _fever_precision(record: Record, question: Question) -> float | None:
    if not _is_fever(question) or _is_not_enough(question):
        return None
    ours = [next(iter(_keys([each]))) for each in predicted(record)[:MOST]]
    gold = _keys(each for group in question.evidence for each in group)
    return sum(each in gold for each in ours) / len(ours) if ours else 1.0


def _fever_recall(record: Record, question: Question) -> float | None:
    if not _is_fever(question) or _is_not_enough(question):
        return None
    ours = _keys(predicted(record)[:MOST])
    return float(any(_keys(each) <= ours for each in question.evidence))


def _is_fever(question: Question) -> bool:
    """Can it be scored: a claim with evidence, or one that there is none for?"""
    return bool(question.evidence) or _is_not_enough(question)


def _is_not_enough(question: Question) -> bool:
    return bool(question.answers) and question.answers[0].upper() == NOT_ENOUGH


METRICS = (
    Metric("sf_em", "1", "share", "more", _sf_em, "the cited sentences are the supporting facts", HOTPOT),
    Metric("sf_f1", "1", "mean", "more", _sf_f1, "cited sentences beside the supporting facts", HOTPOT),
    Metric("joint_em", "1", "share", "more", _joint_em, "answer and supporting facts are right", HOTPOT),
    Metric("joint_f1", "1", "mean", "more", _joint_f1, "answer and supporting facts together", HOTPOT + "; " + TWO_WIKI),
    Metric("musique_support", "1", "mean", "more", _support, "cited paragraphs beside the supporting ones", "Trivedi et al. 2022, metrics/support.py"),
    Metric("fever", "1", "share", "more", _fever, "right label and a full evidence set among five sentences", FEVER),
    Metric("fever_precision", "1", "mean", "more", _fever_precision, "share of five sentences that are evidence", FEVER),
    Metric("fever_recall", "1", "share", "more", _fever_recall, "a full evidence set among five sentences", FEVER),
)  # fmt: skip
