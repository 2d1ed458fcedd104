"""The OpenAI dialect without a server: rendering, cutting, thinking, log-probabilities, refusals."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.models import faults, reply, wire
from sleuth.types import Generate, Message

WORDS = st.lists(
    st.sampled_from(["Follow up:", "\n", "Obs", "Observation:", " a", "b ", "<", "é", "So the"]), max_size=12
)
STOPS = st.lists(st.sampled_from(["\n", "Observation:", "\nObs", "a", "é", "up:\n"]), max_size=5, unique=True)
PREFIXES = st.sampled_from(["", "Follow up:", "a\nFollow up:", "So the", " "])


@given(
    WORDS,
    STOPS,
    PREFIXES,
    st.sampled_from(["", "<think>hm\nm</think>", "<think>", " <THINKING>x</THINKING>\n"]),
    st.data(),
)
def test_streamed_pieces_joined_are_the_text_however_it_is_split(
    words: list[str], stops: list[str], prefix: str, thought: str, data: st.DataObject
) -> None:
    written = thought + "".join(words)
    growing = reply.Growing(stops, prefix)
    shown, at = "", 0
    while at < len(written) and not growing.stopped:
        size = data.draw(st.integers(1, 7))
        shown += growing.add(written[at : at + size])
        at += size
    shown += growing.rest()
    assert shown == reply.visible(written, stops, prefix).text == reply.visible(growing.written, stops, prefix).text


@given(st.text(), st.lists(st.text(max_size=3), max_size=4))
def test_a_cut_text_holds_no_stop_text_and_is_the_longest_beginning_that_does_not(text: str, stops: list[str]) -> None:
    before, stop = reply.cut(text, stops)
    assert text.startswith(before)
    assert not any(s in before for s in stops if s)
    if stop is None:
        assert before == text
    else:
        assert text[len(before) :].startswith(stop)


@pytest.mark.parametrize(
    ("written", "thinking", "text"),
    [
        ("<think>a</think>b", "a", "b"),
        ("\n<Think>\na\n</Think>\n\nb", "a", "b"),
        ("a, hm</think>\nb", "a, hm", "b"),
        ("<think>never ends", "never ends", ""),
        ("no <b>tags</b>", "", "no <b>tags</b>"),
    ],
)
def test_thinking_is_told_from_text(written: str, thinking: str, text: str) -> None:
    parts = reply.visible(written, ())
    assert (parts.thinking, parts.text) == (thinking, text)


def test_only_what_repeats_the_prefix_is_removed() -> None:
    prefix = "Question: x\nFollow up:"
    assert reply.visible("Follow up: y", (), prefix).text == " y"
    assert reply.visible(prefix + " y", (), prefix).text == " y"
    assert reply.visible("Follow y", (), prefix).text == "Follow y"
    assert reply.visible("Yes, Minister", (), "x\nYes").text == "Yes, Minister"
    assert reply.visible('{"a": 1}', (), "{").text == '"a": 1}'


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant", "observation"]), st.text(max_size=5))))
def test_chat_turns_hold_every_word_once_and_take_turns(parts: list[tuple[Any, str]]) -> None:
    messages = [Message(role, text) for role, text in parts]
    turns = wire.chat_turns(messages)
    assert "".join(turn["content"] for turn in turns) == wire.raw_prompt(messages)
    assert all(one["role"] != next_["role"] for one, next_ in pairwise(turns))
    assert "system" not in [turn["role"] for turn in turns[1:]]


def test_a_system_turn_that_is_refused_becomes_part_of_the_users() -> None:
    messages = (Message("system", "Be brief. "), Message("user", "Hello"))
    assert wire.chat_turns(messages, frozenset({"system"})) == [{"role": "user", "content": "Be brief. Hello"}]
    body = wire.render(Generate(messages), "m", "chat", frozenset(), stream=False)
    assert wire.refusal(body, "System role not supported", "") == "system"


@pytest.mark.parametrize(
    ("message", "param", "part"),
    [
        ("Unsupported parameter: 'max_tokens' ... Use 'max_completion_tokens' instead.", "max_tokens", "max_tokens"),
        ("Unsupported value: 'temperature' does not support 0.0", "temperature", "temperature"),
        ("'stop' is not supported with this model", "", "stop"),
        ('[{"loc": ["body", "logprobs"], "msg": "extra fields not permitted"}]', "", "logprobs"),
        ("something else is wrong; please stopgap", "", None),
    ],
)
def test_a_refusal_names_what_to_leave_out(message: str, param: str, part: str | None) -> None:
    request = Generate((Message("user", "x"),), stop=("\n",), logprob=True)
    assert wire.refusal(wire.render(request, "m", "chat", frozenset(), stream=False), message, param) == part


def test_log_probabilities_of_cut_tokens_and_of_thinking_do_not_count() -> None:
    logs = [("<think>", -9.0), ("x</think>", -9.0), ("one", -1.0), (" two", -2.0), ("\n", -9.0), ("three", -9.0)]
    written = "".join(token for token, _ in logs)
    parts = reply.visible(written, ("\n",))
    assert reply.summed(logs, parts.start, parts.end, written) == -3.0
    assert reply.summed([("\ufffd", -1.0), ("\ufffd", -2.0)], 0, 1, "é") == -3.0
    assert reply.summed([], 0, 1, "x") is None


FIELDS = "content tokens token_logprobs message delta text tool_calls function id name arguments index logprobs usage choices"
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(f"{FIELDS} error code finish_reason stop_reason".split()), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(JUNK)
def test_whatever_a_server_answers_does_no_harm(junk: Any) -> None:
    coming = reply.Coming()
    assert isinstance(coming.add({"choices": [junk]}) + coming.add(junk), str)
    coming.written("")
    if isinstance(junk, dict):
        assert isinstance(reply.read_choice(junk).text, str)
    reply.tokens_of(junk)
    faults.error_of(faults.refusal_in(400, junk, None), "m", "http://host/v1")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert faults.retry_after(headers, datetime(2026, 11, 30, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    "body",
    [
        '{"error": {"message": "bad thing", "code": "x"}}',
        '{"object": "error", "message": "bad thing", "code": 400}',
        '{"detail": "bad thing"}',
        '{"error": "bad thing"}',
        "bad thing",
    ],
)
def test_refusals_are_read_in_every_servers_form(body: str) -> None:
    refusal = faults.read_refusal(400, body, {}, None)
    assert (refusal.status, refusal.message) == (400, "bad thing")


@given(st.text(), st.sampled_from([400, 404, 429, 500]))
def test_any_text_of_any_server_makes_an_error(text: str, status: int) -> None:
    refusal = faults.read_refusal(status, text, {}, "secret-key")
    assert "secret-key" not in str(faults.error_of(refusal, "m", "http://host/v1"))


def test_an_address_is_shown_without_user_password_and_query() -> None:
    assert faults.address("http://me:pw@host:8080/v1/?key=1") == "http://host:8080/v1"
    assert faults.address("http://[::1]:8080/v1") == "http://[::1]:8080/v1"
