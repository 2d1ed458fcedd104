"""The protocols of papers: which methods, with which numbers, and that a back-off asks what its halves ask alone."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from sleuth import Script, Shelf
from sleuth.app import strategies
from sleuth.app.comparing import entry
from sleuth.bench import presets
from sleuth.bench.baselines import majority
from sleuth.bench.questions import Question, Task
from sleuth.codec import digest
from sleuth.engine import Engine
from sleuth.errors import BadInput, UnknownName
from sleuth.types import Generate

LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
TASKS = (
    Task("hotpotqa", (Question("1", "When was the tower completed?", ("1889",)),), ("em", "f1")),
    Task(
        "fever", (Question("c", "The tower was completed in 1889.", ("SUPPORTS",), "claim"),), ("label",), labels=LABELS
    ),
)


def test_react_paper_has_the_seven_methods_of_table_1_with_7_and_5_steps_and_21_samples_at_0_7() -> None:
    found = presets.methods(presets.find("react-paper"), TASKS)
    assert [method.name for method in found] == [
        *("Standard", "CoT", "CoT-SC", "Act", "ReAct", "CoT-SC -> ReAct", "ReAct -> CoT-SC")
    ]
    for method in found:
        for task in TASKS:
            told = entry(method.entries[task.name])
            params = strategies.parameters(told.strategy, told.setting, told.params)
            assert told.setting == "paper"
            assert params.get("steps", 7) == {"hotpotqa": 7, "fever": 5}[task.name] or "steps" not in params
            assert params.get("n", 21) == 21
            assert params.get("temperature", 0.7) == 0.7
            assert params.get("task", "question") == task.kind


def test_a_number_of_the_preset_can_be_set_and_a_wrong_one_is_named() -> None:
    preset = presets.find("react-paper")
    found = {method.name: method.entries["hotpotqa"] for method in presets.methods(preset, TASKS, {"samples": "5"})}
    assert "n=5" in found["CoT-SC"]
    assert "n=5" in found["ReAct -> CoT-SC"]
    for given in ({"samples": "0"}, {"samples": "2.5"}, {"samples": "many"}, {"votes": "5"}):
        with pytest.raises(BadInput):
            presets.methods(preset, TASKS, given)
    with pytest.raises(UnknownName):
        presets.find("react")


def asked(text: str, question: Question, reply: str) -> set[str]:
    """The calls of a strategy, as the cache tells them apart."""
    told = entry(text)
    params = strategies.parameters(told.strategy, told.setting, told.params)
    model = Script(lambda request: reply)
    library = Shelf({"Tower": "The tower was completed in 1889.", "Bridge": "The bridge was completed in 1870."})

    async def run() -> None:
        await Engine(model, library).run(told.strategy.flow(question.text, **params), question=question.text)

    anyio.run(run)
    return {digest(request) for request in model.requests if isinstance(request, Generate)}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: str(task.name))
@pytest.mark.parametrize("method", ["CoT-SC -> ReAct", "ReAct -> CoT-SC"])
def test_a_back_off_of_the_preset_asks_nothing_that_its_halves_do_not_ask_alone(task: Task, method: str) -> None:
    entries = {
        m.name: m.entries[task.name] for m in presets.methods(presets.find("react-paper"), TASKS, {"samples": "3"})
    }
    [question] = task.questions
    reply = " I should look.\nAction 1: Search[Nothing]"
    halves = asked(entries["CoT-SC"], question, reply) | asked(entries["ReAct"], question, reply)
    both = asked(entries[method], question, reply)
    assert len(both) > 3
    assert both <= halves


def test_what_the_paper_published_is_marked_with_its_task_and_model() -> None:
    preset = presets.find("react-paper")
    theirs = {(each.method, each.task): each.value for each in preset.published}
    assert theirs["ReAct -> CoT-SC", "hotpotqa"] == 35.1
    assert theirs["CoT-SC -> ReAct", "fever"] == 64.6
    assert preset.model == "PaLM-540B"


def test_the_majority_label_is_the_most_frequent_one_and_questions_have_none() -> None:
    claims = [Question(str(n), "?", (label,), "claim") for n, label in enumerate(["REFUTES"] * 3 + ["SUPPORTS"] * 2)]
    found = majority(claims, LABELS)
    assert found is not None
    assert (found.label, found.right, found.n, found.share) == ("REFUTES", 3, 5, 0.6)
    assert found.low < 0.6 < found.high
    assert majority(claims, ()) is None


@pytest.mark.parametrize(("name", "count"), [("hotpotqa", 30), ("fever", 30)])
def test_the_ids_of_bench_small_are_in_the_data_and_the_claims_have_each_label_alike(name: str, count: int) -> None:
    root = Path(__file__).resolve().parents[2]
    file = root.parent / "shared" / "data" / name / "questions.jsonl"
    ids = (root / "benchmarks" / "ids" / f"{name}-small-30.txt").read_text().split()
    assert len(set(ids)) == count
    if not file.is_file():
        pytest.skip("the evaluation data is not there")
    rows = {row["id"]: row for row in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
    labels = [rows[each]["answers"][0] for each in ids]
    assert name != "fever" or {label: labels.count(label) for label in LABELS} == dict.fromkeys(LABELS, 10)
