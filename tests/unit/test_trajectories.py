"""One set of worked trajectories: every ablation's examples are it with parts deleted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.strategies import act, cot, react, standard
from sleuth.strategies.trajectories import CLAIMS, KEPT, QUESTION_ANSWERING, VERDICTS, kind_of, pairs, rendered, verdict

ALL = (*QUESTION_ANSWERING, *CLAIMS)
DENSE = rendered(ALL)


def without(text: str, label: str) -> str:
    """The text less the lines with that label, or less what stands in it."""
    return "\n".join(line for line in text.split("\n") if not re.match(rf"{label}( \d+)?:", line))


def test_there_are_six_for_questions_and_one_for_each_label_of_a_claim():
    assert len(QUESTION_ANSWERING) == 6
    assert tuple(one.answer for one in CLAIMS) == VERDICTS
    assert {one.label for one in QUESTION_ANSWERING} == {"Question"}
    assert {one.label for one in CLAIMS} == {"Claim"}


def test_every_kind_of_thought_occurs_and_every_thought_has_one():
    kinds = {turn.kind for one in QUESTION_ANSWERING for turn in one.turns}
    assert kinds == {"decompose", "commonsense", "extract", "track", "exception"}
    assert all(turn.kind for one in ALL for turn in one.turns)


def test_each_ends_in_a_finish_and_observes_after_every_other_action():
    for one in ALL:
        assert one.turns[-1].action == f"Finish[{one.answer}]"
        assert not one.turns[-1].observation
        assert all(turn.observation and not turn.action.startswith("Finish") for turn in one.turns[:-1])
        assert len(one.turns) <= 7


def test_what_a_trajectory_observes_holds_its_answer_and_yes_and_no_are_reasoned():
    for one in QUESTION_ANSWERING:
        seen = " ".join(turn.observation for turn in one.turns)
        assert one.answer in ("yes", "no") or one.answer.split()[-1] in seen


def test_acts_examples_are_reacts_less_the_thoughts():
    assert rendered(ALL, thoughts="none") == without(DENSE, "Thought")


def test_sparse_examples_less_think_are_acts_but_for_the_numbers():
    sparse = rendered(ALL, thoughts="sparse")
    unnumbered = [re.sub(r"^(\w+) \d+:", r"\1:", line) for line in sparse.split("\n") if "Think[" not in line]
    assert unnumbered == [re.sub(r"^(\w+) \d+:", r"\1:", line) for line in rendered(ALL, thoughts="none").split("\n")]


def test_sparse_thoughts_are_actions_that_nothing_answers_and_fewer_than_the_dense():
    lines = rendered(ALL, thoughts="sparse").split("\n")
    thinks = [at for at, line in enumerate(lines) if "Think[" in line]
    assert all(lines[at + 1].startswith("Action") for at in thinks)
    assert 0 < len(thinks) < DENSE.count("\nThought")
    assert len(thinks) == sum(turn.kind in KEPT for one in ALL for turn in one.turns)
    for one in rendered(ALL, thoughts="sparse").split("\n\n"):
        numbers = [int(n) for n in re.findall(r"^Action (\d+):", one, re.MULTILINE)]
        assert numbers == list(range(1, len(numbers) + 1))


def test_every_sentence_of_a_chain_of_thought_is_one_of_reacts_thoughts_and_none_speaks_of_acting():
    chains = rendered(ALL, actions=False)
    for line, one in zip(re.findall(r"^Thought: (.*)$", chains, re.MULTILINE), ALL, strict=True):
        dense = " ".join(turn.thought for turn in one.turns)
        assert all(sentence in dense for sentence in re.split(r"(?<=\.) ", line))
    assert not re.search(r"I need to|look up|may be called|does not|Search|Observation|Action", chains)
    assert without(chains, "Thought") == rendered(ALL, thoughts="none", actions=False)


def test_standards_examples_are_questions_and_answers_alone():
    text = rendered(ALL, thoughts="none", actions=False)
    assert text == "\n\n".join(f"{one.label}: {one.question}\nAnswer: {one.answer}" for one in ALL)
    assert pairs(ALL) == tuple((one.question, one.answer) for one in ALL)


@pytest.mark.parametrize("task", ["question", "claim"])
def test_the_strategies_show_what_is_derived_and_nothing_else(task):
    worked = QUESTION_ANSWERING if task == "question" else CLAIMS
    assert rendered(worked) in react.head("?", task=task)
    assert rendered(worked, thoughts="sparse") in react.head("?", task=task, thoughts="sparse")
    assert rendered(worked, thoughts="none") in react.head("?", task=task, thoughts="none")
    assert rendered(worked, actions=False) in cot.head("?", task)
    assert rendered(worked, thoughts="none", actions=False) in standard.head("?", task)
    for module in (react, act, cot, standard):
        source = Path(module.__file__).read_text(encoding="utf-8")
        assert not any(one.question in source for one in ALL)


def test_fewer_examples_can_be_shown():
    assert react.head("?", shots=2).count("Question:") == 3
    assert cot.head("?", shots=1).count("Question:") == 2


def test_a_kind_told_by_rule_is_never_another_than_the_tagged_one():
    told = {(kind_of(turn.thought, first=at == 0), turn.kind) for one in ALL for at, turn in enumerate(one.turns)}
    assert {pair for pair in told if pair[0] not in ("", pair[1])} == set()
    assert {kind for kind, _ in told} >= {"decompose", "exception", "track"}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("SUPPORTS", "SUPPORTS"),
        ("the claim is refuted.", "REFUTES"),
        ("Not Enough Information", "NOT ENOUGH INFO"),
        ("NOT_ENOUGH_INFO", "NOT ENOUGH INFO"),
        ("supports or refutes", ""),
        ("not supported", ""),
        ("yes", ""),
        ("", ""),
    ],
)
def test_a_verdict_is_one_of_three_labels_or_none(text, label):
    assert verdict(text) == label


@given(st.text(), st.booleans())
def test_the_readers_of_text_take_any(text, first):
    assert verdict(text) in (*VERDICTS, "")
    assert kind_of(text, first=first) in ("decompose", "track", "exception", "")
