"""HoVer: a JSON list of claims, over HotpotQA's Wikipedia introductions.

Fields: uid, claim, label (SUPPORTED, NOT_SUPPORTED), supporting_facts [[title, sentence]], num_hops, hpqa_id. The test
file has neither label nor facts.
"""

from __future__ import annotations

from sleuth.bench.questions import Question
from sleuth.bench.tasks.files import Source
from sleuth.bench.tasks.kinds import Card, Entry, Loader, Maker, Row, has, maybe, once, rows, sentences, text

CARD = Card(
    name="hover",
    title="HoVer",
    addresses=("https://raw.githubusercontent.com/hover-nlp/hover/main/data/hover/hover_dev_release_v1.1.json",),
    files=("hover_dev_release*.json", "hover_*.json"),
    licence="MIT",
    source="Jiang et al. 2020, HoVer, section 3 (data) and 5 (accuracy, HoVer score)",
    metrics=("label", "recall_hops", "all_found"),
    labels=("SUPPORTED", "NOT_SUPPORTED"),
)


def is_row(row: Row) -> bool:
    """A claim with a "uid"."""
    return has(row, "uid", "claim")


def _entry(row: Row) -> Entry:
    label = maybe(row, "label")
    if label and label not in CARD.labels:
        raise ValueError(f'"label" is "{label[:40]}", not one of {", ".join(CARD.labels)}')
    facts = sentences(rows(row, "supporting_facts"), "supporting_facts")
    hops = maybe(row, "num_hops")
    question = Question(
        id=text(row, "uid"),
        text=text(row, "claim"),
        answers=(label,) if label else (),
        kind="claim",
        supporting=once([title for title, _ in facts]),
        facts=facts,
        type=f"{hops}hop" if hops else "",
    )
    return Entry(question)


def _opened(source: Source) -> Maker:
    return _entry


LOADER = Loader(CARD, is_row, _opened)
