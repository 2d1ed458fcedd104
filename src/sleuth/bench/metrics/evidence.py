"""Scores of what was found, read and cited, and of whether the run answered at all."""

from __future__ import annotations

from collections.abc import Iterable

from sleuth.bench.metrics.metric import Metric
from sleuth.bench.metrics.words import all_found, recall
from sleuth.bench.questions import Question
from sleuth.bench.record import Record
from sleuth.types import Passage

SLEUTH = "Sleuth's own rule"


def title_key(title: str) -> str:
    """The title without case and with single spaces."""
    return " ".join(title.casefold().split())


def is_gold(passage: Passage, question: Question) -> bool:
    """Is it of a supporting document (by id where these are known, else by title)?"""
    if question.documents:
        return passage.document in question.documents
    return title_key(passage.title) in map(title_key, question.supporting)


def passages_of(record: Record) -> tuple[Passage, ...]:
    """Every passage of the run: what came back, the evidence of its hops and what its last call read; each once."""
    answer = record.answer
    hops = () if answer is None else tuple(passage for hop in answer.hops for passage in hop.evidence)
    read = () if answer is None else answer.read
    return tuple({passage.id: passage for passage in (*record.seen, *hops, *read)}.values())


def _found(passages: Iterable[Passage], question: Question) -> tuple[set[str], tuple[str, ...]]:
    """The documents (or titles) found, and the gold ones."""
    if question.documents:
        return {passage.document for passage in passages}, question.documents
    return {title_key(passage.title) for passage in passages}, tuple(map(title_key, question.supporting))


def _came_back(record: Record, question: Question) -> tuple[set[str], tuple[str, ...]] | None:
    """None where nothing was looked up, or no gold is known."""
    if not record.lookups:
        return None
    found, gold = _found(record.seen, question)
    if not question.documents:
        found |= {title_key(each.page.title) for each in record.lookups if each.page is not None}
    return (found, gold) if gold else None


def _recall_hops(record: Record, question: Question) -> float | None:
    both = _came_back(record, question)
    return None if both is None else recall(*both)


def _all_found(record: Record, question: Question) -> float | None:
    both = _came_back(record, question)
    return None if both is None else all_found(*both)


def _recall_read(record: Record, question: Question) -> float | None:
    if not record.lookups or record.answer is None:
        return None
    found, gold = _found(record.answer.read, question)
    return recall(found, gold) if gold else None


def _hops(record: Record, question: Question) -> float | None:
    return None if record.answer is None else float(len(record.answer.hops))


def _citation_quoted(record: Record, question: Question) -> float | None:
    if record.answer is None or not record.answer.citations:
        return None
    texts = {passage.id: passage.text for passage in passages_of(record)}
    cited = record.answer.citations
    return sum(bool(each.quote.strip()) and each.quote in texts.get(each.passage, "") for each in cited) / len(cited)


def _citation_gold(record: Record, question: Question) -> float | None:
    if record.answer is None or not record.answer.citations or not (question.documents or question.supporting):
        return None
    gold = {passage.id for passage in passages_of(record) if is_gold(passage, question)}
    cited = record.answer.citations
    return sum(each.passage in gold for each in cited) / len(cited)


def _answered(record: Record, question: Question) -> float | None:
    return float(record.is_answered)


def _confidence(record: Record, question: Question) -> float | None:
    return None if record.answer is None or not record.is_answered else record.answer.confidence


METRICS = (
    Metric(
        "recall_hops", "1", "mean", "more", _recall_hops, "share of the gold documents in all that came back", SLEUTH
    ),
    Metric("recall_read", "1", "mean", "more", _recall_read, "share of the gold documents the last call read", SLEUTH),
    Metric("all_found", "1", "share", "more", _all_found, "every gold document came back", SLEUTH),
    Metric("hops", "1", "hops", "less", _hops, "look-ups that the answer names", SLEUTH),
    Metric(
        "citation_quoted", "1", "mean", "more", _citation_quoted, "share of quotes that stand in their passage", SLEUTH
    ),
    Metric("citation_gold", "1", "mean", "more", _citation_gold, "share of citations of a gold document", SLEUTH),
    Metric("answered", "1", "share", "more", _answered, "there is an answer: it did not abstain or fail", SLEUTH),
    Metric("confidence", "1", "mean", "more", _confidence, "the stated probability of being right", SLEUTH),
)
