"""ParallelQA: parallelqa_dataset.json (a JSON list, or one object a line; no passages).

Fields: id, question, answer (text or number), branch (how many look-ups go side by side). The official script compares
numbers within 10%, other answers after HotpotQA's normalisation.
"""

from __future__ import annotations

from sleuth.bench.questions import Question
from sleuth.bench.tasks.files import Source
from sleuth.bench.tasks.kinds import Card, Entry, Loader, Maker, Row, has, maybe, text
from sleuth.bench.tasks.uniform import flat

CARD = Card(
    name="parallelqa",
    title="ParallelQA",
    addresses=("https://raw.githubusercontent.com/SqueezeAILab/LLMCompiler/main/datasets/parallelqa_dataset.json",),
    files=("parallelqa*.json", "parallelqa*.jsonl"),
    licence="MIT",
    source="Kim et al. 2024, An LLM Compiler for Parallel Function Calling, section 5.2; evaluation_utils.py",
    metrics=("number", "em", "f1"),
)


def is_row(row: Row) -> bool:
    """A question with its number of branches, of no other set."""
    return has(row, "id", "question", "answer", "branch")


def _entry(row: Row) -> Entry:
    branch, answer = maybe(row, "branch"), flat(row.get("answer"))
    asked, name = text(row, "question"), text(row, "id")
    kind = f"branch{branch}" if branch.isdecimal() else branch
    return Entry(Question(name, asked, (answer,) if answer else (), type=kind))


def _opened(source: Source) -> Maker:
    return _entry


LOADER = Loader(CARD, is_row, _opened)
