"""Bamboogle: a table of two columns, Question and Answer (125 questions, no passages)."""

from __future__ import annotations

from sleuth.bench.questions import Question
from sleuth.bench.tasks.files import Source
from sleuth.bench.tasks.kinds import Card, Entry, Loader, Maker, Row, digest, text

CARD = Card(
    name="bamboogle",
    title="Bamboogle",
    addresses=("https://docs.google.com/spreadsheets/d/1jwcsA5kE4TObr9YHn9Gc-wQHYjTbLhDGx6tmIzMhl_U",),
    files=("*amboogle*.csv", "*amboogle*.tsv"),
    licence="MIT",
    source="Press et al. 2023, Measuring and Narrowing the Compositionality Gap, section 2.2",
    metrics=("em", "f1"),
)


def is_row(row: Row) -> bool:
    """Just these two columns, written so."""
    return {name for name in row if name} == {"Question", "Answer"}


def _opened(source: Source) -> Maker:
    def entry(row: Row) -> Entry:
        asked = text(row, "Question")
        return Entry(Question(f"bamboogle-{digest(asked)}", asked, (text(row, "Answer"),)))

    return entry


LOADER = Loader(CARD, is_row, _opened)
