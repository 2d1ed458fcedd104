"""MuSiQue, answerable and full: .jsonl, also inside musique_v1.0.zip.

Fields: id, question, answer, answer_aliases, answerable, paragraphs [{idx, title, paragraph_text, is_supporting}],
question_decomposition [{id, question, answer, paragraph_support_idx}]. Titles repeat, so passages are gold by their id.
In the full set a question stands twice under one id, once with the support removed: the second gets "-unanswerable"
behind its id, no answers, and the level "unanswerable".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sleuth.bench.questions import Part, Question
from sleuth.bench.tasks.files import Source
from sleuth.bench.tasks.kinds import (
    Card,
    Entry,
    Loader,
    Maker,
    Paragraph,
    Row,
    has,
    maybe,
    once,
    paragraph,
    rows,
    text,
    texts,
)

CARD = Card(
    name="musique",
    title="MuSiQue",
    addresses=(
        "https://drive.google.com/file/d/1tGdADlNjWFaHLeZZGShh2IRcpO6Lv24h",
        "https://github.com/StonyBrookNLP/musique",
    ),
    files=("musique_ans_*dev.jsonl", "musique_full_*dev.jsonl", "musique_*.jsonl"),
    licence="CC BY 4.0",
    source="Trivedi et al. 2022, MuSiQue, section 5 (data) and 6.1 (metrics); evaluate_v1.0.py",
    metrics=("musique_em", "musique_f1", "recall_hops", "all_found"),
)


def is_row(row: Row) -> bool:
    """Paragraphs and a decomposition."""
    return has(row, "id", "question", "paragraphs") and ("question_decomposition" in row or "answerable" in row)


def _entry(row: Row) -> Entry:
    by_index, gold = {}, []
    for one in rows(row, "paragraphs"):
        passage = paragraph("mq", str(one["title"]), str(one["paragraph_text"]))
        by_index[one["idx"]] = passage
        if one.get("is_supporting") is True:
            gold.append(passage)
    parts = tuple(
        Part(text(one, "question"), maybe(one, "answer"), _support(one, by_index))
        for one in rows(row, "question_decomposition")
    )
    answerable = row.get("answerable", True) is not False
    name, answer = text(row, "id"), maybe(row, "answer")
    question = Question(
        id=name if answerable else f"{name}-unanswerable",
        text=text(row, "question"),
        answers=once([answer, *texts(row, "answer_aliases")]) if answerable and answer else (),
        supporting=once([passage.title for passage in gold]),
        documents=once([passage.id for passage in gold]),
        parts=parts,
        type=name.split("__")[0],
        level="" if answerable else "unanswerable",
    )
    return Entry(question, tuple(by_index.values()))


def _support(one: Row, by_index: Mapping[Any, Paragraph]) -> str:
    passage = by_index.get(one.get("paragraph_support_idx"))  # None where it was removed
    return passage.id if passage else ""


def _opened(source: Source) -> Maker:
    return _entry


LOADER = Loader(CARD, is_row, _opened)
