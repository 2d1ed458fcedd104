"""Self-consistency: votes of sampled chains of thought, the majority, and which samples are given up."""

from __future__ import annotations

from functools import partial

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.play import play
from tests.support.runs import in_loop

from sleuth.engine import Engine
from sleuth.errors import ModelError
from sleuth.events import Failed, Finished
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.strategies.cot_sc import STRATEGY, cot_sc
from sleuth.trace import Cassette
from sleuth.types import Budget, Generate, Message
from sleuth.verbs import generate

QUESTION = "Which river runs past Brenn?"


def said(answer):
    return f" I know it.\nAnswer: {answer}"


def poll(*answers, budget=Budget(), **params):
    """A run with one reply a sample; an error is raised."""
    replies = [said(a) if isinstance(a, str) and a else a or "I cannot say." for a in answers]
    return play(cot_sc(QUESTION, **{"n": len(answers), **params}), replies, {}, budget=budget)


def test_the_most_frequent_answer_wins_and_its_share_is_the_confidence():
    run = poll("Tarn", "the Silt", "tarn.", "Orl", "TARN")
    assert (run.answer.text, run.answer.status, run.answer.ended) == ("Tarn", "answered", "final_answer")
    assert (run.answer.confidence, run.answer.confidence_by) == (0.5, "votes")  # the fifth could change nothing
    assert run.notes("votes")[0].data["counts"] == {"Tarn": 2, "the Silt": 1, "Orl": 1}


def test_every_sample_is_another_draw_of_one_prompt_at_the_papers_temperature():
    run = poll("Tarn", "Silt", "Orl", "Tarn")
    assert len(set(run.prompts)) == 1
    assert [(r.sample, r.temperature) for r in run.requests] == [(n, 0.7) for n in range(4)]
    assert STRATEGY.settings["paper"]["n"] == 21


def test_without_the_vote_the_first_chain_is_believed_and_with_it_the_majority():
    answers = ("Silt", "Tarn", "Tarn")
    assert poll(*answers[:1]).answer.text == "Silt"
    assert poll(*answers).answer.text == "Tarn"


@pytest.mark.parametrize("answers", [("Silt", "Tarn"), ("Tarn", "Silt")])
def test_of_equally_frequent_answers_that_of_the_lowest_sample_counts(answers):
    assert poll(*answers).answer.text == answers[0]
    # ... whichever comes in first
    assert raced([said(a) for a in answers], [1, 0]).answer.text == answers[0]


def test_failed_and_empty_samples_are_no_votes():
    run = poll(ModelError("down"), "", "Tarn", ModelError("down"))
    assert (run.answer.text, run.answer.confidence) == ("Tarn", pytest.approx(1 / 3))  # the fourth could change nothing


@pytest.mark.parametrize(("reply", "ended"), [(ModelError("down"), "model_error"), ("", "unparsable")])
def test_where_all_samples_fail_so_does_the_whole(reply, ended):
    run = poll(reply, reply, reply)
    assert (run.answer.text, run.answer.status, run.answer.ended) == ("", "failed", ended)


def test_the_labels_of_claims_are_voted_on():
    run = poll("REFUTES", "SUPPORTS", "refutes", task="claim")
    assert (run.answer.text, run.answer.confidence) == ("REFUTES", pytest.approx(2 / 3))
    assert f"Claim: {QUESTION}" in run.prompts[0]


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_budget_that_ends_leaves_the_votes_there_are(calls):
    run = poll("Tarn", "Tarn", "Silt", "Silt", "Silt", budget=Budget(calls=calls))
    assert (run.answer.text, run.answer.status, len(run.requests)) == ("Tarn", "answered", calls)
    assert run.answer.ended == "budget"


class InTurn(Script):
    """Gives its replies after as many turns of the event loop as it is told (None: never): no clock decides the order."""

    def __init__(self, replies, places):
        super().__init__(replies)
        self.places = places

    async def generate(self, request, **ports):
        place, reply = self.places[len(self.requests)], await super().generate(request, **ports)
        if place is None:
            await anyio.sleep_forever()
        for _ in range((place or 0) * TURNS):
            await anyio.lowlevel.checkpoint()
        return reply


TURNS = 50
"""Of the loop between two places: enough for a vote to be counted."""


class Raced:
    """A run whose samples come in by their places: the answer, the events, and what a replay of it gives."""

    def __init__(self, replies, places, **params):
        self.events, script = [], InTurn(replies, places)
        self.flow = partial(cot_sc, QUESTION, **{"n": len(replies), **params})
        self.answer = in_loop(Engine(script, Shelf(), sinks=[self.events.append]).run(self.flow()))

    def again(self):
        events: list = []
        engine = Engine(Script([]), Shelf(), sinks=[events.append], recording=Cassette(self.events))
        return in_loop(engine.run(self.flow())), events


def raced(replies, places, **params):
    return Raced(replies, places, **params)


def given_up(events):
    """The branches whose model call was cancelled."""
    spans = {e.span: e.body.request for e in events if hasattr(e.body, "request")}
    return {
        e.span.branch
        for e in events
        if isinstance(e.body, Failed)
        and isinstance(spans.get(e.span), Generate)
        and type(e.body.error).__name__ == "Cancelled"
    }


def answered(events):
    spans = {e.span: e.body.request for e in events if hasattr(e.body, "request")}
    return {e.span.branch for e in events if isinstance(e.body, Finished) and isinstance(spans.get(e.span), Generate)}


def test_samples_that_cannot_change_the_majority_are_cancelled_and_a_replay_cancels_the_same():
    places = [None, 0, None, 1, 2]
    run = raced([said("Silt"), said("Tarn"), said("Orl"), said("Tarn"), said("tarn")], places)
    assert (run.answer.text, run.answer.confidence) == ("Tarn", 1.0)
    assert (answered(run.events), given_up(run.events)) == ({"1", "3", "4"}, {"0", "2"})
    again, events = run.again()
    assert (again.text, again.confidence) == ("Tarn", 1.0)
    assert (answered(events), given_up(events)) == (answered(run.events), given_up(run.events))


@settings(max_examples=20, deadline=None)
@given(
    answers=st.lists(st.sampled_from(["Tarn", "Silt", "Orl", ""]), min_size=2, max_size=5),
    places=st.lists(st.integers(0, 2), min_size=5, max_size=5),
    share=st.sampled_from([0.0, 0.5]),
)
def test_however_the_samples_race_a_replay_counts_and_cancels_the_same(answers, places, share):
    run = raced([said(a) if a else "I cannot say." for a in answers], places, share=share)
    again, events = run.again()
    assert (again.text, again.confidence, again.note) == (run.answer.text, run.answer.confidence, run.answer.note)
    assert (answered(events), given_up(events)) == (answered(run.events), given_up(run.events))


def test_a_flow_that_goes_on_behind_the_vote_is_not_joined_by_late_samples():
    def votes_then_more():
        yield from cot_sc(QUESTION, n=3)
        return (yield from generate((Message("user", "more"),))).text

    events, script = [], InTurn([said("Tarn"), said("Tarn"), said("Silt"), "done"], [0, 0, 1, 2])
    answer = in_loop(Engine(script, Shelf(), sinks=[events.append]).run(votes_then_more()))
    assert (answer, answered(events), given_up(events)) == ("done", {"0", "1", ""}, {"2"})


def test_samples_count_in_the_order_in_which_they_come_in():
    run = raced([said("Silt"), said("Silt"), said("Tarn"), said("Tarn"), said("Tarn")], [1, None, 0, 0, 0])
    assert (run.answer.text, answered(run.events)) == ("Tarn", {"2", "3", "4"})


def test_with_a_share_sampling_goes_on_until_it_is_known_whether_the_majority_has_it():
    answers = [said(a) for a in ("a", "a", "a", "b", "c", "d", "e", "a", "a", "a")]
    settled, half = raced(answers, range(10)), raced(answers, range(10), share=0.5)
    assert (len(answered(settled.events)), len(answered(half.events))) == (8, 9)
    assert half.answer.confidence == pytest.approx(5 / 9)
