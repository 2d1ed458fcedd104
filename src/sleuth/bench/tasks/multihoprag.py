"""MultiHop-RAG: MultiHopRAG.json and corpus.json beside it (JSON lists).

Fields: query, answer, question_type, evidence_list [{title, author, url, source, category, published_at, fact}]. Corpus:
title, author, source, published_at, category, url, body. A null query's answer is "Insufficient information.".
"""

from __future__ import annotations

from collections.abc import Iterator

from sleuth.bench.questions import Question
from sleuth.bench.tasks.corpus import plain
from sleuth.bench.tasks.files import Source
from sleuth.bench.tasks.kinds import (
    Card,
    Entry,
    Loader,
    Maker,
    Paragraph,
    Row,
    digest,
    has,
    maybe,
    once,
    paragraph,
    rows,
    text,
)
from sleuth.errors import BadInput

CARD = Card(
    name="multihoprag",
    title="MultiHop-RAG",
    addresses=(
        "https://raw.githubusercontent.com/yixuantt/MultiHop-RAG/main/dataset/MultiHopRAG.json",
        "https://raw.githubusercontent.com/yixuantt/MultiHop-RAG/main/dataset/corpus.json",
    ),
    files=("MultiHopRAG.json",),
    licence="ODC-BY 1.0",
    source="Tang and Yang 2024, MultiHop-RAG, section 3 (data) and 4 (metrics)",
    metrics=("em", "f1", "multihoprag", "recall_hops", "all_found"),
    aliases=("multihop-rag",),
)


def is_row(row: Row) -> bool:
    """A query with its type and evidence."""
    return has(row, "query", "answer", "question_type", "evidence_list")


def _opened(source: Source) -> Maker:
    ids = {plain(page.title): page.id for page in _pages(source)}

    def entry(row: Row) -> Entry:
        asked, titles = text(row, "query"), once([maybe(one, "title") for one in rows(row, "evidence_list")])
        known = all(plain(title) in ids for title in titles)
        question = Question(
            id=f"multihoprag-{digest(asked)}",
            text=asked,
            answers=(text(row, "answer"),),
            supporting=titles,
            documents=once([ids[plain(title)] for title in titles]) if known else (),
            type=text(row, "question_type"),
        )
        return Entry(question)

    return entry


def _pages(source: Source) -> Iterator[Paragraph]:
    file = source.beside("corpus.json")
    for where, row in file.rows() if file else ():
        try:
            yield paragraph("mh", text(row, "title"), text(row, "body"))
        except ValueError as fault:
            raise BadInput(f"{where} is no article: {fault}.") from fault


LOADER = Loader(CARD, is_row, _opened, _pages, ("corpus.json",))
