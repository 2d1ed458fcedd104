"""Calibration, by values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.bench.calibration import (
    Point,
    area_under_risk,
    auroc,
    brier,
    expected_calibration_error,
    interval,
    reliability,
    risk_coverage,
)
from sleuth.bench.statistics import wilson

PAIRS = [(0.95, True), (0.9, True), (0.85, False), (0.3, False), (0.25, True), (0.05, False)]
PROBABILITY = st.floats(0, 1)
MANY = st.lists(st.tuples(PROBABILITY, st.booleans()), min_size=1, max_size=30)


def test_bins_hold_answers_of_like_confidence_with_the_share_right():
    bins = reliability(PAIRS, bins=5)
    assert [(b.low, b.high, b.n) for b in bins] == [(0.0, 0.2, 1), (0.2, 0.4, 2), (0.8, 1.0, 3)]
    assert [b.confidence for b in bins] == pytest.approx([0.05, 0.275, 0.9])
    assert [b.right for b in bins] == pytest.approx([0.0, 0.5, 2 / 3])
    assert bins[2].interval == wilson(2, 3)


def test_a_bins_upper_bound_belongs_to_it():
    assert [(b.low, b.n) for b in reliability([(0.0, True), (0.1, True), (0.3, True), (1.0, True)])] == [
        (0.0, 2),
        (0.2, 1),
        (0.9, 1),
    ]


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(ValueError, match="probability"):
        reliability([(wrong, True)])


def test_the_expected_calibration_error_weighs_each_bins_gap_by_its_size():
    # (1 * |0.05 - 0| + 2 * |0.275 - 0.5| + 3 * |0.9 - 2/3|) / 6
    assert expected_calibration_error(PAIRS, bins=5) == pytest.approx((0.05 + 0.45 + 0.7) / 6)
    assert expected_calibration_error([(1.0, True), (0.0, False)]) == 0.0
    assert expected_calibration_error([(1.0, False)]) == 1.0


def test_the_brier_score_is_the_mean_squared_distance():
    assert brier([(0.8, True), (0.6, False)]) == pytest.approx((0.04 + 0.36) / 2)
    assert brier([]) == 0.0


def test_auroc_counts_how_often_a_right_answer_is_surer_than_a_wrong_one():
    # .95 and .9 beat all three wrong ones, .25 beats .05 only: 7 of 9
    assert auroc(PAIRS) == pytest.approx(7 / 9)
    assert auroc([(0.5, True), (0.5, False)]) == 0.5
    assert auroc([(0.5, True)]) is None


def test_risk_and_coverage_are_told_for_each_confidence_surest_first():
    assert risk_coverage([(0.9, True), (0.5, False), (0.5, True), (0.1, False)]) == (
        Point(0.25, 0.0, 0.9),
        Point(0.75, pytest.approx(1 / 3), 0.5),
        Point(1.0, 0.5, 0.1),
    )
    # 1/4 at no risk, 2/4 at 1/3, 1/4 at 1/2
    assert area_under_risk([(0.9, True), (0.5, False), (0.5, True), (0.1, False)]) == pytest.approx(1 / 6 + 1 / 8)
    assert risk_coverage([]) == ()


def test_an_interval_holds_its_measure_and_is_the_same_each_time():
    found = interval(PAIRS, brier, resamples=300)
    assert found == interval(PAIRS, brier, resamples=300)
    assert found[0] <= brier(PAIRS) <= found[1]
    assert interval([], brier) is None
    assert interval([(0.5, True)], auroc, resamples=50) is None


@given(MANY)
def test_all_measures_are_shares_and_the_last_point_covers_everything(pairs):
    assert 0 <= expected_calibration_error(pairs) <= 1
    assert 0 <= brier(pairs) <= 1
    assert auroc(pairs) is None or 0 <= auroc(pairs) <= 1
    assert -1e-9 <= area_under_risk(pairs) <= 1 + 1e-9
    assert sum(each.n for each in reliability(pairs)) == len(pairs)
    last = risk_coverage(pairs)[-1]
    assert (last.coverage, last.risk) == (1.0, pytest.approx(sum(not ok for _, ok in pairs) / len(pairs)))


@given(MANY)
def test_a_bins_mean_confidence_lies_within_its_bounds(pairs):
    for each in reliability(pairs):
        assert each.low - 1e-12 <= each.confidence <= each.high + 1e-12
