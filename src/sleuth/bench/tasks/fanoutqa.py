"""FanOutQA: fanout-final-dev.json (a JSON list; no passages: its pages are Wikipedia's).

Fields: id, question, answer (an object, a list or one value), categories, decomposition [{id, question, decomposition,
answer, depends_on, evidence {pageid, revid, title, url} or null}]; the test file has necessary_evidence and no answer.
A part's `document` stays "": its page is among the question's `supporting`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sleuth.bench.questions import Part, Question
from sleuth.bench.tasks.files import Source
from sleuth.bench.tasks.kinds import Card, Entry, Loader, Maker, Row, has, maybe, once, rows, text
from sleuth.bench.tasks.uniform import flat, structured

CARD = Card(
    name="fanoutqa",
    title="FanOutQA",
    addresses=("https://raw.githubusercontent.com/zhudotexe/fanoutqa/main/fanoutqa/data/fanout-final-dev.json",),
    files=("fanout-final-dev.json", "fanout-*.json"),
    licence="CC BY-SA 4.0",
    source="Zhu et al. 2024, FanOutQA, section 2 (data) and 3 (loose accuracy)",
    metrics=("contains", "contains_all", "recall_hops"),
)


def is_row(row: Row) -> bool:
    """A question with categories and a decomposition (or, without answers, its necessary evidence)."""
    return has(row, "id", "question", "categories") and ("decomposition" in row or "necessary_evidence" in row)


def _entry(row: Row) -> Entry:
    steps = list(_walk(row))
    pages = [one.get("evidence") or {} for one in steps] + list(rows(row, "necessary_evidence"))
    answer = row.get("answer")
    given = flat(answer)
    question = Question(
        id=text(row, "id"),
        text=text(row, "question"),
        answers=(given,) if given else (),
        supporting=once([maybe(page, "title") for page in pages]),
        parts=tuple(Part(text(one, "question"), flat(one.get("answer"))) for one in steps),
        type="" if answer is None else type(answer).__name__,
        structured=structured(answer),
    )
    return Entry(question)


def _walk(row: Row) -> Iterator[Row]:
    """The steps of a decomposition, those of a step before the step itself: it needs them."""
    for one in rows(row, "decomposition"):
        yield from _walk(one)
        yield one


def _opened(source: Source) -> Maker:
    return _entry


LOADER = Loader(CARD, is_row, _opened)
