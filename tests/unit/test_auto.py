"""Auto: the type of the question chooses the strategy, at the cost of one call at most, and it says why."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.play import play

from sleuth.errors import BadReply, ModelError
from sleuth.strategies.auto import EXAMPLES, KINDS, ROUTES, STRATEGY, auto, parse, prompt
from sleuth.types import Budget, Choice, Completion, Guards, Passage

TELL = Passage("Ada Tell", "Ada Tell", "Ada Tell", "Ada Tell was a painter. Ada Tell was born in Brenn.")
BORN = "Where was Ada Tell born?"
SURE = Completion(" Brenn", logprob=-0.1)


def routed(question, *replies, shelf=None, **params):
    played = play(auto(question, **params), replies or [SURE], shelf or {question: [TELL]})
    return played, played.notes("route")[0].data


@pytest.mark.parametrize(
    ("question", "strategy"),
    [
        (BORN, "retrieve-then-read"),
        ("Which river runs past the town where Ada Tell was born?", "link-then-read"),
        ("Who is older, Ada Tell or Jon Rook?", "link-then-read"),
        ("Who was warden of Orl Hall when the Brenn bridge was completed?", "self-ask"),
        ("What are the areas of Brenn, Orl and Silt?", "plan-and-solve"),
        ("Why did the Brenn mill close?", "react"),
        ("Où est née Ada Tell ?", "link-then-read"),
    ],
)
def test_the_rules_choose_by_the_type_of_the_question(question, strategy):
    _, route = routed(question)
    assert (route["strategy"], route["by"]) == (strategy, "rules")
    assert route["reason"]


def test_the_rules_cost_no_call_and_the_chosen_strategy_answers_as_it_would_alone():
    played, route = routed(BORN)
    alone = play(ROUTES["single"].flow(BORN), [SURE], {BORN: [TELL]})
    assert (played.answer.text, played.requests) == ("Brenn", alone.requests)
    assert (played.answer.hops, played.answer.citations) == (alone.answer.hops, alone.answer.citations)
    assert route["type"] == "single"


def test_the_model_chooses_in_one_short_call_among_the_types():
    played, route = routed(BORN, " linked\n", SURE, by="model")
    assert (route["strategy"], route["by"], route["type"]) == ("link-then-read", "model", "linked")
    first, second = played.requests
    assert (first.shape, first.max_tokens, first.closing) == (Choice(KINDS), 4, False)
    assert second.closing
    assert played.answer.text == "Brenn"


@pytest.mark.parametrize("reply", ["", "42", "I do not know", "\n"])
def test_where_the_model_names_no_type_the_rules_do(reply):
    played, route = routed(BORN, reply, SURE, by="model")
    assert (route["strategy"], route["by"]) == ("retrieve-then-read", "rules")
    assert len(played.notes("unparsable")) == 1
    assert played.answer.text == "Brenn"


def test_where_the_budget_is_for_the_answer_alone_the_rules_choose():
    played = play(auto(BORN, by="model"), [SURE], {BORN: [TELL]}, budget=Budget(calls=1))
    assert (played.notes("route")[0].data["by"], played.answer.text) == ("rules", "Brenn")
    assert len(played.notes("budget")) == 1


def test_a_model_that_fails_while_choosing_is_a_failed_answer():
    played = play(auto(BORN, by="model"), [ModelError("down")], {BORN: [TELL]})
    assert (played.answer.text, played.answer.status, played.answer.ended) == ("", "failed", "model_error")


def test_the_guards_are_handed_on():
    quiet = Guards(citations="off", fallback="off")
    nothing = play(auto(BORN, guards=quiet), [], {BORN: []})
    assert nothing.queries == [BORN]
    with_fallback = play(auto(BORN), [], {BORN: []})
    assert len(with_fallback.queries) > 1


@pytest.mark.parametrize(("reply", "kind"), [(" single", "single"), ("**Open**", "open"), ("Type: pair.", "pair")])
def test_a_type_is_read_whatever_stands_around_it(reply, kind):
    assert parse(reply) == kind


@given(st.text(max_size=80))
def test_any_reply_is_a_type_or_a_bad_reply(reply):
    with contextlib.suppress(BadReply):
        assert parse(reply) in KINDS


def test_the_prompt_has_one_worked_example_of_each_type_and_the_question_in_one_line():
    assert sorted(kind for _, kind in EXAMPLES) == sorted(KINDS)
    text = "".join(message.content for message in prompt("Who\nis it?"))
    assert text.endswith("Question: Who is it?\nType:")
    assert all(f"{kind}: " in text for kind in KINDS)


def test_its_bound_is_that_of_the_costliest_strategy_and_one_call_where_the_model_chooses():
    assert set(ROUTES) == set(KINDS)
    costliest = max(each.most_calls(each.settings["default"]) for each in ROUTES.values())
    assert STRATEGY.most_calls({}) == costliest
    assert STRATEGY.most_calls({"by": "model"}) == costliest + 1
