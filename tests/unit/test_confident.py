"""A loop that reads between hops: it stops once the answer is sure, pays for no reading twice, and is not fooled."""

from __future__ import annotations

import pytest
from tests.support.play import play

from sleuth.guards.guarded import PAPER
from sleuth.strategies.self_ask import self_ask
from sleuth.types import Budget, Completion, Guards, Passage

QUESTION = "Which river runs past the town where Ada Tell was born?"
RIVER = "Which river runs past Brenn?"
ELSE = "Which mills stood on a river in Orl?"
DONE = "So the final answer is:"


def passage(title, text):
    return Passage(title, title, title, text)


TELL = passage("Ada Tell", "Ada Tell was a painter who was born in Brenn.")
BRENN = passage("Brenn", "Brenn is a town. The river Tarn runs past Brenn.")
SILT = passage("Silt", "The Silt is a river.")
ORL = passage("Orl", "Mills stood on a river in Orl.")
SHELF = {QUESTION: [SILT, TELL], f"{QUESTION} {RIVER}": [BRENN], f"{QUESTION} {ELSE}": [ORL]}
SURE, UNSURE = -0.05, -0.5


def model(*follow_ups, logprob=SURE, judged="90%", lost="Silt"):
    """Asks these follow-ups, then is done; reads Tarn where it sees Brenn's page, else what it is `lost` at."""
    turns = iter(follow_ups)

    def reply(request):
        if request.role == "judge":
            return judged
        if request.role == "read":
            shown = "".join(m.content for m in request.messages)
            text = "Tarn" if BRENN.text in shown else lost
            return Completion(f" {text}", logprob=logprob)
        asked = next(turns, None)
        prefixed = request.messages[-1].role == "assistant"
        return DONE if asked is None else asked if prefixed else f"Follow up: {asked}"

    return [reply] * 30


def ask(replies, shelf=SHELF, budget=Budget(), question=QUESTION, **guards):
    flow = self_ask(question, guards=Guards(**{"fallback": "off", "citations": "off", **guards}))
    return play(flow, replies, shelf, budget=budget)


def readings(run):
    return [request for request in run.requests if request.role == "read"]


def test_without_the_guard_a_further_hop_loses_the_answer_and_with_it_the_loop_stops_in_time():
    wrong = ask(model(RIVER, ELSE), confidence=None)
    assert (wrong.answer.text, len(wrong.answer.hops), len(wrong.requests)) == ("Silt", 2, 4)
    right = ask(model(RIVER, ELSE), confidence=0.8)
    assert (right.answer.text, right.answer.ended, len(right.answer.hops)) == ("Tarn", "confident", 1)
    assert len(right.requests) == 2


def test_a_reading_that_stops_the_loop_is_the_answer_and_is_not_paid_for_twice():
    run = ask(model(RIVER, ELSE))
    assert len(readings(run)) == 1
    assert (run.answer.confidence, run.answer.confidence_by) == (pytest.approx(0.951, abs=1e-3), "logprob")
    assert run.notes("confidence")[0].data == {
        "confidence": run.answer.confidence,
        "by": "logprob",
        "threshold": 0.8,
        "stop": True,
    }


def test_an_unsure_reading_lets_the_loop_go_on_and_is_kept_for_the_end():
    run = ask(model(RIVER, logprob=UNSURE))
    assert (run.answer.text, run.answer.ended, len(run.answer.hops)) == ("Tarn", "final_answer", 1)
    assert [note.data["stop"] for note in run.notes("confidence")] == [False]
    assert len(readings(run)) == 1


def test_the_threshold_is_the_users():
    assert ask(model(RIVER, ELSE), confidence=0.96).answer.ended == "final_answer"
    assert ask(model(RIVER, ELSE, logprob=UNSURE), confidence=0.5).answer.ended == "confident"


def test_a_model_that_does_not_tell_log_probabilities_is_read_between_hops_once():
    run = ask(model(ELSE, RIVER, logprob=None))
    assert [note.data["confidence"] for note in run.notes("confidence")] == [None]
    assert (run.answer.text, len(readings(run)), run.answer.confidence_by) == ("Tarn", 2, "")


def test_a_sure_answer_that_no_passage_says_stops_nothing():
    run = ask(model(ELSE, RIVER, lost="Danube"))
    assert [(note.text, note.data["stop"]) for note in run.notes("confidence")] == [("Danube", False), ("Tarn", True)]
    assert (run.answer.text, len(run.answer.hops)) == ("Tarn", 2)


def test_the_model_may_be_asked_how_sure_it_is():
    run = ask(model(RIVER, ELSE, logprob=None), confidence_by="asked")
    assert [request.role for request in run.requests] == ["plan", "read", "judge"]
    assert (run.answer.ended, run.answer.confidence, run.answer.confidence_by) == ("confident", 0.9, "asked")
    assert run.prompts[2].startswith(run.prompts[1])


@pytest.mark.parametrize("judged", ["60%", "I am sure.", ""])
def test_a_model_that_says_it_is_unsure_or_says_nothing_goes_on(judged):
    run = ask(model(RIVER, ELSE, judged=judged), confidence_by="asked")
    assert (run.answer.ended, len(run.answer.hops)) == ("final_answer", 2)


def test_where_the_budget_does_not_reach_for_a_reading_between_the_answer_is_still_read():
    run = ask(model(RIVER, ELSE), budget=Budget(calls=2))
    assert (run.answer.text, run.answer.ended, len(run.requests)) == ("Tarn", "budget", 2)


def test_the_papers_setting_reads_nothing_between_hops():
    run = play(self_ask(QUESTION, reader=False, guards=PAPER), model(RIVER, ELSE), SHELF)
    assert {request.role for request in run.requests} == {"plan"}


# --- questions about a moment ---------------------------------------------------------------------------------------

TIMED = "Who was warden of Orl Hall when the Brenn bridge was completed?"
BRIDGE = passage("Brenn bridge", "The Brenn bridge was completed on 6 May 1912. It crosses the Tarn.")
WARDEN = passage("Ada Tell", "Ada Tell was warden of Orl Hall from 1907 to 1921.")
EARLIER = passage("Jon Rook", "Jon Rook was warden of Orl Hall from 1899 to 1907.")
WHEN = "When was the Brenn bridge completed?"
THEN = "Who was warden of Orl Hall on 6 May 1912?"
HALL = {
    TIMED: [EARLIER, BRIDGE],
    f"{TIMED} {WHEN}": [BRIDGE, EARLIER],
    "Who was warden of Orl Hall": [WARDEN, BRIDGE],
}


def test_a_question_about_a_moment_is_not_settled_before_the_moment_was_asked_about():
    run = ask(model(WHEN, THEN, "More?", lost="Ada Tell"), HALL, question=TIMED)
    assert ([hop.question for hop in run.answer.hops], run.answer.text) == ([WHEN, THEN], "Ada Tell")
    assert (run.answer.ended, len(run.notes("confidence"))) == ("confident", 1)


def test_a_sure_answer_that_dates_contradict_stops_nothing():
    run = ask(model(WHEN, THEN, lost="Tarn"), HALL, question=TIMED)
    assert [note.data["stop"] for note in run.notes("confidence")] == [False]
    assert "The Brenn bridge was completed" in run.answer.citations[0].quote
    assert run.answer.ended == "final_answer"


# --- Self-Ask's other guards ------------------------------------------------------------------------------------------

OWN = f" Yes.\nFollow up: {RIVER}\nintermediate  answer: The Danube does.\n{DONE} Danube"


def test_an_intermediate_answer_that_the_model_writes_itself_is_cut_there_and_told():
    def paper(own):
        guards = Guards(None, fallback="off", compress=0, repeats="exact", citations="off", own=own)
        return play(
            self_ask(QUESTION, reader=False, guards=guards), [Completion(OWN), f"{DONE} Tarn"], {RIVER: BRENN.text}
        )

    assert paper(own=False).answer.text == "Danube"
    right = paper(own=True)
    assert (right.answer.text, right.queries) == ("Tarn", [RIVER])
    assert [note.text for note in right.notes("own_observation")] == [
        f"intermediate  answer: The Danube does.\n{DONE} Danube"
    ]


def test_a_long_dialogue_is_compressed_before_a_further_follow_up_and_only_then():
    names = "one two three four five six".split()
    follow_ups = [f"Which mill of the many mills stood at number {name} on the Tarn?" for name in names]

    def run(limit):
        guards = Guards(None, fallback="off", compress=limit, citations="off")
        return play(self_ask(QUESTION, follow_ups=6, guards=guards), model(*follow_ups), {QUESTION: [SILT, TELL]})

    short, long = run(30), run(0)
    assert (len(short.answer.hops), bool(short.notes("compressed")), long.notes("compressed")) == (6, True, [])
    last = [[r for r in each.requests if r.role == "plan"][-1] for each in (short, long)]
    assert len(last[0].messages) < len(last[1].messages)
    assert last[0].messages[0] == last[1].messages[0]


AGAIN = "Past Brenn, which river runs?"
FRESH = {**SHELF, f"{QUESTION} {AGAIN}": [SILT]}


def test_a_follow_up_in_other_words_of_the_same_is_refused_where_near_repeats_count():
    exact = ask(model(RIVER, AGAIN), FRESH, repeats="exact", confidence=None)
    assert ([hop.question for hop in exact.answer.hops], exact.notes("refused")) == ([RIVER, AGAIN], [])
    near = ask(model(RIVER, AGAIN, ELSE), FRESH, repeats="near", confidence=None)
    assert [hop.question for hop in near.answer.hops] == [RIVER, ELSE]
    assert [note.text for note in near.notes("refused")] == [AGAIN]


def test_a_follow_up_that_comes_again_is_told_once_reformulated_once_and_then_ends_the_hops():
    run = ask(model(*[RIVER] * 9), confidence=None)
    assert [hop.question for hop in run.answer.hops] == [RIVER, RIVER]
    assert (len(run.notes("reformulated")), len(run.notes("refused"))) == (1, 4)
    assert run.answer.hops[1].query == run.notes("reformulated")[0].text != RIVER
    assert (run.answer.text, run.answer.ended) == ("Tarn", "repeated")


def test_only_one_follow_up_of_a_run_is_reformulated():
    run = ask(model(RIVER, RIVER, RIVER, ELSE, ELSE, ELSE, "More?"), confidence=None)
    assert [hop.question for hop in run.answer.hops] == [RIVER, RIVER, ELSE]
    assert (len(run.notes("reformulated")), run.answer.ended) == (1, "repeated")


def test_with_repeats_off_the_same_follow_up_may_come_again():
    run = ask(model(RIVER, RIVER), repeats="off", confidence=None)
    assert ([hop.question for hop in run.answer.hops], run.notes("refused")) == ([RIVER, RIVER], [])
