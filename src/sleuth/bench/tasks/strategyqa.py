"""StrategyQA: strategyqa_train.json (a JSON list) and strategyqa_train_paragraphs.json, also inside their .zip.

Fields: qid, term, description, question, answer (true or false), facts, decomposition (texts with #1, #2), evidence: for
each annotator, for each step, a list of [paragraph ids], "operation" or "no_evidence". Paragraphs: an object of id ->
{title, section, headers, para_index, content}. Gold is what any annotator named; a step's document is the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from sleuth.errors import BadInput

CARD = Card(
    name="strategyqa",
    title="StrategyQA",
    addresses=("https://storage.googleapis.com/ai2i/strategyqa/data/strategyqa_dataset.zip",),
    files=("strategyqa_train.json", "strategyqa_dev.json", "strategyqa_train_filtered.json"),
    licence="MIT",
    source="Geva et al. 2021, Did Aristotle Use a Laptop?, section 3 (data) and 5 (accuracy)",
    metrics=("yes_no", "recall_hops", "all_found"),
)
PARAGRAPHS = ("strategyqa_train_paragraphs.json", "*paragraphs*.json")


def is_row(row: Row) -> bool:
    """A question with an id "qid" and a term."""
    return has(row, "qid", "question", "term")


def _opened(source: Source) -> Maker:
    known = _paragraphs(source)

    def entry(row: Row) -> Entry:
        steps = [[list(_ids(step)) for step in person] for person in rows(row, "evidence")]
        gold = once([name for person in steps for step in person for name in step])
        documents = [known[name].id for name in gold if name in known]
        parts = tuple(
            Part(one, document=_first(steps, number, known)) for number, one in enumerate(texts(row, "decomposition"))
        )
        titles = [known[name].title if name in known else name.rsplit("-", 1)[0] for name in gold]
        question = Question(
            id=text(row, "qid"),
            text=text(row, "question"),
            answers=_answer(row),
            supporting=once(titles),
            documents=once(documents) if len(documents) == len(gold) else (),
            parts=parts,
            type="strategy",
        )
        return Entry(question)

    return entry


def _answer(row: Row) -> tuple[str, ...]:
    if row.get("answer") is None:
        return ()
    if not isinstance(row["answer"], bool):
        raise ValueError('"answer" is neither true nor false')
    return ("yes" if row["answer"] else "no",)


def _ids(step: Any) -> Iterator[str]:
    """The paragraph ids of a step; "operation" and "no_evidence" name none."""
    if isinstance(step, list):
        for one in step:
            if isinstance(one, list):
                yield from map(str, one)


def _first(steps: list[list[list[str]]], number: int, known: Mapping[str, Paragraph]) -> str:
    named = (name for person in steps if number < len(person) for name in person[number])
    return next((known[name].id for name in named if name in known), "")


def _paragraphs(source: Source) -> Mapping[str, Paragraph]:
    file = source.beside(*PARAGRAPHS)
    if file is None:
        return {}
    value = file.whole()
    try:
        return {name: paragraph("sq", maybe(one, "title"), maybe(one, "content")) for name, one in value.items()}
    except (AttributeError, ValueError, TypeError) as fault:
        raise BadInput(
            f"{file} does not hold paragraphs: {fault}.", hint="It should map ids to title and content."
        ) from fault


def _pages(source: Source) -> Iterator[Paragraph]:
    yield from _paragraphs(source).values()


LOADER = Loader(CARD, is_row, _opened, _pages, PARAGRAPHS)
