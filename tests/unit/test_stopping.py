"""When a loop stops, and where confidence comes from: the rules by themselves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import BadReply
from sleuth.guards.stopping import (
    MOST_STEPS,
    THRESHOLD,
    ask_confidence,
    by_logprob,
    most_calls,
    parse_percentage,
    should_stop,
)
from sleuth.types import Completion, Generate, Grammar, Guards, Message


def test_the_write_ups_numbers_are_seven_steps_and_a_confidence_over_0_8():
    assert (MOST_STEPS, THRESHOLD) == (7, 0.8)
    assert should_stop(6) is None
    assert should_stop(7) == "step_limit"
    assert should_stop(1, confidence=0.8) is None
    assert should_stop(1, confidence=0.81) == "confident"
    assert should_stop(1, final=True) == "final_answer"


def test_of_several_reasons_a_final_answer_is_told_first_and_the_step_limit_last():
    assert should_stop(7, 7, 0.9, 0.8, final=True) == "final_answer"
    assert should_stop(7, 7, 0.9, 0.8) == "confident"


@pytest.mark.parametrize("confidence", [None, math.nan, -math.inf])
def test_a_confidence_that_is_not_known_stops_nothing(confidence):
    assert should_stop(1, 7, confidence, 0.0) is None


def test_without_a_threshold_no_confidence_stops_a_loop():
    assert should_stop(1, 7, 1.0, None) is None


def test_a_confidence_by_log_probability_is_the_answers_probability():
    assert by_logprob(math.log(0.25)) == pytest.approx(0.25)
    assert by_logprob(0.5) == 1.0
    assert by_logprob(-math.inf) == 0.0
    assert by_logprob(None) is None
    assert by_logprob(math.nan) is None


def test_the_model_is_asked_in_one_short_constrained_call_behind_what_it_read_and_said():
    flow = ask_confidence((Message("user", "Question: Where?\nAnswer:"),), "Brenn")
    request = next(flow)
    assert isinstance(request, Generate)
    assert (request.role, request.stop, request.max_tokens) == ("judge", ("\n",), 8)
    assert isinstance(request.shape, Grammar)
    assert "".join(m.content for m in request.messages) == (
        "Question: Where?\nAnswer: Brenn\nHow likely is it that this answer is right, in percent:"
    )
    with pytest.raises(StopIteration) as end:
        flow.send(Completion(" 85%"))
    assert end.value.value == 0.85


@pytest.mark.parametrize(
    ("reply", "value"),
    [("85%", 0.85), (" 7 %", 0.07), ("about 90 percent", 0.9), ("**100%**", 1.0), ("62.5%", 0.625), ("0", 0.0)],
)
def test_a_percentage_is_read_as_models_write_it(reply, value):
    assert parse_percentage(reply) == pytest.approx(value)


@pytest.mark.parametrize("reply", ["", "very likely", "150%", "1,000", "v85", "-5%", "1889"])
def test_what_holds_no_percentage_is_a_bad_reply(reply):
    with pytest.raises(BadReply):
        parse_percentage(reply)


@given(st.text())
def test_any_reply_gives_a_probability_or_a_bad_reply(reply):
    try:
        value = parse_percentage(reply)
    except BadReply:
        return
    assert 0 <= value <= 1


def test_stopping_adds_a_reading_a_step_and_as_many_judgements_and_one():
    assert most_calls(Guards(confidence=None), 4) == 0
    assert most_calls(Guards(), 4) == 4
    assert most_calls(Guards(confidence_by="asked"), 4) == 9
    assert most_calls(Guards(confidence=None, confidence_by="asked"), 4) == 1
