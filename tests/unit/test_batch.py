"""Many questions: what is finished is not asked again, what was interrupted goes on, and one that fails stops no other."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.batches import CALLS, Pages, Teller, ask_all
from tests.support.homes import private

from sleuth.errors import ModelError, ModelTimeout
from sleuth.events import Closed, Finished
from sleuth.trace import read_trace, salvage
from sleuth.types import Completion


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """The trace of the finished question "q"."""
    ask_all(tmp_path / "whole", ["q"], Teller())
    return (tmp_path / "whole" / "q.jsonl").read_bytes()


def cut(whole: bytes, finished: int) -> bytes:
    """The trace as a kill left it, with so many finished requests."""
    lines = whole.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if b'"Finished"' in line or b'"~":"Closed"' in line.replace(b" ", b""):
            if finished == 0:
                return b"".join(lines[:number]) + line[: len(line) // 2]
            finished -= 1
    return whole


def requests(trace: Path) -> tuple[int, int]:
    """How many requests have ended there, and how many of them are model calls."""
    ended = [event.body.value for event in salvage(trace) if isinstance(event.body, Finished)]
    return len(ended), sum(isinstance(value, Completion) for value in ended)


def place(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder / name


def test_what_is_finished_is_not_asked_again(tmp_path: Path) -> None:
    first = ask_all(tmp_path / "runs", ["a", "b"], Teller())
    model = Teller()
    second = ask_all(tmp_path / "runs", ["a", "b", "c"], model)
    assert [(each.key, each.reused) for each in second] == [("a", True), ("b", True), ("c", False)]
    assert [each.answer for each in second[:2]] == [each.answer for each in first]
    assert sorted(model.made) == ["first: c", "second: c FIRST: C"]
    assert sorted(file.name for file in (tmp_path / "runs").iterdir()) == ["a.jsonl", "b.jsonl", "c.jsonl"]


@pytest.mark.parametrize("name", ["q.jsonl", "q.jsonl.half"])
@pytest.mark.parametrize("finished", range(4))
def test_an_interrupted_run_goes_on_from_itself(tmp_path: Path, whole: bytes, name: str, finished: int) -> None:
    _, calls = requests(place(tmp_path / "runs", name, cut(whole, finished)))
    model, source = Teller(), Pages()
    [outcome] = ask_all(tmp_path / "runs", ["q"], model, source)
    assert outcome.answer is not None
    assert (outcome.answer.text, outcome.reused) == ("SECOND: Q FIRST: Q", False)
    assert outcome.answer.usage.calls == CALLS
    assert model.made.total() == CALLS - calls
    assert source.searches == (finished < 2)
    assert [file.name for file in (tmp_path / "runs").iterdir()] == ["q.jsonl"]
    assert isinstance(read_trace(tmp_path / "runs" / "q.jsonl")[-1].body, Closed)


def test_a_run_cut_at_any_byte_repeats_no_finished_call(tmp_path: Path, whole: bytes) -> None:
    chance = random.Random(1)
    for number in range(60):
        folder = tmp_path / f"runs{number}"
        half = place(folder, "q.jsonl.half", whole[: chance.randrange(len(whole) + 1)])
        _, calls = requests(half)
        model = Teller()
        [outcome] = ask_all(folder, ["q"], model)
        assert outcome.answer is not None
        assert outcome.answer.text == "SECOND: Q FIRST: Q"
        assert model.made.total() == CALLS - calls


@pytest.mark.parametrize("kept", range(4))
@pytest.mark.parametrize("half", range(4))
def test_interrupted_twice_the_fuller_trace_goes_on(tmp_path: Path, whole: bytes, kept: int, half: int) -> None:
    ours = requests(place(tmp_path / "runs", "q.jsonl", cut(whole, kept)))
    theirs = requests(place(tmp_path / "runs", "q.jsonl.half", cut(whole, half)))
    model = Teller()
    [outcome] = ask_all(tmp_path / "runs", ["q"], model)
    assert model.made.total() == CALLS - max(ours, theirs)[1]
    assert outcome.answer is not None


def test_a_power_cut_that_left_rubbish_behind_the_last_line_loses_nothing_before_it(
    tmp_path: Path, whole: bytes
) -> None:
    place(tmp_path / "runs", "q.jsonl.half", cut(whole, 1).rpartition(b"\n")[0] + b"\n" + b"\0" * 4096 + b"\n{}\n")
    model = Teller()
    [outcome] = ask_all(tmp_path / "runs", ["q"], model)
    assert outcome.answer is not None
    assert model.made.total() == CALLS - 1


@pytest.mark.parametrize("rubbish", [b"", b"\0" * 100, b"no trace\n", b'{"sleuth": 99}\n'])
def test_what_is_no_trace_is_asked_anew(tmp_path: Path, rubbish: bytes) -> None:
    place(tmp_path / "runs", "q.jsonl", rubbish)
    place(tmp_path / "runs", "q.jsonl.half", rubbish)
    model = Teller()
    [outcome] = ask_all(tmp_path / "runs", ["q"], model)
    assert outcome.answer is not None
    assert model.made.total() == CALLS


def second_fails(prompt: str) -> Exception | None:
    return ModelTimeout("late") if prompt.startswith("second: b") else None


def test_one_that_failed_is_asked_again_only_when_told_and_then_from_its_last_finished_call(tmp_path: Path) -> None:
    first = ask_all(tmp_path, ["a", "b"], Teller(second_fails))
    assert [each.answer and each.answer.status for each in first] == ["answered", "failed"]
    model = Teller()
    assert all(each.reused for each in ask_all(tmp_path, ["a", "b"], model))
    assert not model.made
    again = ask_all(tmp_path, ["a", "b"], model, again="failed")
    assert [each.reused for each in again] == [True, False]
    assert [each.answer and each.answer.status for each in again] == ["answered", "answered"]
    assert list(model.made) == ["second: b FIRST: B"]


def test_one_whose_reply_could_not_be_parsed_begins_anew(tmp_path: Path) -> None:
    ask_all(tmp_path, ["a"], Teller(lambda prompt: "?" if "second" in prompt else None))
    model = Teller()
    [outcome] = ask_all(tmp_path, ["a"], model, again="failed")
    assert outcome.answer is not None
    assert (outcome.answer.status, model.made.total()) == ("answered", CALLS)


def test_all_is_asked_from_the_first_call_on(tmp_path: Path) -> None:
    ask_all(tmp_path, ["a"], Teller())
    model = Teller()
    [outcome] = ask_all(tmp_path, ["a"], model, again="all")
    assert (outcome.reused, model.made.total()) == (False, CALLS)


def test_what_a_model_raises_is_its_questions_outcome_and_the_others_go_on(tmp_path: Path) -> None:
    model = Teller(lambda prompt: ZeroDivisionError("bug") if "first: b" in prompt else None)
    told = ask_all(tmp_path, ["a", "b", "c"], model)
    assert [each.answer is not None for each in told] == [True, False, True]
    assert "bug" in str(told[1].error)
    assert {file.name for file in tmp_path.glob("*.jsonl*")} == {"a.jsonl", "b.jsonl", "c.jsonl"}
    mended = ask_all(tmp_path, ["a", "b", "c"], Teller())
    assert [each.answer and each.answer.text[:8] for each in mended] == ["SECOND: "] * 3


def test_a_trace_that_cannot_be_written_is_its_questions_outcome(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl.half").mkdir()
    told = ask_all(tmp_path, ["a", "b", "c"], Teller())
    assert [each.error is None for each in told] == [True, False, True]


@pytest.mark.parametrize("at_once", [1, 3])
def test_so_many_are_asked_at_once_and_no_more(tmp_path: Path, at_once: int) -> None:
    model = Teller(takes=0.01)
    told = ask_all(tmp_path, [f"q{n}" for n in range(9)], model, at_once=at_once)
    assert {each.key for each in told} == {f"q{n}" for n in range(9)}
    assert model.most == at_once


def test_a_failure_of_the_model_is_no_answer(tmp_path: Path) -> None:
    [outcome] = ask_all(tmp_path, ["a"], Teller(lambda _: ModelError("gone")))
    assert outcome.answer is not None
    assert (outcome.answer.text, outcome.answer.ended) == ("", "model_error")
