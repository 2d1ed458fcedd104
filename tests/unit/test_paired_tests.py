"""Tests of two methods on the same questions: against scipy, by known values, and by benches whose truth is known."""

from __future__ import annotations

import itertools
import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.bench.statistics import (
    NO_DIFFERENCE,
    adjusted,
    compared,
    holm,
    interval,
    mcnemar,
    mean,
    midp,
    paired,
    paired_test,
    verdict,
    wilson,
)
from sleuth.errors import EnvironmentFault

LUMPS = (0.0, 0.4, 0.5, 2 / 3, 0.8, 1.0)
PAIRS = st.lists(st.tuples(st.sampled_from(LUMPS), st.sampled_from(LUMPS)), min_size=1, max_size=30)
BENCHES = 1_000


def wilson_99_9(rejected: int) -> tuple[float, float]:
    return wilson(rejected, BENCHES, z=3.3)


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (1, 0), (5, 0), (3, 3), (2, 9), (40, 61), (0, 700)])
def test_midp_is_the_exact_binomial_p_less_half_of_what_was_seen(won, lost):
    stats = pytest.importorskip("scipy.stats")
    if won == lost:
        assert midp(won, lost) == 1.0
    else:
        exact = stats.binomtest(won, won + lost).pvalue
        assert midp(won, lost) == pytest.approx(exact - stats.binom.pmf(won, won + lost, 0.5))


def test_mcnemar_counts_only_the_questions_on_which_they_disagree():
    ours, theirs = [1.0] * 7 + [0.0] * 2 + [1.0] * 20, [0.0] * 7 + [1.0] * 2 + [1.0] * 20
    assert mcnemar(ours, theirs) == mcnemar(theirs, ours) == midp(7, 2) == pytest.approx(0.1093750)
    with pytest.raises(ValueError, match=r"not 0\.5"):
        mcnemar([0.5], [1.0])
    with pytest.raises(ValueError, match="shorter"):
        mcnemar([1.0, 1.0], [1.0])


def test_the_sign_flip_test_agrees_with_scipy():
    numpy, stats = pytest.importorskip("numpy"), pytest.importorskip("scipy.stats")
    rng = numpy.random.default_rng(5)
    for n, moved in ((9, 0.1), (40, 0.0), (40, 0.2)):
        ours, theirs = rng.choice(LUMPS, n) + moved, rng.choice(LUMPS, n)
        known = stats.permutation_test(
            (ours - theirs,), numpy.mean, permutation_type="samples", n_resamples=20_000, rng=rng
        ).pvalue
        assert paired_test(ours.tolist(), theirs.tolist()) == pytest.approx(known, abs=0.02)


def test_three_questions_can_show_nothing_by_flips():
    """Of 8 ways to flip, two are as extreme: p is 1/4."""
    pytest.importorskip("numpy")
    assert paired_test([1.0, 0.9, 0.8], [0.0, 0.0, 0.0]) == pytest.approx(0.25, abs=0.02)
    assert paired_test([0.3], [0.3]) == 1.0


@settings(max_examples=30, deadline=None)
@given(PAIRS)
def test_the_interval_leaves_out_zero_exactly_when_a_difference_is_shown(pairs):
    pytest.importorskip("numpy")
    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    found = compared(ours, theirs, "mean")
    assert found.shown == (found.p <= 0.05) == (found.low > 0 or found.high < 0)
    assert found.low - 1e-9 <= found.difference <= found.high + 1e-9


@settings(max_examples=30, deadline=None)
@given(PAIRS)
def test_which_is_ours_only_turns_the_sign(pairs):
    pytest.importorskip("numpy")
    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    one, other = compared(ours, theirs, "mean"), compared(theirs, ours, "mean")
    assert (other.difference, other.low, other.high) == pytest.approx((-one.difference, -one.high, -one.low), abs=1e-9)
    assert one.p == other.p


def test_the_interval_of_means_is_about_students():
    numpy, stats = pytest.importorskip("numpy"), pytest.importorskip("scipy.stats")
    rng = numpy.random.default_rng(3)
    ours, theirs = rng.normal(5000, 900, 60), rng.normal(4800, 900, 60)
    found, known = compared(ours.tolist(), theirs.tolist(), "mean"), stats.ttest_rel(ours, theirs).confidence_interval()
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=40)


def test_the_interval_of_shares_is_bonett_and_prices():
    """Their formula by hand: 20 to 8 of 100 is (21 - 9) / 102 +- 1.96 * sqrt((30/102 - (12/102)^2) / 102)."""
    ours, theirs = [1.0] * 20 + [0.0] * 80, [0.0] * 20 + [1.0] * 8 + [0.0] * 72
    found = compared(ours, theirs, "share")
    spread = 1.96 * math.sqrt((30 / 102 - (12 / 102) ** 2) / 102)
    assert (found.low, found.high) == pytest.approx((12 / 102 - spread, 12 / 102 + spread))
    assert found.difference == pytest.approx(0.12)
    assert found.shown


def test_for_shares_too_the_interval_and_the_test_never_disagree():
    """Where only one of them leaves out 0, the interval gives way: it ends at 0, or is stretched to it."""
    ended = {"cut": 0, "stretched": 0}
    for n, won, lost in itertools.product((40, 50), range(20), range(20)):
        found = compared([1.0] * won + [0.0] * (n - won), [0.0] * (n - lost) + [1.0] * lost, "share")
        assert found.shown == (found.p <= 0.05)
        assert found.low <= 0 <= found.high or found.shown
        assert not found.low < 0 < found.high or not found.shown
        ended["cut" if found.shown else "stretched"] += 0.0 in (found.low, found.high)
    assert min(ended.values()) > 0


def test_holm_by_hand_and_never_under_the_p():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([0.5, 0.9]) == (1.0, 1.0)
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_stays_between_p_and_bonferroni(ps):
    found = holm(ps)
    assert all(p <= each <= min(1.0, len(ps) * p) for p, each in zip(ps, found, strict=True))
    ranked = sorted(zip(ps, found, strict=True))
    assert [each for _, each in ranked] == sorted(found)


def test_no_difference_is_said_where_none_is_shown_and_holm_may_take_one_back():
    one = compared([1.0] * 6 + [0.0] * 30, [0.0] * 36, "share")
    other = compared([0.0] * 36, [1.0] * 5 + [0.0] * 31, "share")
    none = compared([1.0] * 36, [1.0] * 36, "share")
    assert [verdict(each) for each in (one, other, none)] == ["more", "less", NO_DIFFERENCE]
    assert [verdict(each) for each in adjusted([one, other, none])] == ["more", NO_DIFFERENCE, NO_DIFFERENCE]
    assert [each.low for each in adjusted([one, other])] == [one.low, other.low]


def test_with_no_true_difference_means_are_told_apart_in_5_percent_of_1000_benches():
    numpy = pytest.importorskip("numpy")
    rng, rejected = numpy.random.default_rng(7), 0
    for _ in range(BENCHES):
        ours, theirs = rng.choice(LUMPS, 50), rng.choice(LUMPS, 50)
        theirs = numpy.where(rng.random(50) < 0.4, ours, theirs)
        rejected += paired_test(ours.tolist(), theirs.tolist()) <= 0.05
    low, high = wilson(rejected, BENCHES)
    assert low <= 0.05 <= high, rejected


def test_with_no_true_difference_shares_are_told_apart_in_5_percent_of_1000_benches():
    numpy = pytest.importorskip("numpy")
    rng, rejected = numpy.random.default_rng(8), 0
    for _ in range(BENCHES):
        ours, theirs = (rng.random((2, 200)) < 0.5).astype(float)
        rejected += mcnemar(ours.tolist(), theirs.tolist()) <= 0.05
    low, high = wilson(rejected, BENCHES)
    assert low <= 0.05 <= high, rejected


def test_without_numpy_the_plain_ones_work_and_the_others_say_what_to_install(monkeypatch):
    for name in ("numpy", "scipy", "scipy.stats"):
        monkeypatch.setitem(sys.modules, name, None)
    assert mean([1.0, 0.0]) == 0.5
    assert interval([1.0, 0.0] * 5, resamples=50)[0] < 0.5
    assert paired([1.0], [1.0]) == (0.0, 0.0, 0.0)
    assert wilson(0, 0) == (0.0, 1.0)
    assert verdict(compared([1.0], [0.0], "share")) == NO_DIFFERENCE
    with pytest.raises(EnvironmentFault, match="numpy") as told:
        paired_test([1.0, 0.5], [0.0, 0.0])
    assert "sleuth-qa[bench]" in told.value.hint
