"""The vote of several samples: majority, ties, and when it cannot change any more."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.bench import metrics
from sleuth.guards.votes import Votes, normalised


def votes(asked, *answers, order=None):
    """The answers, cast in `order` (of sample numbers)."""
    box = Votes(asked)
    for sample in order if order is not None else range(len(answers)):
        box.cast(sample, answers[sample])
    return box


def test_answers_that_differ_in_articles_punctuation_and_case_are_one():
    box = votes(3, "The Tarn.", "Silt", "tarn")
    assert box.counts() == {"The Tarn.": 2, "Silt": 1}
    assert (box.winner(), box.share()) == (0, pytest.approx(2 / 3))


@pytest.mark.parametrize("answers", [("Tarn", "Silt"), ("Silt", "Tarn")])
def test_of_equally_frequent_answers_that_of_the_lowest_sample_wins(answers):
    assert votes(2, *answers).winner() == 0
    assert votes(4, "a", "b", "b", "a", order=[2, 1, 3, 0]).winner() == 0


def test_a_sample_without_an_answer_is_no_vote_and_lowers_the_share():
    box = votes(3, "", "Tarn", " ")
    assert (box.winner(), box.share()) == (1, pytest.approx(1 / 3))
    none = votes(2, "", "")
    assert (none.winner(), none.share(), none.is_settled()) == (None, None, True)


def test_the_majority_is_settled_when_the_missing_votes_could_not_overturn_it():
    assert not votes(5, "a", "a").is_settled()
    assert votes(5, "a", "a", "a").is_settled()
    assert not votes(5, "a", "a", "b").is_settled()
    assert votes(5, "a", "a", "b", "c").is_settled()
    assert votes(21, *["a"] * 11).is_settled()
    assert not votes(21, *["b"] * 9, *["a"] * 10).is_settled()


def test_a_tie_that_the_lowest_sample_decides_is_settled_too():
    assert votes(4, "a", "a").is_settled()
    # Sample 0 is missing: if it joins 3 in saying "b", the tie is b's.
    assert not votes(4, "", "a", "a", "b", order=[1, 2]).is_settled()


def test_a_share_is_settled_when_it_is_reached_for_good_or_out_of_reach():
    assert votes(4, "a", "a").is_settled(0.5)
    assert votes(5, "a", "b", "c", "d").is_settled(0.5)
    assert not votes(5, "a", "b", "c").is_settled(0.5)
    decided = votes(20, *["a"] * 8, *"bcdef")
    assert (decided.is_settled(), decided.is_settled(0.5)) == (True, False)


ANSWERS = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=6)


@given(answers=ANSWERS, data=st.data())
def test_a_settled_majority_is_that_of_all_samples_whatever_comes_and_in_any_order(answers, data):
    order = data.draw(st.permutations(range(len(answers))))
    final = votes(len(answers), *answers).winner()
    for came in range(len(answers) + 1):
        early = votes(len(answers), *answers, order=order[:came])
        if early.is_settled():
            leader, winner = early.winner(), final
            assert (leader is None and winner is None) or answers[leader] == answers[winner]
        share = data.draw(st.sampled_from([0.2, 0.5, 0.6, 0.7, 1.0]))
        if early.is_settled(share):
            most = max((answers.count(a) for a in answers if a), default=0)
            assert ((early.share() or 0) >= share) == (most / len(answers) >= share)


@given(answers=ANSWERS, data=st.data())
def test_what_is_not_settled_could_come_out_otherwise(answers, data):
    came = data.draw(st.integers(0, len(answers)))
    order = data.draw(st.permutations(range(len(answers))))
    early = votes(len(answers), *answers, order=order[:came])
    if early.is_settled():
        return
    ends = set()
    for rest in itertools.product(["a", "b", "c", "d", "e"], repeat=len(answers) - came):
        full = votes(len(answers), *answers, order=order[:came])
        for sample, answer in zip(order[came:], rest, strict=True):
            full.cast(sample, answer)
        ends.add(full.answers[full.winner()])
    assert len(ends) > 1


@given(st.text())
def test_the_normalisation_is_that_of_the_benchmark_but_keeps_what_it_would_empty(answer):
    assert normalised(answer) in (metrics.normalised(answer), answer.strip().lower())
    assert bool(normalised(answer)) == bool(answer.strip())
