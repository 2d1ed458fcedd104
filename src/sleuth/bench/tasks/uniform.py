"""One form for every set: a folder with questions.jsonl and, where there are passages, corpus.jsonl.gz.

questions.jsonl    id, question, answers; where known supporting (titles), supporting_ids (ids in the corpus),
                   supporting_facts ([title, sentence]), evidence_sets (lists of such), decomposition, type, level,
                   split, dataset, kind ("claim")
corpus.jsonl(.gz)  id, title, text (or sentences)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sleuth.bench.questions import Kind, Part, Question
from sleuth.bench.tasks.files import Source, repaired
from sleuth.bench.tasks.kinds import Card, Entry, Loader, Maker, Row, has, maybe, once, rows, sentences, text, texts

CLAIMS = ("fever", "hover", "fool-me-twice")
"""Data sets whose rows are claims, by their "dataset"."""
CARD = Card(
    name="uniform",
    title="Questions in Sleuth's own form",
    addresses=(),
    files=("questions.jsonl",),
    licence="",
    source="Sleuth, docs/bench.md",
    metrics=("em", "f1", "recall_hops", "all_found"),
)

FOOL_ME_TWICE = Card(
    name="foolmetwice",
    title="FoolMeTwice (in Sleuth's own form)",
    addresses=("https://github.com/google-research/fool-me-twice",),
    files=(),
    licence="Apache-2.0",
    source="Eisenschlos et al. 2021, Fool Me Twice, section 3 (data) and 5 (accuracy)",
    metrics=("label", "recall_hops", "all_found"),
    labels=("SUPPORTS", "REFUTES"),
    aliases=("fool-me-twice",),
)


def entry(row: Row) -> Entry:
    """A row as a question. Raises ValueError, KeyError, TypeError for what is none."""
    question = Question(
        id=text(row, "id"),
        text=text(row, "question"),
        answers=_answers(row),
        kind=_kind(row),
        supporting=once(texts(row, "supporting")),
        documents=once(texts(row, "supporting_ids")),
        facts=sentences(rows(row, "supporting_facts"), "supporting_facts"),
        evidence=tuple(sentences(one, "evidence_sets") for one in rows(row, "evidence_sets")),
        parts=tuple(_part(one) for one in rows(row, "decomposition")),
        type=maybe(row, "type"),
        level=_level(row),
        structured=structured(row.get("answer_structured")),
    )
    return Entry(question, split=maybe(row, "split"))


def structured(value: Any) -> Mapping[str, str]:
    """An answer of several fields as texts by name; of a list, each item by itself. One value has no fields."""
    if isinstance(value, Mapping):
        return {repaired(str(name)): flat(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return {flat(one): flat(one) for one in value}
    return {}


def flat(value: Any) -> str:
    """Any JSON value as an answer's text: lists with commas, fields as "name: value" with semicolons."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{repaired(str(name))}: {flat(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(flat, value))
    return "" if value is None else repaired(str(value))


def _answers(row: Row) -> tuple[str, ...]:
    if isinstance(row.get("answers"), str):
        return (text(row, "answers"),) if maybe(row, "answers") else ()
    found = texts(row, "answers")
    return found or ((text(row, "answer"),) if row.get("answer") not in (None, "") else ())


def _kind(row: Row) -> Kind:
    given = row.get("kind")
    if given not in (None, "", "question", "claim"):
        raise ValueError('"kind" is neither "question" nor "claim"')
    claim = given == "claim" or (not given and (row.get("dataset") in CLAIMS or row.get("type") == "claim"))
    return "claim" if claim else "question"


def _level(row: Row) -> str:
    if row.get("answerable") is False:
        return "unanswerable"
    return maybe(row, "level")


def _part(one: Any) -> Part:
    if not isinstance(one, Mapping):
        raise ValueError('"decomposition" is not a list of objects with "question"')
    return Part(text(one, "question"), flat(one.get("answer")), maybe(one, "supporting_id"))


def _opened(source: Source) -> Maker:
    return entry


LOADER = Loader(CARD, lambda row: has(row, "id", "question", "answers", "dataset"), _opened)
