"""Labels as small models really write them, and the text behind them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.guards.scaffold import cut_own, label, line, numbered, unwrapped


def behind(pattern, text):
    found = pattern.search(text)
    return text[found.end() :] if found else None


@pytest.mark.parametrize(
    "text",
    [
        "Follow up: x",
        "follow up:x",
        "FOLLOW  UP:  x",
        "**Follow up:** x",
        "**Follow-up** : x",
        "__follow_up:__ x",
        "### Followup: x",
        "> Follow up: x",
        "`Follow up:` x",
        "Yes.\n  Follow up: x",
        "\tFollow up\n: x",
    ],
)
def test_a_label_is_found_in_any_case_spacing_and_markdown(text):
    assert behind(label("Follow up:"), text) == "x"


@pytest.mark.parametrize(
    "text", ["I follow up: x", "Follow up x", "Follow ups: x", "Fallow up: x", "So follow up: x", "", ":"]
)
def test_a_label_stands_at_a_lines_start_and_has_its_colon(text):
    assert behind(label("Follow up:"), text) is None


@pytest.mark.parametrize("text", ["Thought 3: x", "thought: x", "**Thought 3:** x", "Thought3:x", "THOUGHT **12** : x"])
def test_a_numbered_label_may_carry_any_number_or_none(text):
    assert behind(numbered("Thought"), text) == "x"


@pytest.mark.parametrize("text", ["Thoughts: x", "A thought 3: x", "Thought three: x", "Thought 3 x"])
def test_a_numbered_label_is_no_part_of_other_words(text):
    assert behind(numbered("Thought"), text) is None


def test_the_content_of_a_label_may_start_on_the_next_line_but_is_not_skipped_over():
    assert behind(label("Answer:"), "Answer:\n  yes") == "\n  yes"


def test_the_first_line_that_says_something_is_taken_without_its_wrapping():
    assert line("\n  \n** **\n **Paris** \nLondon") == "Paris"
    assert line("\n*\n") == ""
    assert line("") == ""


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("**x**", "x"),
        ("***x***", "x"),
        ("*x*", "x"),
        ("__x__", "x"),
        ("`x`", "x"),
        ("x**", "x"),
        ("** x", "x"),
        ("**a** b", "**a** b"),
        ("2 * 3", "2 * 3"),
        ("_id", "_id"),
        ("snake_case_", "snake_case_"),
        ("**", ""),
        ("*", "*"),
        ("  a b  ", "a b"),
    ],
)
def test_emphasis_round_the_whole_text_is_taken_off_and_none_inside(text, bare):
    assert unwrapped(text) == bare


@given(st.text())
def test_a_line_is_one_line_without_space_around(text):
    found = line(text)
    assert found == found.strip()
    assert "\n" not in found
    assert found in text


@given(st.text(st.characters(categories=["L", "N"]), min_size=1), st.sampled_from(["", "**", "*", "__", "`", "***"]))
def test_words_survive_any_one_wrapping(words, mark):
    assert unwrapped(f" {mark}{words}{mark} ") == words


@given(st.text(), st.text(st.characters(categories=["L", "N"]), min_size=1))
def test_a_label_is_found_wherever_a_line_starts_with_it(before, content):
    found = [before[m.end() :] for m in label("So the final answer is:").finditer(before)]
    text = f"{before}\nSo the final answer is: {content}"
    ends = list(label("So the final answer is:").finditer(text))
    assert len(ends) == len(found) + 1
    assert text[ends[-1].end() :] == content


OWN = ("Observation:", "Intermediate answer:")


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("I look.\nObservation 3: fake\nmore", "I look.\n"),
        ("I look.\n  **observation:** fake", "I look.\n"),
        ("Follow up: where?\n### INTERMEDIATE  ANSWER : fake", "Follow up: where?\n"),
        ("Intermediate-answer: a\nObservation: b", ""),
        ("Observation3: a", ""),
        ("> Observation: a", ""),
        ("My observation: a", "My observation: a"),
        ("Observations: a", "Observations: a"),
        ("Observation a", "Observation a"),
        ("a Observation: b", "a Observation: b"),
        ("", ""),
    ],
)
def test_what_the_model_must_not_write_is_cut_at_its_lines_start(reply, kept):
    assert cut_own(reply, *OWN) == (kept, reply[len(kept) :])


@given(st.text())
def test_without_a_label_nothing_is_cut_and_a_label_of_no_letters_cuts_nothing(reply):
    assert cut_own(reply) == (reply, "")
    assert cut_own(reply, "", ":", "12:") == (reply, "")


@given(
    st.text(),
    st.sampled_from(["Observation:", "**observation 12 :** ", " INTERMEDIATE  answer:", "> Intermediate_answer:"]),
    st.text(),
)
def test_a_reply_is_its_two_parts_and_no_label_is_left_in_the_first(before, own, after):
    reply = f"{before}\n{own}{after}"
    kept, dropped = cut_own(reply, *OWN)
    assert kept + dropped == reply
    assert len(kept) <= len(before) + 1
    assert cut_own(kept, *OWN) == (kept, "")


@pytest.mark.parametrize("marks", ["*" * 28, "_#" * 14, "> " * 14])
def test_a_line_of_nothing_but_marks_is_read_at_once(marks):
    began = time.process_time()
    assert cut_own(f"x\n{marks}", "Observation:") == (f"x\n{marks}", "")
    assert label("Follow up:").search(marks) is None
    assert numbered("Action").search(marks) is None
    assert time.process_time() - began < 0.2
