"""Exact match and F1 as HotpotQA's script computes them, at the places where scripts differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.bench.metrics import all_found, exact_match, f1, normalised, recall

ANSWERS = st.one_of(
    st.text(max_size=30), st.sampled_from(["yes", "No.", "noanswer", "the", "a b", "b a", "A", "", "b b"])
)


@pytest.mark.parametrize(
    ("answer", "same"),
    [
        ("The Eiffel Tower", "eiffel tower"),
        ("  an  Apple, a day.", "apple day"),
        ("U.S.", "us"),
        ("theatre", "theatre"),
        ("Beyoncé", "beyoncé"),
        ("“Tarn”", "“tarn”"),
        ("rock-n-roll", "rocknroll"),
        ("The", ""),
        ("...", ""),
        ("1,063", "1063"),
    ],
)
def test_case_ascii_punctuation_articles_and_spacing_are_gone_and_nothing_else(answer, same):
    assert normalised(answer) == same


def test_accents_count_as_in_the_official_script():
    assert (exact_match("Beyonce", ["Beyoncé"]), f1("Beyonce", ["Beyoncé"])) == (0.0, 0.0)
    assert (exact_match("beyoncé", ["Beyoncé"]), f1("Beyoncé Knowles", ["Beyoncé"])) == (1.0, pytest.approx(2 / 3))


def test_yes_and_no_only_match_themselves():
    assert f1("yes, they were", ["yes"]) == 0.0
    assert f1("yes", ["yes, they were"]) == 0.0
    assert f1("No.", ["no"]) == exact_match("No.", ["no"]) == 1.0
    assert f1("no", ["yes"]) == f1("noanswer", ["no answer"]) == 0.0
    assert f1("there is no bridge", ["no bridge"]) > 0.0


def test_f1_counts_words_as_often_as_they_stand():
    assert f1("b b", ["b"]) == pytest.approx(2 / 3)
    assert f1("President Benjamin Harrison", ["Benjamin Harrison"]) == pytest.approx(0.8)
    assert f1("Grover Cleveland", ["Benjamin Harrison"]) == 0.0


def test_the_best_of_several_golds_counts():
    assert f1("Harrison", ["Grover Cleveland", "Benjamin Harrison", "B. Harrison VIII"]) == pytest.approx(2 / 3)
    assert exact_match("Harrison", ["Grover Cleveland", "harrison"]) == 1.0


def test_empty_answers_match_only_what_is_empty_too():
    assert (exact_match("", ["x"]), f1("", ["x"])) == (0.0, 0.0)
    assert (exact_match("the", [""]), f1("the", [""])) == (1.0, 1.0)
    assert (exact_match("x", []), f1("x", [])) == (0.0, 0.0)


@given(ANSWERS, st.lists(ANSWERS, max_size=3))
def test_exact_match_never_exceeds_f1_and_both_stay_within_bounds(answer, gold):
    assert 0.0 <= exact_match(answer, gold) <= f1(answer, gold) <= 1.0


@given(ANSWERS, ANSWERS)
def test_f1_is_the_same_both_ways(answer, gold):
    assert f1(answer, [gold]) == f1(gold, [answer])


@given(ANSWERS, ANSWERS)
def test_f1_is_whole_for_the_same_words_in_any_order_only(answer, gold):
    same = sorted(normalised(answer).split()) == sorted(normalised(gold).split())
    assert (f1(answer, [gold]) == 1.0) == same


@given(st.text())
def test_normalising_twice_changes_no_more_than_once(text):
    assert normalised(normalised(text)) == normalised(text)


def test_gold_passages_found():
    assert all_found(["a", "b", "c"], ["c", "a"]) == 1.0
    assert all_found(["a"], ["c", "a"]) == 0.0
    assert all_found([], []) == 1.0
    assert recall(["a", "a", "x"], ["a", "b"]) == 0.5
    assert recall(["a"], []) == 1.0
    assert recall([], ["a"]) == 0.0


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_all_are_found_exactly_when_recall_is_whole(found, gold):
    assert 0.0 <= recall(found, gold) <= 1.0
    assert (all_found(found, gold) == 1.0) == (recall(found, gold) == 1.0)
