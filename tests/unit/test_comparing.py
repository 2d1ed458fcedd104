"""Which came first: two dates decide, by rule, or nothing does."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.guards.dates.comparing import earlier_or_later
from sleuth.types import Hop


def hops(*told, grounded=True):
    return [Hop(question, answer=answer, grounded=grounded) for question, answer in told]


BRIDGES = hops(("When was the Orl bridge built?", "6 May 1912"), ("When was Brenn Mill opened?", "1907"))


@pytest.mark.parametrize(
    ("question", "option"),
    [
        ("Which was built first, Orl bridge or Brenn Mill?", "Brenn Mill"),
        ("Which is older, Brenn Mill or Orl bridge?", "Brenn Mill"),
        ("Which opened at a later date, Orl bridge or Brenn Mill?", "Orl bridge"),
        ("Which of Orl bridge and Brenn Mill is taller?", None),
        ("Which is taller, Orl bridge or Brenn Mill?", None),
        ("Which was built first, Orl bridge or Tarn Hall?", None),
        ("Was the first or the last one later, Orl bridge or Brenn Mill?", None),
        ("When was Orl bridge first built?", None),
    ],
)
def test_the_dates_of_two_hops_decide_between_the_two_that_the_question_names(question, option):
    found = earlier_or_later(question, BRIDGES)
    assert (found[0] if found else None) == option


@pytest.mark.parametrize(
    "told",
    [
        hops(("When was the Orl bridge built?", "1912"), ("When was Brenn Mill opened?", "May 1912")),
        hops(("When was the Orl bridge built?", "1912"), ("When was Brenn Mill opened?", "long ago")),
        hops(("When was the Orl bridge built?", "1912 or 1913"), ("When was Brenn Mill opened?", "1907")),
        hops(("When was the Orl bridge built?", "1912"), ("When was Brenn Mill opened?", "1907"), grounded=False),
        hops(("Orl bridge", "1912"), ("Orl bridge again", "1913"), ("Brenn Mill", "1907")),
    ],
)
def test_dates_that_overlap_are_missing_doubled_or_not_found_in_the_evidence_decide_nothing(told):
    assert earlier_or_later("Which was built first, Orl bridge or Brenn Mill?", told) is None


@given(st.text(), st.text(), st.text())
def test_any_text_gives_one_of_the_two_or_nothing(question, query, said):
    found = earlier_or_later(f"Which was first, {question}?", hops((query, said), (question, "1912")))
    assert found is None or found[0] in question


def test_a_question_of_any_length_is_read_at_once():
    began = time.process_time()
    assert earlier_or_later("Which was first, " + "of A or " * 2_000 + ",", []) is None
    assert time.process_time() - began < 0.2
