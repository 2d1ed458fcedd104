"""FEVER: the shared task's .jsonl; the corpus is wiki-pages (.jsonl, also in its .zip) or any other given.

Fields: id, verifiable, label (SUPPORTS, REFUTES, NOT ENOUGH INFO), claim, evidence: a list of sets, each a list of
[annotation id, evidence id, page, sentence]; each set is enough by itself; pages are written "Fox_-LRB-album-RRB-".
Claims of the blind test set have neither label nor evidence.
"""

from __future__ import annotations

from typing import Any

from sleuth.bench.questions import Question, Sentence
from sleuth.bench.tasks.corpus import wiki_title
from sleuth.bench.tasks.files import Source
from sleuth.bench.tasks.kinds import Card, Entry, Loader, Maker, Row, has, maybe, once, rows, text

CARD = Card(
    name="fever",
    title="FEVER",
    addresses=(
        "https://fever.ai/download/fever/shared_task_dev.jsonl",
        "https://fever.ai/download/fever/paper_dev.jsonl",
        "https://fever.ai/download/fever/wiki-pages.zip",
    ),
    files=("shared_task_dev.jsonl", "paper_dev.jsonl", "dev.jsonl", "paper_test.jsonl", "train.jsonl"),
    licence="CC BY-SA 3.0",
    source="Thorne et al. 2018, FEVER, section 3 (data); The FEVER Shared Task, section 2.2 (FEVER score); fever-scorer",
    metrics=("label", "fever", "recall_hops", "all_found"),
    labels=("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"),
)


def is_row(row: Row) -> bool:
    """A claim with an id, of no other set."""
    return has(row, "id", "claim") and ("evidence" in row or "verifiable" in row or set(row) == {"id", "claim"})


def _entry(row: Row) -> Entry:
    label = maybe(row, "label")
    if label and label not in CARD.labels:
        raise ValueError(f'"label" is "{label[:40]}", not one of {", ".join(CARD.labels)}')
    sets = [tuple(s for s in map(_sentence, group) if s) for group in rows(row, "evidence")]
    evidence = tuple(dict.fromkeys(one for one in sets if one))
    question = Question(
        id=text(row, "id"),
        text=text(row, "claim"),
        answers=(label,) if label else (),
        kind="claim",
        supporting=once([title for one in evidence[:1] for title, _ in one]),
        evidence=evidence,
        type="claim",
    )
    return Entry(question)


def _sentence(one: Any) -> Sentence | None:
    """[annotation, evidence, page, sentence] as a page's sentence; None where there is no page."""
    if not isinstance(one, list) or len(one) != 4:
        raise ValueError('"evidence" is not a list of lists of [annotation, evidence, page, sentence]')
    if one[2] is None or not isinstance(one[3], int):
        return None
    return wiki_title(str(one[2])), one[3]


def _opened(source: Source) -> Maker:
    return _entry


LOADER = Loader(CARD, is_row, _opened)
