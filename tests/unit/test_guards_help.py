"""For each guard, a run that goes wrong without it and right with it."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from tests.support.play import Play, play

from sleuth.errors import ContextTooLong
from sleuth.guards.citations import cite
from sleuth.guards.evidence import recorded
from sleuth.guards.guarded import PAPER, guarded
from sleuth.guards.outcome import answered, unanswered
from sleuth.guards.scaffold import line
from sleuth.guards.searching import look_up
from sleuth.guards.searching.expansion import feedback
from sleuth.guards.searching.reformulate import reformulated
from sleuth.strategies.retrieve_then_read import retrieve_then_read
from sleuth.strategies.self_ask import self_ask
from sleuth.transcript import Transcript
from sleuth.types import Answer, Completion, Flow, Generate, Guards, Hop, Passage
from sleuth.verbs import generate, note

OFF = replace(PAPER, repeats="off", own=False)
"""No guard at all."""
QUESTION = "Which river runs past the town where Ada Tell was born?"
TELL = Passage("a", "d", "Ada Tell", "Ada Tell was a warden. She was born in Brenn.")
BRENN = Passage("b", "d", "Brenn", "The river Tarn runs past Brenn.")


def looping(question: str, guards: Guards, steps: int = 8) -> Flow[Answer]:
    """A user's loop: the model writes a query or "Answer: ...", reads what is found, and writes again."""
    t = Transcript(f"Question: {question}\n")

    def flow() -> Flow[Answer]:
        for _ in range(steps):
            yield from t.compress(guards.compress)
            reply: Completion = yield from generate(t.messages())
            said = line(reply.text)
            if said.startswith("Answer:"):
                quote = cite(said[8:], list(t.pool.values()), context=question)
                return answered(t, said[8:], final=(quote,) if quote else ())
            verdict = t.again("query", said, guards.repeats)
            t.wrote(f"{said}\n")
            if verdict == "tell":
                t.observed("Found: (You have searched that. Ask for something else.)\n")
                continue
            if verdict == "stop":
                return unanswered(t, "repeated")
            query = said if verdict == "new" else reformulated(said, question, t.asked("query"))
            looked = yield from look_up(query, 1)
            t.shown(looked.passages)
            seen = " ".join(p.text for p in looked.passages) or "nothing"
            yield from recorded(t, Hop(said, query, seen, looked.outcome, looked.passages))
            t.observed(f"Found: {seen}\n")
        return unanswered(t, "step_limit")

    return guarded(question, t, flow(), guards)


def prompted(request: Generate) -> str:
    return "".join(message.content for message in request.messages)


def loop(model: Any, answers: dict[str, Any], guards: Guards, question: str = QUESTION) -> Play:
    return play(looping(question, guards), [model] * 12, answers)


# --- search with fallback ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fallback", "finds"), [("feedback", "river runs past town Ada Tell born"), ("model", "town by the Tarn")]
)
def test_a_query_that_finds_nothing_is_searched_in_other_words(fallback: Any, finds: str) -> None:
    def model(request: Generate) -> str:
        return "Tarn" if request.role == "read" else "town by the Tarn"

    shelf = {QUESTION: "", finds: [TELL, BRENN]}
    without = play(retrieve_then_read(QUESTION, guards=OFF), [model], shelf)
    assert (without.answer.status, without.queries) == ("abstained", [QUESTION])
    helped = play(retrieve_then_read(QUESTION, guards=replace(OFF, fallback=fallback)), [model] * 2, shelf)
    assert (helped.answer.text, helped.answer.status, helped.queries) == ("Tarn", "answered", [QUESTION, finds])
    assert helped.notes("fallback")[-1].data["found"] == 2


def test_what_was_found_before_leads_a_later_query_that_finds_nothing() -> None:
    def model(request: Generate) -> str:
        seen = prompted(request)
        return "Answer: Tarn" if "Tarn" in seen else ["Ada Tell", "the town of Ada Tell"][seen.count("Found:") > 0]

    wider = feedback("the town of Ada Tell", [TELL])
    assert "Brenn" in wider
    shelf = {"Ada Tell": [TELL], "the town of Ada Tell": "", "town Ada Tell": "", wider: [BRENN]}
    assert loop(model, shelf, replace(OFF, repeats="near")).answer.ended == "repeated"
    helped = loop(model, shelf, replace(OFF, repeats="near", fallback="feedback"))
    assert (helped.answer.text, helped.queries) == ("Tarn", ["Ada Tell", "the town of Ada Tell", wider])


# --- compression ------------------------------------------------------------------------------------------------

STREET = "It has a long street, a mill, a small school and many old trees along the water. " * 4


def test_a_dialogue_that_outgrows_the_models_window_is_compressed_and_nothing_it_needs_is_lost() -> None:
    places = [f"Town{n}" for n in range(1, 7)]
    shelf = {
        place: [Passage(f"p{n}", "d", place, f"{place} has {n * 111} steps. {STREET}")]
        for n, place in enumerate(places, 1)
    }

    def model(request: Generate) -> Any:
        seen = prompted(request)
        if len(seen.split()) > 320:
            return ContextTooLong("The prompt does not fit the window.")
        open_ = [place for place in places if f"{place} has" not in seen]
        counts = [int(found) for found in re.findall(r"has (\d+) steps", seen)]
        return open_[0] if open_ else f"Answer: {max(counts)}"

    asked = "Which of the towns has the most steps?"
    without = loop(model, shelf, OFF, asked)
    assert (without.answer.status, without.answer.ended) == ("failed", "model_error")
    helped = loop(model, shelf, replace(OFF, compress=220), asked)
    assert (helped.answer.text, helped.answer.status) == ("666", "answered")
    assert helped.notes("compressed")
    assert "Town1 has 111 steps" in helped.answer.transcript


# --- repeats ----------------------------------------------------------------------------------------------------


ORDERS = [f"Where: {' '.join(words)}" for words in permutations(["Ada", "Tell", "born", "town"])]
SHELF = {**dict.fromkeys(ORDERS, (TELL,)), "Brenn": (BRENN,)}


def stubborn(request: Generate) -> str:
    """Asks for the same in ever new order, until it sees something new."""
    seen = prompted(request)
    return "Answer: Tarn" if "Tarn" in seen else ORDERS[seen.count("Found:")]


def told(request: Generate) -> str:
    """The same, until it is told."""
    said = stubborn(request)
    return "Brenn" if "You have searched that" in prompted(request) and said in ORDERS else said


def test_a_model_that_asks_the_same_in_another_order_is_told_and_goes_on() -> None:
    for repeats in ("off", "exact"):
        without = loop(
            lambda r: "Answer: Tarn" if "Tarn" in prompted(r) else told(r), SHELF, replace(OFF, repeats=repeats)
        )
        assert without.answer.text == "", repeats
    helped = loop(told, SHELF, replace(OFF, repeats="near"))
    assert (helped.answer.text, len(helped.requests)) == ("Tarn", 4)


def test_one_that_does_not_hear_has_its_query_reformulated_and_is_stopped_after_that() -> None:
    shelf = {**SHELF, "Ada Tell river runs past": [BRENN]}
    without = loop(stubborn, shelf, OFF)
    assert (without.answer.text, without.answer.ended, len(without.requests)) == ("", "step_limit", 8)
    helped = loop(stubborn, shelf, replace(OFF, repeats="near"))
    assert (helped.answer.text, helped.queries[-1]) == ("Tarn", "Ada Tell river runs past")
    stopped = loop(stubborn, SHELF | {"Ada Tell river runs past": ""}, replace(OFF, repeats="near"))
    assert (stopped.answer.ended, len(stopped.requests)) == ("repeated", 4)


# --- citations --------------------------------------------------------------------------------------------------


def test_an_answer_that_nothing_cited_says_is_marked_or_not_given() -> None:
    def model(request: Generate) -> str:
        return "Answer: the Orl" if "Brenn" in prompted(request) else "Ada Tell"

    shelf = {"Ada Tell": [TELL]}
    without = loop(model, shelf, OFF).answer
    assert (without.text, without.status, without.grounded) == ("the Orl", "answered", None)
    marked = loop(model, shelf, replace(OFF, citations="mark")).answer
    assert (marked.text, marked.grounded) == ("the Orl", False)
    none = loop(model, shelf, replace(OFF, citations="abstain")).answer
    assert (none.text, none.status, none.ended) == ("", "abstained", "ungrounded")
    assert len(none.hops) == 1


def test_a_judging_call_saves_an_answer_that_follows_in_words_the_rules_do_not_know() -> None:
    def model(request: Generate) -> str:
        if request.role == "judge":
            return " yes"
        return "Answer: beside the water" if "Brenn" in prompted(request) else "Brenn"

    abstain = replace(OFF, citations="abstain")
    shelf = {"Brenn": [BRENN]}
    assert loop(model, shelf, abstain).answer.status == "abstained"
    helped = loop(model, shelf, replace(abstain, judge=True))
    assert (helped.answer.text, helped.answer.grounded) == ("beside the water", True)
    assert helped.notes("grounding")[0].data["rule"] == "judge"


# --- own observations -------------------------------------------------------------------------------------------


def test_an_intermediate_answer_that_the_model_writes_itself_is_cut_and_looked_up() -> None:
    invented = Completion(
        " Yes.\nFollow up: Where was Ada Tell born?\n**Intermediate answer:** In Orl.\nSo the final answer is: the Orl"
    )
    shelf = {"Where was Ada Tell born?": [TELL], "Which river runs past Brenn?": [BRENN]}

    def next_one(request: Generate) -> str:
        river = "The river Tarn" in prompted(request)
        return "So the final answer is: Tarn" if river else "Follow up: Which river runs past Brenn?\n"

    replies = [invented, next_one, next_one]
    without = play(self_ask(QUESTION, reader=False, guards=OFF), replies, shelf).answer
    assert (without.text, without.hops) == ("the Orl", ())
    helped = play(self_ask(QUESTION, reader=False, guards=replace(OFF, own=True)), replies, shelf)
    assert (helped.answer.text, len(helped.answer.hops)) == ("Tarn", 2)
    assert "Intermediate answer" in helped.notes("own_observation")[0].text


# --- all together -----------------------------------------------------------------------------------------------


def test_the_papers_guards_add_nothing_to_a_flow() -> None:
    def flow() -> Flow[Answer]:
        looked = yield from look_up("q")
        yield from note("seen", str(len(looked.passages)))
        return Answer("Brenn", "answered", "final_answer", hops=(Hop("q", "q", "", "nothing"),))

    bare = play(flow(), [], {"q": ""})
    paper = play(guarded("q", Transcript("h"), flow(), PAPER), [], {"q": ""})
    assert replace(paper.answer, run="", usage=bare.answer.usage) == replace(bare.answer, run="")
    assert [type(e.body) for e in paper.events] == [type(e.body) for e in bare.events]
