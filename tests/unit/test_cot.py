"""Chain of thought and Standard: one call from the model's own knowledge, and how its answer is read."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.play import play

from sleuth.errors import BadReply
from sleuth.strategies.cot import STOP, cot, parse, prompt, thought_of
from sleuth.strategies.standard import standard

QUESTION = "Which river runs past the town where Ada Tell was born?"
CLAIM = "Ada Tell was born in Brenn."
REPLY = " Ada Tell was born in Brenn. The Tarn runs past Brenn.\nAnswer: Tarn."


def test_it_is_one_call_whose_answer_stands_behind_answer_and_whose_thought_is_noted():
    run = play(cot(QUESTION), [REPLY], {})
    assert (run.answer.text, run.answer.status, run.answer.ended) == ("Tarn", "answered", "final_answer")
    assert len(run.requests) == 1
    assert run.looked == []
    assert [note.text for note in run.notes("thought")] == ["Ada Tell was born in Brenn. The Tarn runs past Brenn."]
    assert run.prompts[0].endswith(f"Question: {QUESTION}\nThought:")
    assert (run.requests[0].closing, run.requests[0].stop) == (True, STOP)


def test_a_reply_without_an_answer_is_unparsable_and_is_kept_whole():
    run = play(cot(QUESTION), [" I cannot say."], {})
    assert (run.answer.text, run.answer.status, run.answer.ended) == ("", "failed", "unparsable")
    assert run.answer.transcript == " I cannot say."
    with pytest.raises(BadReply) as caught:
        parse(" I cannot say.")
    assert caught.value.details["reply"] == " I cannot say."


def test_a_draw_is_told_to_the_model_and_shares_its_prompt_with_the_others():
    first, second = (play(cot(QUESTION, temperature=0.7, sample=n), [REPLY], {}).requests[0] for n in (0, 1))
    assert (first.temperature, first.sample, second.sample) == (0.7, 0, 1)
    assert first.messages == second.messages == prompt(QUESTION)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("It is so.\nAnswer: Tarn", "Tarn"),
        ("Answer: Silt\nNo, wait.\n**Answer:** Tarn", "Tarn"),
        ("It is.\nFinal Answer: Tarn", "Tarn"),
        ("It is.\nAnswer: Tarn\n\nQuestion: Mine?\nThought: x\nAnswer: lie", "Tarn"),
        ("answer: 'Tarn'", "'Tarn'"),
        ("Answer: Sammy Tell Jr.", "Sammy Tell Jr."),
        ("Answer:\nTarn", "Tarn"),
    ],
)
def test_the_last_answer_counts_before_the_model_invents_a_question(reply, answer):
    assert parse(reply) == answer


@pytest.mark.parametrize("reply", ["", "Tarn", "Answer:", "Question: Mine?\nAnswer: lie", "The answer is Tarn."])
def test_no_answer_is_a_bad_reply(reply):
    with pytest.raises(BadReply):
        parse(reply)


def test_a_claim_is_answered_by_a_label():
    run = play(cot(CLAIM, task="claim"), [" She was.\nAnswer: supported"], {})
    assert (run.answer.text, run.answer.grounded) == ("SUPPORTS", None)
    assert run.prompts[0].endswith(f"Claim: {CLAIM}\nThought:")
    assert play(cot(CLAIM, task="claim"), [" She was.\nAnswer: yes"], {}).answer.ended == "unparsable"


def test_examples_and_instructions_can_be_the_users_own():
    (message,) = prompt("Q?", examples="Question: Mine?\nThought: t\nAnswer: a", instructions="Do it so.")
    assert message.content == "Do it so.\n\nQuestion: Mine?\nThought: t\nAnswer: a\n\nQuestion: Q?\nThought:"


@given(st.text(), st.sampled_from(["question", "claim"]))
def test_the_parsers_take_any_text(reply, task):
    with contextlib.suppress(BadReply):
        assert parse(reply, task)
    assert "\n" not in thought_of(reply)


# --- standard -------------------------------------------------------------------------------------------------------


def test_standard_in_the_papers_form_shows_questions_and_answers_and_reads_the_first_line():
    run = play(standard(QUESTION, worked=True), [" Tarn.\nand more"], {})
    assert (run.answer.text, run.answer.status) == ("Tarn", "answered")
    assert run.prompts[0].endswith(f"Answer: yes\n\nQuestion: {QUESTION}\nAnswer:")
    assert "Thought" not in run.prompts[0]


def test_standard_answers_a_claim_by_a_label_or_not_at_all():
    assert play(standard(CLAIM, task="claim"), [" refutes"], {}).answer.text == "REFUTES"
    lost = play(standard(CLAIM, task="claim"), [" yes"], {}).answer
    assert (lost.text, lost.status, lost.ended) == ("", "failed", "unparsable")
