"""HotpotQA, distractor and fullwiki: a JSON list.

Fields: _id, question, answer, type (bridge, comparison), level, supporting_facts [[title, sentence]], context
[[title, [sentences]]]. The test files have no answer. Answers keep the stray quotes and brackets they were published
with: to normalise is the metric's matter.
"""

from __future__ import annotations

from sleuth.bench.questions import Question
from sleuth.bench.tasks.files import Source
from sleuth.bench.tasks.kinds import (
    Card,
    Entry,
    Loader,
    Maker,
    Row,
    has,
    joined,
    maybe,
    once,
    paragraph,
    rows,
    sentences,
    text,
)

CARD = Card(
    name="hotpotqa",
    title="HotpotQA",
    addresses=(
        "http://curtis.ml.cmu.edu/datasets/hotpot/hotpot_dev_distractor_v1.json",
        "http://curtis.ml.cmu.edu/datasets/hotpot/hotpot_dev_fullwiki_v1.json",
    ),
    files=("hotpot_dev_distractor*.json", "hotpot_dev_fullwiki*.json", "hotpot_*.json"),
    licence="CC BY-SA 4.0",
    source="Yang et al. 2018, HotpotQA, section 2 (data) and 5.2 (metrics); hotpot_evaluate_v1.py",
    metrics=("em", "f1", "sf_em", "sf_f1", "joint_em", "joint_f1", "recall_hops", "all_found"),
    aliases=("hotpot",),
)


def is_row(row: Row) -> bool:
    """Its context is there, and 2WikiMultihopQA's triples are not."""
    return has(row, "_id", "question", "context") and "evidences" not in row


def contextual(row: Row, prefix: str, *more: str) -> Entry:
    """A row of HotpotQA's form; `more` are other right answers.

    Documents are known where every supporting page stands in the context (in fullwiki they need not).
    """
    passages = []
    for one in rows(row, "context"):
        if not isinstance(one, list | tuple) or len(one) != 2:
            raise ValueError('"context" is not a list of [title, sentences]')
        passages.append(paragraph(prefix, str(one[0]), joined(one[1])))
    facts = sentences(rows(row, "supporting_facts"), "supporting_facts")
    supporting = once([title for title, _ in facts])
    ids = {passage.title: passage.id for passage in passages if passage.text}
    whole = all(title.strip() in ids for title in supporting)
    answer = maybe(row, "answer")
    question = Question(
        id=text(row, "_id"),
        text=text(row, "question"),
        answers=once([answer, *more]) if answer else (),
        supporting=supporting,
        documents=tuple(ids[title.strip()] for title in supporting) if whole else (),
        facts=facts,
        type=maybe(row, "type"),
        level=maybe(row, "level"),
    )
    return Entry(question, tuple(passages))


def _opened(source: Source) -> Maker:
    return lambda row: contextual(row, "hp")


LOADER = Loader(CARD, is_row, _opened)
