"""Every real set in ../shared/data is read whole: as many questions and passages as its README says, every gold one there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sleuth.bench import tasks

DATA = Path(os.environ.get("SLEUTH_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
SETS = {
    "hotpotqa": (566, 5863, 566),
    "musique": (100, 1890, 100),
    "2wikimultihopqa": (72, 7005, 72),
    "strategyqa": (111, 998, 111),
    "multihoprag": (245, 326, 206),
    "fever": (206, 11780, 90),
    "hover": (64, 11780, 64),
    "foolmetwice": (335, 209, 335),
    "fanoutqa": (164, 0, 0),
    "parallelqa": (113, 0, 0),
    "frames": (258, 0, 0),
}
"""Name -> questions, passages, questions whose gold passages are known."""


@pytest.mark.skipif(not DATA.is_dir(), reason="the evaluation sets are not here (SLEUTH_DATA)")
@pytest.mark.parametrize("name", SETS)
def test_a_real_set_is_read_whole(name: str, tmp_path: Path) -> None:
    task = tasks.load(DATA / name, cache=tmp_path)
    asked, passages, documented = SETS[name]
    ids = set()
    if task.corpus is not None:
        ids = {json.loads(line)["id"] for line in task.corpus.read_text(encoding="utf-8").splitlines()}
    assert task.name == name
    assert task.licence
    assert (len(task.questions), len(ids)) == (asked, passages)
    assert sum(bool(question.documents) for question in task.questions) == documented
    assert {name for question in task.questions for name in question.documents} <= ids
    assert all(question.answers for question in task.questions)
    if task.labels:
        assert {question.answers[0] for question in task.questions} <= set(task.labels)


@pytest.mark.skipif(not DATA.is_dir(), reason="the evaluation sets are not here (SLEUTH_DATA)")
def test_a_split_of_a_real_set_is_chosen(tmp_path: Path) -> None:
    assert len(tasks.load(DATA / "hotpotqa", split="dev").questions) == 266
    assert len(tasks.load(f"fever:{DATA / 'fever'}", sample=30, stratify=True).questions) == 30
