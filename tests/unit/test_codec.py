"""Values survive the codec; digests are the same everywhere."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_values import EVENT_KINDS, VALUE_KINDS, anything, failures, requests, values

from sleuth import errors
from sleuth.codec import digest, plain, restore, scrub
from sleuth.errors import BadInput, ModelError, ModelTimeout, SleuthError
from sleuth.events import Attempt, Event, Failed, Finished, Span, Started
from sleuth.types import Answer, Fork, Generate, Json, Message, Note, Passage, Search, Task, Usage


def through_json(value: Any) -> Any:
    return restore(json.loads(json.dumps(plain(value), ensure_ascii=False, allow_nan=False).encode("utf-8")))


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if isinstance(left, dict) and isinstance(right, dict):
        return same(list(left.items()), list(right.items()))
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


@given(anything)
def test_what_json_lacks_survives_with_its_type(value: Any) -> None:
    assert same(through_json(value), value)


@given(values)
def test_every_dataclass_survives(value: Any) -> None:
    assert through_json(value) == value


def test_every_dataclass_of_the_contract_is_generated_by_the_property_test() -> None:
    names = {kind.__name__ for kind in (*VALUE_KINDS, *EVENT_KINDS)}
    assert {"Generate", "Listen", "Next", "Answer", "Hop", "Budget", "Closed", "Opened", "Card"} <= names
    assert len(names) >= 35


@given(failures)
def test_errors_survive_with_class_message_hint_and_details(error: SleuthError) -> None:
    back = through_json(Failed(error)).error
    assert type(back) is type(error)
    assert (back.message, back.hint, back.details) == (error.message, error.hint, error.details)
    assert str(back) == str(error)


def test_an_error_of_a_users_own_class_comes_back_as_the_nearest_class_of_ours() -> None:
    class TooBusy(ModelTimeout):
        pass

    assert type(through_json(TooBusy("busy"))) is ModelTimeout
    assert type(restore({"~": "error", "class": "FromTheFuture", "message": "m"})) is SleuthError


def test_infinities_and_nan_survive() -> None:
    back = through_json((math.inf, -math.inf, math.nan))
    assert back[:2] == (math.inf, -math.inf)
    assert math.isnan(back[2])


def test_two_lone_surrogates_are_not_joined_into_one_character() -> None:
    text = "\ud83d\ude00"
    assert len(text) == 2
    assert through_json(Message("user", text)).content == text


def test_defaults_are_left_out() -> None:
    assert plain(Search("x")) == {"~": "Search", "query": "x"}
    assert plain(Usage()) == {"~": "Usage"}
    assert plain(Search("x", k=True))["k"] is True  # equal to no default of another type


def test_a_value_of_another_type_fails_clearly_or_is_made_storable() -> None:
    with pytest.raises(BadInput, match="type set cannot be stored"):
        plain(Finished({1}))
    assert plain(Finished({1}), other=repr) == {"~": "Finished", "value": "{1}"}
    with pytest.raises(BadInput, match="type Message cannot"):
        plain(type("Message", (), {})())  # a class of the same name is not ours


def test_a_fork_is_stored_without_its_flow_which_then_cannot_be_started() -> None:
    event = Event("r", 0, 0.0, Span("", 1), Started(Fork(iter(())), "d", 0))  # type: ignore[arg-type]
    back = through_json(event).body.request
    assert isinstance(back, Fork)
    with pytest.raises(BadInput, match="not stored"):
        next(back.flow)


@pytest.mark.parametrize(
    "bad",
    [
        {"~": "Unheard"},
        {"~": "Message", "role": "user"},
        {"~": "Message", "role": "user", "content": "", "more": 1},
        {"~": "float", "v": "many"},
        {"~": "list"},
        {"~": "map", "v": [1]},
        {"~": ["x"]},
        {"~": "error", "class": "ModelError", "message": "m", "details": 3},
    ],
)
def test_what_plain_cannot_have_written_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput):
        restore(bad)


# --- secrets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "header Authorization: Bearer abc123DEF456 was refused",
        "Incorrect API key provided: sk-abcd1234****wxyz.",
        'sent {"api_key": "abc123DEF456"}',
        "GET https://user:abc123DEF456@host/v1 failed",
        "token hf_abc123DEF456abc123DEF456",
    ],
)
def test_keys_and_passwords_never_reach_a_trace(text: str) -> None:
    error = ModelError(text, hint=text, body={"sent": [text]})
    answer = Answer("", "failed", "model_error", note=str(error))
    for value in (Failed(error), Attempt("retry", text), Attempt("retry", "", {"said": text}), answer):
        stored = json.dumps(plain(value))
        assert "abc123DEF456" not in stored
        assert "abcd1234" not in stored
        assert "removed" in stored


def test_plain_words_are_not_taken_for_secrets() -> None:
    text = "Missing bearer authentication; ask-me-anything is risk-averse; see http://host:80/a@b"
    assert scrub(text) == text
    assert plain(Message("user", "Bearer abc123DEF456"))["content"] == "Bearer abc123DEF456"  # not an error's text


# --- digests ----------------------------------------------------------------------------------------------------

EXAMPLE = Generate((Message("user", "Où ? \ud800 漢字"),), stop=("\n",), temperature=0.7, shape=Json("{}"))


def test_digests_are_fixed_for_ever() -> None:
    """A changed digest makes every recorded run unreplayable: change it knowingly, with the trace's version."""
    assert digest(EXAMPLE) == "6f2d2b0fddd7645d"
    assert digest(Search("x", 5)) == "4806d89ba7ceeb43"


def test_digests_are_the_same_in_another_process_with_other_hashes() -> None:
    code = (
        "from sleuth.codec import digest; from sleuth.types import *;"
        "print(digest(Generate((Message('user', 'Où ? \\ud800 漢字'),), stop=('\\n',), temperature=0.7, shape=Json('{}'))))"
    )
    env = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == digest(EXAMPLE)


@given(requests, requests)
def test_equal_requests_and_only_these_have_equal_digests(left: Any, right: Any) -> None:
    assert digest(left) == digest(through_json(left))
    assert (digest(left) == digest(right)) == (plain(left) == plain(right))


@given(st.integers(0, 2))
def test_a_whole_float_and_its_integer_are_one_request(number: int) -> None:
    assert digest(Generate((), temperature=number)) == digest(Generate((), temperature=float(number)))


def test_the_flow_of_a_fork_has_no_part_in_its_digest_and_a_note_has_none() -> None:
    assert digest(Fork(iter(()))) == digest(Fork(iter((1,))))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        digest(Note("thought"))


def test_the_order_of_a_mapping_has_no_part_in_a_digest() -> None:
    from sleuth.codec import _canonical

    left, right = plain({"a": 1, "b": 2.0}), plain({"b": 2, "a": 1.0})
    assert json.dumps(_canonical(left), sort_keys=True) == json.dumps(_canonical(right), sort_keys=True)


def test_all_error_classes_are_found_by_name() -> None:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SleuthError)]
    assert all(type(through_json(kind("m"))) is kind for kind in found)


def test_handles_survive() -> None:
    passage = Passage("a#1", "a", "A", "text", 1.5, (3, 9))
    assert through_json(Finished((passage, Task("0.1")))) == Finished((passage, Task("0.1")))
    assert through_json(passage).span == (3, 9)
