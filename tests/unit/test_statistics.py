"""Bootstrap intervals: they can be repeated, hold the mean, and narrow with more questions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.bench import statistics
from sleuth.bench.statistics import interval, mean, paired, wilson

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=12)
few = settings(max_examples=25)


@pytest.fixture(autouse=True)
def quicker(monkeypatch):
    """Fewer resamples in `paired`, whose number is not asked for."""
    monkeypatch.setattr(statistics.interval, "__defaults__", (0.95, 400))


def test_the_mean_of_nothing_is_zero():
    assert (mean([]), interval([])) == (0.0, (0.0, 0.0))
    assert mean([1.0, 0.0, 0.5]) == 0.5
    assert paired([], []) == (0.0, 0.0, 0.0)


@few
@given(SCORES)
def test_an_interval_holds_the_mean_and_stays_between_the_least_and_the_most(values):
    low, high = interval(values)
    near = 1e-9
    assert min(values) - near <= low <= mean(values) + near
    assert mean(values) - near <= high <= max(values) + near


@few
@given(SCORES)
def test_an_interval_can_be_repeated(values):
    assert interval(values) == interval(values)


@few
@given(SCORES)
def test_a_wider_level_gives_a_wider_interval(values):
    (low, high), (lower, higher) = interval(values, 0.5), interval(values, 0.99)
    assert lower <= low <= high <= higher


def test_more_questions_narrow_it_and_equal_values_close_it():
    few_low, few_high = interval([0.0, 1.0] * 5)
    many_low, many_high = interval([0.0, 1.0] * 100)
    assert many_high - many_low < (few_high - few_low) / 2
    assert interval([0.25] * 9) == (0.25, 0.25)


def test_an_interval_is_about_as_wide_as_theory_says():
    """Half of 100 right: the normal interval of the mean is 0.5 +- 0.098."""
    low, high = interval([0.0, 1.0] * 50, resamples=4000)
    assert low == pytest.approx(0.402, abs=0.02)
    assert high == pytest.approx(0.598, abs=0.02)


@few
@given(SCORES)
def test_a_list_compared_with_itself_differs_by_nothing(values):
    assert paired(values, values) == (0.0, 0.0, 0.0)


@few
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_a_comparison_turned_round_is_its_mirror(pairs):
    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    difference, low, high = paired(ours, theirs)
    assert paired(theirs, ours)[0] == pytest.approx(-difference)
    assert low - 1e-9 <= difference <= high + 1e-9


def test_pairing_sees_a_small_steady_gain_that_the_means_alone_would_not():
    theirs = [0.0, 1.0] * 20
    ours = [value + 0.1 for value in theirs]
    difference, low, high = paired(ours, theirs)
    assert difference == pytest.approx(0.1)
    assert (low, high) == (pytest.approx(0.1), pytest.approx(0.1))
    assert interval(ours)[0] < mean(theirs) < interval(ours)[1]


def test_lists_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        paired([1.0, 0.0], [1.0])


def test_wilsons_interval_agrees_with_published_values():
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-3)  # Newcombe 1998 gives such intervals for small n
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-3)
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 200), st.data())
def test_wilsons_interval_holds_the_share_and_stays_between_0_and_1(n, data):
    hits = data.draw(st.integers(0, n))
    least, most = wilson(hits, n)
    assert 0.0 <= least <= hits / n + 1e-9 <= most + 2e-9 <= 1.0 + 2e-9
