"""A step's result is valid, or there is a phrase that says why not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.guards.plans import PlanStep
from sleuth.guards.validity import asked_for, fits, invalid, says_nothing
from sleuth.types import Citation, Hop, Passage

PASSAGE = Passage("t", "t", "Tarn", "The Tarn bridge was completed on 6 May 1912.")


@dataclass(frozen=True)
class Result:
    hop: Hop
    query: str = ""
    fields: dict[str, str] = field(default_factory=dict)


def of(answer="Tarn", query="Which river is it?", outcome="found", evidence=(PASSAGE,), **fields):
    return Result(Hop(query, query, answer, outcome, tuple(evidence)), query, fields)


def told(result, **step):
    return invalid(PlanStep("s1", "What the plan says", **step), result)


def test_an_answer_with_evidence_is_valid():
    assert told(of()) == ""


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (of(""), "the answer is empty"),
        (of("  "), "the answer is empty"),
        (of("No answer found"), "no answer found"),
        (of("Tarn", outcome="nothing", evidence=()), "no answer found"),
        (of("", outcome="failed", evidence=()), "the source did not answer (failed)"),
        (of("", outcome="rate_limited", evidence=()), "the source did not answer (rate limited)"),
        (of("", outcome="timeout", evidence=()), "the source did not answer (timeout)"),
        (of("Tarn", outcome="memory", evidence=()), "no evidence"),
        (of("Brenn", "When was it completed?"), "a date was asked for, and the answer is 'Brenn'"),
        (of("Brenn", "How many arches has it?"), "a number was asked for, and the answer is 'Brenn'"),
        (of("Brenn", "Is Brenn a town?"), "a yes or no was asked for, and the answer is 'Brenn'"),
        (of("6 May 1912", date=""), "no answer found for 'date'"),
        (of("6 May 1912", date="unknown"), "no answer found for 'date'"),
        (of("It opened.", date="in spring"), "'date' should be a date, and is 'in spring'"),
        (of("It has arches.", count="many"), "'count' should be a number, and is 'many'"),
    ],
)
def test_a_result_that_cannot_be_used_says_why(result, reason):
    assert told(result) == reason


def test_an_answer_read_from_what_an_earlier_step_found_is_valid_whatever_its_own_search_came_to():
    quote = Citation("t", "Tarn", PASSAGE.text, verified=True)
    for outcome in ("nothing", "failed"):
        hop = Hop("q", "q", "Tarn", outcome, (), quote, grounded=True)
        assert told(Result(hop, "Which river is it?")) == ""
        assert told(Result(replace(hop, citation=None), "Which river is it?"))


def test_a_tool_needs_no_passage_and_a_synthesis_is_always_valid():
    assert told(of("42", evidence=()), tool="calculator") == ""
    assert told(of("", evidence=()), synthesis=True) == ""
    assert told(of("", evidence=()), tool="calculator") == "the answer is empty"


def test_the_type_is_asked_of_the_query_as_it_was_looked_up():
    assert told(of("6 May 1912", "When was the Tarn bridge completed?", date="6 May 1912", town="Brenn")) == ""


@pytest.mark.parametrize(
    "answer",
    ["No answer found", "no answer found.", "None", "N/A", "unknown", "Not mentioned in the passages", "I don't know that",
     "No information is given", "Unable to tell"],
)  # fmt: skip
def test_models_say_in_many_words_that_there_is_none(answer):
    assert says_nothing(answer)


@pytest.mark.parametrize(
    "answer", ["Nothing Else Matters", "No", "Nonesuch Records", "Unknown Pleasures", "Not Fade Away", "0"]
)
def test_a_name_that_begins_alike_is_an_answer(answer):
    assert not says_nothing(answer)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("When was the bridge completed?", "date"),
        ("In what year was it opened?", "date"),
        ("Which year did they meet?", "date"),
        ("Brenn bridge completion date", "date"),
        ("date of the price cut", "date"),
        ("birth year of Ada Tell", "date"),
        ("How many arches does it have?", "number"),
        ("What is the population of Brenn?", "number"),
        ("population of Brenn", "number"),
        ("What was Orl's share price after the fire?", "number"),
        ("What was the average height in 1912?", "number"),
        ("What is the age rating of Mill Song?", ""),
        ("What is the name of the price list?", ""),
        ("Brenn population", "number"),
        ("Was Ada Tell a painter?", "yes or no"),
        ("Did both play for Brenn", "yes or no"),
        ("Is Brenn or Orl larger?", ""),
        ("Who was warden when the bridge was completed?", ""),
        ("Whose date book was found?", ""),
        ("Which river runs past Brenn?", ""),
        ("", ""),
    ],
)
def test_the_form_of_a_query_says_what_it_asks_for(query, kind):
    assert asked_for(query) == kind


@pytest.mark.parametrize(
    ("kind", "answer", "does"),
    [
        ("date", "6 May 1912", True),
        ("date", "1912", True),
        ("date", "the 1990s", True),
        ("date", "May 6", True),
        ("date", "Brenn", False),
        ("number", "about 1,200", True),
        ("number", "twenty-one", True),
        ("number", "many", False),
        ("yes or no", "Yes, both", True),
        ("yes or no", "no", True),
        ("yes or no", "Nova", False),
        ("", "anything", True),
    ],
)
def test_an_answer_is_of_that_type_or_not(kind, answer, does):
    assert fits(kind, answer) is does


@given(
    st.text(max_size=80), st.text(max_size=80), st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=3)
)
def test_any_text_is_valid_or_not(query, answer, fields):
    reason = told(Result(Hop(query, query, answer, "found", (PASSAGE,)), query, fields))
    assert isinstance(reason, str)
    if not answer.strip():
        assert reason
