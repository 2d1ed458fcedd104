"""Trajectories that others kept as text are read as runs, and the rules say something of each."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sleuth.bench.errors import classify
from sleuth.bench.errors.trajectories import Kept, read
from sleuth.errors import BadInput

DATA = Path(os.environ.get("SLEUTH_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data") / "trajectories"


def step(n: int, action: str, observation: str) -> dict[str, Any]:
    return {"n": n, "thought": "I see.", "action": action, "observation": observation}


def kept(tmp_path: Path, *steps: dict[str, Any], **more: Any) -> Kept:
    row = {"id": "a", "question": "Who built it?", "gold": "Tam Hobb", "prediction": "Tam Hobb", "em": True}
    file = tmp_path / "some.jsonl.gz"
    file.write_bytes(gzip.compress((json.dumps({**row, "steps": steps, **more}) + "\n\n").encode()))
    [one] = read(file)
    return one


def test_searches_and_look_ups_are_read_with_what_came_back(tmp_path: Path):
    found = kept(
        tmp_path,
        step(1, "Search[Varrow Mill]", "Varrow Mill was built by Tam Hobb."),
        step(2, "lookup[Odd]", "No more results."),
        step(3, "Search[Odd]", "Could not find [Odd]. Similar: ['Odds']"),
        step(4, "think about it", "Invalid Action."),
        step(5, "Finish[Tam Hobb]", "Episode finished"),
    )
    assert found.outcome == "correct"
    lookups = found.run.record.lookups
    assert [(look.kind, look.asked, look.is_empty) for look in lookups] == [
        ("search", "Varrow Mill", False),
        ("open", "Odd", True),
        ("search", "Odd", True),
    ]
    assert classify(found.run).kind == "true_positive"


def test_what_was_asked_is_no_evidence(tmp_path: Path):
    found = kept(tmp_path, step(1, "Search[was it Tam Hobb]", "A mill of Olm Frisk."), em=False, prediction="Olm Frisk")
    assert (found.outcome, classify(found.run).kind) == ("incorrect", "search_error")


def test_the_same_action_with_the_same_outcome_is_a_loop_and_looking_further_is_none(tmp_path: Path):
    again = [step(n, "Search[it]", "Could not find [it].") for n in (1, 2, 3)]
    found = kept(tmp_path, *again, em=False, prediction=None)
    assert (found.outcome, classify(found.run).kind) == ("halted", "loop")
    further = [step(n, "Lookup[mill]", f"(Result {n} / 3) A mill.") for n in (1, 2, 3)]
    assert classify(kept(tmp_path, *further, em=False, prediction=None).run).kind == "search_error"


@pytest.mark.parametrize("line", ["nonsense", "[]", "{}", '{"id": 1, "question": "?", "gold": "x", "steps": [3]}'])
def test_a_line_that_is_no_trajectory_is_named(tmp_path: Path, line: str):
    file = tmp_path / "some.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(BadInput, match=r"Line 1 of some\.jsonl|Line 1 of .*some\.jsonl"):
        list(read(file))


def test_a_file_that_is_not_there_or_not_packed_is_told(tmp_path: Path):
    with pytest.raises(BadInput, match="cannot be read"):
        list(read(tmp_path / "none.jsonl"))
    (tmp_path / "some.jsonl.gz").write_bytes(b"plain")
    with pytest.raises(BadInput, match="cannot be read"):
        list(read(tmp_path / "some.jsonl.gz"))


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no trajectories in {DATA}: set SLEUTH_DATA")
def test_of_real_trajectories_the_right_ones_are_positives_and_the_others_errors():
    outcomes = Counter[tuple[str, bool]]()
    for file in sorted(DATA.glob("*.jsonl.gz")):
        for each in read(file):
            outcomes[each.outcome, classify(each.run).kind.endswith("positive")] += 1
    assert outcomes == {("correct", True): 211, ("incorrect", False): 293, ("halted", False): 10}
