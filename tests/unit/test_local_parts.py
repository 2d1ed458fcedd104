"""The parts of the embedded model's adapter that need no model: slots, log-probabilities, grammars, errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from sleuth.errors import BadInput, ModelError
from sleuth.models import child, machine
from sleuth.models.local import LocalModel
from sleuth.models.shapes import constraint
from sleuth.models.slots import Slots, common_prefix
from sleuth.models.tally import Tally
from sleuth.types import Choice, Generate, Grammar, Json, Message, Verbatim

PLAN_HEAD, READ_HEAD = tuple(range(500)), tuple(range(1000, 1030))


def put(slots: Slots, prompt: tuple[int, ...], role: str) -> int:
    with slots.take(prompt, role) as slot:
        slot.tokens = prompt
        return slot.number


def test_plan_and_read_prompts_keep_a_slot_each() -> None:
    slots = Slots(2)
    plan = put(slots, (*PLAN_HEAD, *range(2000, 2600)), "plan")
    read = put(slots, (*READ_HEAD, *range(3000, 3400)), "read")
    assert plan != read
    for question in range(5):
        assert put(slots, (*PLAN_HEAD, *range(4000 + question, 4900)), "plan") == plan
        assert put(slots, (*READ_HEAD, *range(6000 + question, 6400)), "read") == read


def test_two_growing_transcripts_at_once_each_keep_their_slot() -> None:
    slots = Slots(2)
    one, two = (*PLAN_HEAD, 1, 1), (*PLAN_HEAD, 2, 2)
    with slots.take(one, "plan") as first, slots.take(two, "plan") as second:
        assert first.number != second.number
        first.tokens, second.tokens = one, two
        numbers = first.number, second.number
    for _ in range(3):
        one, two = (*one, 11), (*two, 22)
        assert put(slots, two, "plan") == numbers[1]
        assert put(slots, one, "plan") == numbers[0]


def test_a_busy_slot_is_not_taken_while_another_is_free() -> None:
    slots = Slots(2)
    put(slots, PLAN_HEAD, "plan")
    with slots.take(PLAN_HEAD, "plan") as first, slots.take(PLAN_HEAD, "plan") as second:
        assert {first.number, second.number} == {0, 1}


def test_a_cancelled_call_leaves_what_was_shared_before_it() -> None:
    slots = Slots(2)
    plan = put(slots, PLAN_HEAD, "plan")
    with pytest.raises(ValueError, match="given up"), slots.take((*PLAN_HEAD, *range(9000, 9900)), "plan"):
        raise ValueError("given up")
    assert put(slots, (*PLAN_HEAD, 1), "plan") == plan


def test_common_prefix() -> None:
    assert common_prefix((1, 2, 3), (1, 2, 4, 5)) == 2
    assert common_prefix((), (1,)) == 0


def record(token: int, text: str, own: str, logprob: float, top: int | None = None) -> dict[str, Any]:
    """One record as the server streams it: `text` is what it lets out, `own` the likeliest token's text."""
    likeliest = {"id": token if top is None else top, "bytes": list(own.encode()), "logprob": logprob}
    return {
        "content": text,
        "tokens": [token],
        "stop": False,
        "completion_probabilities": [
            {"id": token, "bytes": list(text.encode()), "logprob": logprob, "top_logprobs": [likeliest]}
        ],
    }


END = {"content": "", "tokens": [], "stop": True}


def total(*records: dict[str, Any]) -> tuple[str, float | None]:
    tally = Tally(True)
    for event in (*records, END):
        tally.add(event)
    assert tally.unmeasured() == []
    return tally.text, tally.logprob()


def test_the_tokens_of_the_stop_text_are_not_counted() -> None:
    assert total(record(1, " Ham", " Ham", -1.0), record(2, "let", "let", -2.0), record(3, "", "\n", -4.0)) == (
        " Hamlet",
        -3.0,
    )


def test_a_token_that_reaches_into_the_stop_text_is_counted() -> None:
    assert total(record(1, " Yes", " Yes", -1.0), record(2, ".", ".\n", -2.0), record(3, "", "\n", -4.0)) == (
        " Yes.",
        -3.0,
    )


def test_tokens_held_back_before_a_stop_text_are_counted_by_their_own_length() -> None:
    held = (record(2, "", "é\n", -2.0), record(3, "", "Fol", -4.0), record(4, "é", "low", -8.0))
    assert total(record(1, " Caf", " Caf", -1.0), *held) == (" Café", -3.0)


def test_a_held_back_token_that_was_not_the_likeliest_has_to_be_measured() -> None:
    tally = Tally(True)
    for event in (record(1, "", "x", -1.0, top=9), record(2, "ab", "b", -2.0), END):
        tally.add(event)
    assert tally.unmeasured() == [1]
    tally.measure(1, 1)
    assert tally.logprob() == -3.0


def test_no_logprob_unless_asked_for() -> None:
    tally = Tally(False)
    tally.add({"content": "a", "tokens": [1], "stop": True})
    assert tally.logprob() is None
    assert tally.tokens == [1]


def test_shapes_become_what_the_server_takes() -> None:
    assert constraint(None) == {}
    assert constraint(Choice(("Yes", 'say "no"\n'))) == {"grammar": 'root ::= "Yes" | "say \\"no\\"\\n"'}
    assert constraint(Grammar("root ::= [0-9]+")) == {"grammar": "root ::= [0-9]+"}
    assert constraint(Json('{"type": "object"}'))["json_schema"]["type"] == "object"
    grammar = constraint(Verbatim(' in "Café" \n'), ("\n",))["grammar"]
    assert json.dumps({"substring_words": 'in "Café"'}, ensure_ascii=False) in grammar
    assert 'ends: "\\n"' in grammar


@pytest.mark.parametrize("shape", [Choice(()), Choice(("",)), Json("{"), Json("[]"), Verbatim(" ")])
def test_a_shape_that_holds_nothing_is_refused(shape: Choice | Json | Verbatim) -> None:
    with pytest.raises(BadInput):
        constraint(shape)


def call(path: Path) -> None:
    model = LocalModel(path)
    anyio.run(partial(model.generate, Generate((Message("user", "x"),)), report=lambda kind, text, **data: None))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"There is no model file .*absent\.gguf.*sleuth models"):
        call(tmp_path / "absent.gguf")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(BadInput, match="is not a GGUF model file"):
        call(tmp_path / "page.gguf")


def test_too_little_memory_is_said_before_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF" + bytes(10_000_000))
    monkeypatch.setattr(child, "free_memory", lambda: 5_000_000)
    with pytest.raises(ModelError, match="Not enough memory for a"):
        call(tmp_path / "a.gguf")


def test_without_xllamacpp_the_command_to_install_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    find: Callable[..., Any] = child.importlib.util.find_spec
    monkeypatch.setattr(
        child.importlib.util,
        "find_spec",
        lambda name, package=None: None if name == "xllamacpp" else find(name, package),
    )
    with pytest.raises(BadInput, match=r"pip install 'sleuth-qa\[local\]'"):
        call(tmp_path / "a.gguf")


def test_the_machine_has_a_core_and_memory() -> None:
    assert machine.usable_cores() >= 1
    free = machine.free_memory()
    assert free is None or free > 0
