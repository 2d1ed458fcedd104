"""Back-off: any two strategies and a condition, and the two pairs of the ReAct paper."""

from __future__ import annotations

import pytest
from tests.support.play import play

from sleuth.errors import BadReply, ModelError
from sleuth.strategies.backoff import back_off, no_answer, surer, unsure
from sleuth.strategies.cot_sc_then_react import cot_sc_then_react
from sleuth.strategies.react_then_cot_sc import react_then_cot_sc
from sleuth.types import Answer, Citation, Completion, Guards, Hop, Message, Usage
from sleuth.verbs import generate, note

QUESTION = "Which river runs past Brenn?"
PAGES = {"Brenn": "Brenn is a town. The river Tarn runs past Brenn."}
QUOTE = Citation("Brenn", "Brenn", "The river Tarn runs past Brenn.", verified=True)
FIRST = Answer("Silt", "answered", "final_answer", confidence=0.2, confidence_by="logprob", hops=(Hop("a"),))
SECOND = Answer("Tarn", "answered", "final_answer", citations=(QUOTE,), hops=(Hop("a"), Hop("b")), transcript="second")
NOTHING = Answer("", "abstained", "step_limit", hops=(Hop("c"),), transcript="first", note="No Finish.")


def given(answer):
    """A strategy with this outcome: an answer, or an error."""
    yield from note("thought", "x")
    if isinstance(answer, Exception):
        raise answer
    return answer


def backed(first, second, wanted=no_answer, **params):
    offered = []

    def then(found):
        offered.append(found)
        return given(second)

    run = play(back_off(given(first), wanted, then, **params), [], {})
    return run, offered


def test_an_answer_that_does_is_returned_as_it_is_and_nothing_else_runs():
    run, offered = backed(SECOND, FIRST)
    assert (run.answer.text, offered, run.notes("switch")) == ("Tarn", [], [])


def test_without_the_second_strategy_there_is_no_answer_and_with_it_there_is():
    assert backed(NOTHING, NOTHING)[0].answer.text == ""
    assert backed(NOTHING, SECOND)[0].answer.text == "Tarn"


def test_the_switch_is_noted_with_its_reason_and_the_second_is_offered_the_first_ones_answer():
    run, offered = backed(NOTHING, SECOND, names=("react", "cot-sc"))
    assert offered == [NOTHING]
    assert run.notes("switch")[0].data == {
        "from": "react",
        "to": "cot-sc",
        "reason": "No answer (ended: step limit).",
        "answer": "",
    }


def test_hops_citations_and_dialogue_of_both_are_kept_each_once():
    answer = backed(NOTHING, SECOND)[0].answer
    assert answer.hops == (Hop("c"), Hop("a"), Hop("b"))
    assert (answer.citations, answer.transcript) == ((QUOTE,), "first\nsecond")
    assert backed(FIRST, SECOND, unsure(0.5))[0].answer.hops == (Hop("a"), Hop("b"))


@pytest.mark.parametrize("second", [NOTHING, BadReply("garbled"), ModelError("down")])
def test_where_the_second_fails_too_what_the_first_found_is_kept(second):
    answer = backed(FIRST, second, unsure(0.5))[0].answer
    assert (answer.text, answer.confidence, answer.status) == ("Silt", 0.2, "answered")
    none = backed(NOTHING, second)[0].answer
    assert (none.text, none.ended, none.hops[0]) == ("", "step_limit", Hop("c"))


@pytest.mark.parametrize("error", [BadReply("garbled"), ModelError("down")])
def test_a_first_strategy_that_raises_is_one_without_an_answer(error):
    assert backed(error, SECOND)[0].answer.text == "Tarn"


@pytest.mark.parametrize("ended", ["budget", "deadline", "cancelled"])
def test_a_run_that_is_over_backs_off_to_nothing(ended):
    run, offered = backed(Answer("", "failed", ended), SECOND)
    assert (run.answer.ended, offered) == (ended, [])


def test_an_unsure_answer_is_a_reason_where_its_confidence_is_known():
    assert unsure(0.5)(FIRST) == "Its confidence 0.20 (logprob) is under 0.50."
    assert unsure(0.2)(FIRST) == ""
    assert unsure(0.5)(SECOND) == ""


def test_the_surer_of_two_answers_may_be_chosen():
    sure = Answer("Orl", "answered", "final_answer", confidence=0.1, confidence_by="votes")
    assert surer(FIRST, sure) is FIRST
    assert surer(sure, FIRST) is FIRST
    assert surer(FIRST, SECOND) is SECOND
    assert backed(FIRST, sure, unsure(0.5), chosen=surer)[0].answer.text == "Silt"


def test_the_spending_of_both_is_counted():
    def calls(n):
        for _ in range(n):
            yield from generate((Message("user", "x"),))
        return NOTHING

    run = play(back_off(calls(2), no_answer, lambda found: calls(3)), ["y"] * 5, {})
    assert run.answer.usage.calls == 5
    joined = back_off(
        given(Answer("", "abstained", "step_limit", usage=Usage(calls=2))), no_answer, lambda _: given(SECOND)
    )
    assert next(joined).kind == "thought"


# --- ReAct, then CoT-SC -----------------------------------------------------------------------------------------------

STILL = Guards(confidence=None, fallback="off", citations="off")


def step(n, action):
    return f" I look.\nAction {n}: {action}\nObservation {n}:"


def searches(n):
    return [step(i, f"Search[Place {i}]") for i in range(1, n + 1)]


def said(answer):
    return f" I know it.\nAnswer: {answer}"


@pytest.mark.parametrize(("task", "steps", "vote"), [("question", 7, "Tarn"), ("claim", 5, "REFUTES")])
def test_react_backs_off_when_it_has_not_finished_within_7_steps_or_5_for_a_claim(task, steps, vote):
    flow = react_then_cot_sc(QUESTION, reader=False, n=3, task=task, guards=STILL)
    run = play(flow, [*searches(steps), said(vote), said(vote), said(vote)], {}, PAGES)
    assert (run.answer.text, run.answer.confidence_by, len(run.answer.hops)) == (vote, "votes", steps)
    assert run.notes("switch")[0].data["reason"] == "No answer (ended: step limit)."
    assert [request.sample for request in run.requests[steps:]] == [0, 1, 2]


def test_react_that_finishes_asks_no_samples():
    run = play(react_then_cot_sc(QUESTION, reader=False, guards=STILL), [step(1, "Finish[Tarn]")], {}, PAGES)
    assert (run.answer.text, len(run.requests)) == ("Tarn", 1)


def test_where_the_samples_fail_too_what_react_found_is_kept():
    flow = react_then_cot_sc(QUESTION, reader=False, n=2, steps=1, guards=STILL)
    run = play(flow, [step(1, "Search[Brenn]"), "I cannot say.", "Nor can I."], {}, PAGES)
    assert (run.answer.text, run.answer.ended) == ("", "step_limit")
    assert run.answer.citations[0].quote == PAGES["Brenn"].split(". ")[1]


@pytest.mark.parametrize(("logprob", "text"), [(-0.1, "Silt"), (-3.0, "Tarn")])
def test_in_the_default_setting_an_unsure_reading_is_held_against_the_samples(logprob, text):
    replies = [step(1, "Search[Brenn]"), step(2, "Finish[x]"), Completion("Silt", logprob=logprob)]
    flow = react_then_cot_sc(QUESTION, n=3, guards=STILL)
    run = play(flow, [*replies, said("Tarn"), said("Tarn"), said("Orl")], {}, PAGES)
    assert (run.answer.text, bool(run.notes("switch"))) == (text, text == "Tarn")


@pytest.mark.parametrize(("vote", "grounded", "quotes"), [("Tarn", True, 1), ("Danube", False, 0)])
def test_a_vote_is_checked_against_what_react_had_looked_up(vote, grounded, quotes):
    marked = Guards(confidence=None, fallback="off", citations="mark")
    flow = react_then_cot_sc(QUESTION, reader=False, n=2, steps=1, guards=marked)
    run = play(flow, [step(1, "Search[Brenn]"), said(vote), said(vote)], {}, PAGES)
    assert (run.answer.text, run.answer.grounded) == (vote, grounded)
    assert len([c for c in run.answer.citations if vote in c.quote]) == quotes


# --- CoT-SC, then ReAct -----------------------------------------------------------------------------------------------

FINISH = [step(1, "Search[Brenn]"), step(2, "Finish[Tarn]")]


def voted(*answers, then=FINISH):
    flow = cot_sc_then_react(QUESTION, reader=False, n=len(answers), guards=STILL)
    return play(flow, [*map(said, answers), *then], {}, PAGES)


def test_a_majority_of_half_the_samples_stands_and_a_thinner_one_is_looked_up():
    assert voted("Silt", "Silt", "Orl", "Danube").answer.text == "Silt"  # 2 of 4 is not fewer than n/2
    run = voted("Silt", "Silt", "Orl", "Danube", "Rhine")
    assert (run.answer.text, run.notes("switch")[0].data["from"]) == ("Tarn", "cot-sc")
    assert "Its confidence 0.40 (votes) is under 0.50." in run.answer.note


def test_a_majority_that_half_is_out_of_reach_for_is_not_waited_for():
    run = voted("Silt", "Orl", "Danube", "Rhine", "Silt")
    assert (run.answer.text, len(run.notes("votes")[0].data["counts"])) == ("Tarn", 4)
    assert "Its confidence 0.25 (votes)" in run.answer.note


def test_where_react_has_no_answer_the_thin_majority_stands():
    run = voted("Silt", "Silt", "Orl", "Danube", "Rhine", then=["I cannot.", "I cannot."])
    assert (run.answer.text, run.answer.confidence) == ("Silt", 0.4)
