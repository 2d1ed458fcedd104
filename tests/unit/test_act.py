"""Act: ReAct's loop and examples less the thoughts."""

from __future__ import annotations

from tests.support.play import play

from sleuth.guards.guarded import PAPER
from sleuth.strategies import TABLE
from sleuth.strategies.act import act
from sleuth.strategies.react import react
from sleuth.types import Guards

QUESTION = "Which river runs past the town where Ada Tell was born?"
PAGES = {"Ada Tell": "Ada Tell was a painter. She was born in Brenn.", "Brenn": "Brenn is a town on the river Tarn."}
ACTIONS = ["Search[Ada Tell]", "Lookup[born]", "Search[Brenn]", "Finish[Tarn]"]


def paper(**params):
    return act(QUESTION, **{"reader": False, "guards": PAPER, **params})


def test_actions_and_observations_alternate_and_no_thought_is_asked_for():
    run = play(paper(), [f" {action}" for action in ACTIONS], {}, PAGES)
    assert (run.answer.text, run.answer.ended, len(run.requests)) == ("Tarn", "final_answer", 4)
    assert run.prompts[-1].endswith(
        f"Question: {QUESTION}\n"
        "Action 1: Search[Ada Tell]\nObservation 1: Ada Tell was a painter. She was born in Brenn.\n"
        "Action 2: Lookup[born]\nObservation 2: (Result 1 / 1) She was born in Brenn.\n"
        "Action 3: Search[Brenn]\nObservation 3: Brenn is a town on the river Tarn.\nAction 4:"
    )
    assert "Thought" not in run.prompts[-1]
    assert run.notes("thought") == []


def test_it_finds_and_cites_what_react_does_by_the_same_actions():
    with_thoughts = [f" t\nAction {n}: {action}\n" for n, action in enumerate(ACTIONS, 1)]
    thinking = play(react(QUESTION, reader=False, guards=PAPER), with_thoughts, {}, PAGES).answer
    acting = play(paper(), [f" {action}" for action in ACTIONS], {}, PAGES).answer
    assert (acting.hops, acting.citations) == (thinking.hops, thinking.citations)


def test_a_reply_that_is_no_action_is_asked_for_in_a_form_that_allows_nothing_else():
    run = play(paper(), [" I would say Tarn.", " Finish[Tarn]"], {}, PAGES)
    assert (run.answer.text, len(run.notes("repair"))) == ("Tarn", 1)
    assert run.requests[0].shape is None
    assert run.requests[1].shape is not None
    lost = play(paper(), [" I would say Tarn.", " Tarn"], {}, PAGES)
    assert (lost.answer.status, lost.answer.ended) == ("failed", "unparsable")


def test_in_the_default_setting_a_reading_answers():
    run = play(act(QUESTION, guards=Guards(confidence=None)), [" Search[Brenn]", " Finish[lost]", "Tarn"], {}, PAGES)
    assert (run.answer.text, [r.role for r in run.requests]) == ("Tarn", ["plan", "plan", "read"])


def test_a_claim_ends_in_a_label():
    settings = TABLE["act"].settings["claims"]
    run = play(act("Ada Tell was born in Orl.", **settings), [" Search[Ada Tell]", " Finish[refuted]"], {}, PAGES)
    assert run.answer.text == "REFUTES"
    assert "Claim: Ada Tell was born in Orl.\nAction 1:" in run.prompts[0]


def test_what_is_known_stands_behind_the_question():
    run = play(paper(known="Known: Brenn."), [" Finish[Tarn]"], {}, PAGES)
    assert run.prompts[0].endswith(f"Question: {QUESTION}\nKnown: Brenn.\nAction 1:")
