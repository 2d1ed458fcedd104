"""Questions with gold, and the tasks they make up: what every loader gives and every metric reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["question", "claim"]
Sentence: TypeAlias = tuple[str, int]
"""A page's title and a sentence's number in it, from 0."""


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a question's gold decomposition; what is not known is "".

    ``#1`` in `question` stands for the answer of the first step. `document` is the id of its supporting document.
    """

    question: str
    answer: str = ""
    document: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question (or claim) with its gold.

    `answers` are alternatives, the first is canonical. `supporting` are page titles, `documents` their ids in the
    task's corpus (used instead of the titles where known: titles may repeat). `facts` are supporting sentences;
    `evidence` alternative sets of them, each enough by itself (FEVER). `structured` is a gold answer of several
    fields (FanOutQA).
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    kind: Kind = "question"
    supporting: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    facts: tuple[Sentence, ...] = ()
    evidence: tuple[tuple[Sentence, ...], ...] = ()
    parts: tuple[Part, ...] = ()
    type: str = ""
    level: str = ""
    structured: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """Questions that are asked of one source and scored alike.

    `corpus` is a file or folder that `sleuth index` reads, None where any named source will do. `metrics` are names
    (`sleuth.bench.metrics`), the one that decides first. `labels` are the answers of a closed task (FEVER's three), else ().
    `origin` is where the questions came from, for people; `licence` that of the data.
    """

    name: str
    questions: tuple[Question, ...]
    metrics: tuple[str, ...]
    corpus: Path | None = None
    labels: tuple[str, ...] = ()
    origin: str = ""
    licence: str = ""

    @property
    def kind(self) -> Kind:
        """Claims or questions; a task holds one of the two."""
        return self.questions[0].kind if self.questions else "question"


def as_row(question: Question) -> dict[str, Any]:
    """The question as a JSON object; what is empty is left out."""
    row: dict[str, Any] = {"id": question.id, "question": question.text, "answers": list(question.answers)}
    if question.kind != "question":
        row["kind"] = question.kind
    for name in ("supporting", "documents", "facts", "evidence", "type", "level", "structured"):
        if value := getattr(question, name):
            row[name] = dict(value) if name == "structured" else value
    if question.parts:
        row["parts"] = [{"question": p.question, "answer": p.answer, "document": p.document} for p in question.parts]
    return row


def from_row(row: Mapping[str, Any]) -> Question:
    """The question of a row that `as_row` made. Raises KeyError, TypeError or ValueError for anything else."""
    return Question(
        id=str(row["id"]),
        text=str(row["question"]),
        answers=tuple(map(str, row.get("answers", ()))),
        kind=row.get("kind", "question"),
        supporting=tuple(map(str, row.get("supporting", ()))),
        documents=tuple(map(str, row.get("documents", ()))),
        facts=_sentences(row.get("facts", ())),
        evidence=tuple(_sentences(each) for each in row.get("evidence", ())),
        parts=tuple(Part(p["question"], p.get("answer", ""), p.get("document", "")) for p in row.get("parts", ())),
        type=str(row.get("type", "")),
        level=str(row.get("level", "")),
        structured=dict(row.get("structured", {})),
    )


def write_rows(questions: Iterable[Question], file: Path) -> None:
    """One JSON line a question."""
    lines = (json.dumps(as_row(question), ensure_ascii=False) + "\n" for question in questions)
    file.write_text("".join(lines), encoding="utf-8")


def _sentences(rows: Iterable[Any]) -> tuple[Sentence, ...]:
    return tuple((str(title), int(number)) for title, number in rows)
