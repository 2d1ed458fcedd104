"""Before a run: what so many questions can show, how many are needed, and a price that is honest about its pilot."""

from __future__ import annotations

import math

import pytest

from sleuth.bench.statistics import mcnemar, paired_test, wilson
from sleuth.types import Usage

numpy = pytest.importorskip("numpy")
stats = pytest.importorskip("scipy.stats")
power = pytest.importorskip("sleuth.bench.power")

BENCHES = 1_000


def test_an_announced_difference_of_shares_is_found_with_the_announced_power():
    announced = power.smallest_difference(100, discordant=0.3)
    rng, found = numpy.random.default_rng(1), 0
    for _ in range(BENCHES):
        drawn = rng.random(100)
        ours = drawn < (0.3 + announced) / 2
        theirs = (drawn < 0.3) & ~ours
        found += mcnemar(ours.astype(float).tolist(), theirs.astype(float).tolist()) <= 0.05
    low, high = wilson(found, BENCHES)
    assert low <= 0.8 <= high, found


def test_an_announced_difference_of_means_is_found_with_the_announced_power():
    """F1 in lumps; ours is 1 where theirs was 0 so often that the mean difference is the announced one."""
    gained = 0.2
    for _ in range(8):  # the spread depends on the difference
        sd = math.sqrt(0.5 * 0.16 + gained - gained**2)
        gained = power.smallest_difference(60, sd=sd)
    rng, found = numpy.random.default_rng(2), 0
    for _ in range(BENCHES):
        apart = rng.choice([-0.4, 0.4, 1.0, 0.0], size=60, p=[0.25, 0.25, gained, 0.5 - gained])
        found += paired_test(apart.tolist(), [0.0] * 60) <= 0.05
    low, high = wilson(found, BENCHES)
    assert low <= 0.8 <= high, found


def test_power_of_a_difference_of_zero_is_how_often_the_test_errs():
    assert power.t_power(30, 0.0, 1.0) == pytest.approx(0.05)
    assert 0.03 < power.mcnemar_power(100, 0.0, 0.3) <= 0.05


def test_power_of_mcnemar_is_counted_over_all_tables():
    """Five questions, all discordant: only 5 to 0 is rejected (p 1/32)."""
    assert power.mcnemar_power(5, 0.8, 0.8) == pytest.approx(0.8**5)
    assert power.mcnemar_power(4, 1.0, 1.0) == 0.0


def test_more_questions_show_less_and_too_few_show_nothing():
    for told in ({"discordant": 0.2}, {"sd": 0.4}, {}):
        found = [power.smallest_difference(n, **told) for n in (10, 30, 100, 300, 1000)]
        assert found == sorted(found, reverse=True)
        assert found[0] > 3 * found[-1]
    assert power.smallest_difference(4) == math.inf
    assert power.smallest_difference(1, sd=0.1) == math.inf
    assert power.smallest_difference(9, sd=0.0) == 0.0


def test_the_smallest_difference_of_means_is_the_textbooks():
    """(1.96 + 0.84) sd / sqrt(n) when n is large."""
    assert power.smallest_difference(2000, sd=0.5) == pytest.approx(2.8016 * 0.5 / math.sqrt(2000), rel=0.005)


@pytest.mark.parametrize("told", [{"discordant": 0.2}, {"sd": 0.4}, {}])
def test_needed_and_smallest_difference_are_each_others_inverse(told):
    n = power.needed(0.1, **told)
    assert power.smallest_difference(n, **told) <= 0.1001
    assert power.smallest_difference(n - 4, **told) > 0.0999
    assert power.needed(-0.1, **told) == n


def test_a_stricter_alpha_needs_more_questions():
    assert power.needed(0.1, sd=0.4, alpha=0.05 / 10) > 1.5 * power.needed(0.1, sd=0.4)


def test_what_cannot_be_is_refused():
    for given in ({"discordant": 1.5}, {"sd": -1.0}, {"sd": math.nan}, {"sd": 0.3, "discordant": 0.3}):
        with pytest.raises(ValueError, match=r"share|deviation"):
            power.smallest_difference(30, **given)
    with pytest.raises(ValueError, match="difference of 0"):
        power.needed(0.0)
    with pytest.raises(ValueError, match="100,000"):
        power.needed(0.001)
    with pytest.raises(ValueError, match="pilot"):
        power.price([], 50)


def test_a_pilots_spread_is_taken_from_its_upper_limit_which_holds_four_times_in_five():
    rng = numpy.random.default_rng(3)
    held = sum(power.deviation(rng.normal(0, 1, 5).tolist(), [0.0] * 5) >= 1.0 for _ in range(BENCHES))
    low, high = wilson(held, BENCHES)
    assert low <= 0.8 <= high
    assert power.discordant_share([1, 0, 1, 0, 1], [1, 1, 1, 0, 1]) == pytest.approx(0.4903, abs=0.001)
    assert power.discordant_share([1, 1], [0, 0]) == 1.0
    with pytest.raises(ValueError, match="two or more"):
        power.deviation([1.0], [0.0])


def test_a_price_is_the_mean_times_the_questions_and_wide_from_a_small_pilot():
    pilot = [Usage(calls=c, read=100 * c, cached=50, written=10, usd=0.01 * c, seconds=36.0 * c) for c in (1, 2, 3)]
    told = power.price(pilot, 100, at_once=2)
    assert (told.calls.value, told.read.value, told.cached.value) == (200, 20_000, 5_000)
    assert told.tokens.value == pytest.approx(26_000)
    assert told.hours.value == pytest.approx(1.0)
    assert told.searches == power.Estimate(0.0, 0.0, 0.0)
    factor = math.exp(stats.t.ppf(0.975, 2) * math.sqrt(0.25 * (1 / 3 + 1 / 100) + 0.0625 / 2))
    assert (told.calls.low, told.calls.high) == pytest.approx((200 / factor, 200 * factor))
    assert power.price(pilot[:1], 100).calls == power.Estimate(100, 0.0, math.inf)
    both = told + told
    assert (both.questions, both.pilot) == (200, 6)
    assert both.calls == power.Estimate(400, 2 * told.calls.low, 2 * told.calls.high)


def test_a_price_from_a_pilot_of_five_is_right_19_times_in_20():
    rng, within = numpy.random.default_rng(4), 0
    for _ in range(BENCHES):
        told = power.price([Usage(usd=float(cost)) for cost in rng.lognormal(0, 0.4, 5)], 50).usd
        within += told.low <= rng.lognormal(0, 0.4, 50).sum() <= told.high
    low, high = wilson(within, BENCHES)
    assert low <= 0.95 <= high, within
