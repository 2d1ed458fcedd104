"""Before a run: the smallest difference that so many questions can show, how many questions a difference needs, and the price.

Needs the extra ``bench``. All is for one pair of methods on the same questions; for Holm over many pairs give
``alpha=0.05 / pairs``, which errs on the safe side. ``benchmarks/significance.py`` measures how far the numbers hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sleuth.bench.statistics import ALPHA, differences, extra, mean
from sleuth.types import Usage

POWER = 0.8
"""How often the announced difference is shown where there is one."""

DISCORDANT = 0.5
"""Share of questions that only one of two methods gets right, when nothing is known: that of two methods which are right half
the time and have nothing in common. Methods over the same passages disagree less."""

SD = math.sqrt(0.5)
"""Standard deviation of the paired differences of scores from 0 to 1, when nothing is known: the same two methods, all or nothing."""

_SURE = 0.8
"""One-sided level of the upper limits taken from a pilot (Browne 1995, Statistics in Medicine 14:1933)."""
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number that is not known yet, and where it lies 19 times in 20."""

    value: float
    low: float
    high: float

    def __add__(self, other: Estimate) -> Estimate:
        """Both together; the limits as if both erred the same way."""
        return Estimate(self.value + other.value, self.low + other.low, self.high + other.high)


@dataclass(frozen=True, slots=True)
class Price:
    """What `questions` are expected to cost, told from a pilot of `pilot`: tokens by kind and together, US dollars, hours.

    The sum of two prices is that of two cells.
    """

    questions: int
    pilot: int
    calls: Estimate
    searches: Estimate
    read: Estimate
    cached: Estimate
    written: Estimate
    tokens: Estimate
    usd: Estimate
    hours: Estimate

    def __add__(self, other: Price) -> Price:
        return Price(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})


def smallest_difference(
    n: int, *, discordant: float | None = None, sd: float | None = None, power: float = POWER, alpha: float = ALPHA
) -> float:
    """The smallest true difference that n questions show with this power; inf where they can show none.

    Of shares (EM), from the share of questions that only one of the two gets right (`discordant`; `DISCORDANT` when neither
    is given): McNemar's mid-p test, counted out, not approximated. Of means, from the standard deviation of
    the paired differences (`sd`, in the score's unit): the paired t-test, which the sign-flip test follows
    closely; more than the score's range means none.
    Raises ValueError for both, and for what is no share, no deviation, no number of questions.
    """
    reaches, high = _reaching(discordant, sd, power, alpha), sd or 1.0
    if n < 2 or (sd is None and not reaches(n, high)):
        return math.inf
    if sd == 0:
        return 0.0
    while not reaches(n, high):
        high *= 2
    low = 0.0
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reaches(n, middle) else (middle, high)
    return high


def needed(
    difference: float,
    *,
    discordant: float | None = None,
    sd: float | None = None,
    power: float = POWER,
    alpha: float = ALPHA,
) -> int:
    """How many questions show this true difference with this power; see `smallest_difference`. Raises ValueError for more than 100,000."""
    reaches = _reaching(discordant, sd, power, alpha)
    if not difference:
        raise ValueError("No number of questions shows a difference of 0.")
    low, high = 1, 2
    while not reaches(high, abs(difference)):
        low, high = high, high * 2
        if low > _MOST:
            raise ValueError(f"A difference of {difference:g} needs more than {_MOST:,} questions.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle, abs(difference)) else (middle, high)
    return high


def discordant_share(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """`discordant` of a pilot: not the share seen but its one-sided 80% upper limit (Clopper and Pearson 1934), as a pilot is small."""
    differ, n = sum(value != 0 for value in differences(ours, theirs)), len(ours)
    return float(extra("scipy.stats").beta.ppf(_SURE, differ + 1, n - differ)) if differ < n else 1.0


def deviation(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """`sd` of a pilot: not the one seen but its one-sided 80% upper limit, as a pilot is small. Raises ValueError for under 2 questions."""
    apart = differences(ours, theirs)
    if len(apart) < 2:
        raise ValueError("The spread of one question's difference is not known: give two or more.")
    free = len(apart) - 1
    return float(_sd(apart) * math.sqrt(free / extra("scipy.stats").chi2.ppf(1 - _SURE, free)))


def mcnemar_power(n: int, difference: float, discordant: float, alpha: float = ALPHA) -> float:
    """How often McNemar's mid-p test shows a true difference of shares, over all tables of n questions.

    A difference larger than `discordant` raises it to itself, as there cannot be less.
    """
    numpy, stats = extra("numpy"), extra("scipy.stats")
    share = max(discordant, abs(difference))
    if not share:
        return 0.0
    counts = numpy.arange(n + 1)
    last = _last_rejected(counts, alpha)
    ours = (1 + abs(difference) / share) / 2
    shown = stats.binom.cdf(last, counts, ours) + stats.binom.cdf(last, counts, 1 - ours)
    return float(stats.binom.pmf(counts, n, share) @ numpy.where(last >= 0, shown, 0.0))


def t_power(n: int, difference: float, sd: float, alpha: float = ALPHA) -> float:
    """How often the paired t-test shows a true difference of means."""
    stats = extra("scipy.stats")
    if n < 2 or not sd:
        return float(n >= 2 and difference != 0)
    bound, away = stats.t.ppf(1 - alpha / 2, n - 1), abs(difference) / sd * math.sqrt(n)
    return float(stats.nct.sf(bound, n - 1, away) + stats.nct.sf(bound, n - 1, -away))


def price(pilot: Sequence[Usage], questions: int, at_once: int = 1) -> Price:
    """The price of `questions` by one method, from a pilot's usages; hours with `at_once` of them asked at a time.

    Each number is the pilot's mean times the questions, within exp(+-t sqrt(cv^2 (1/pilot + 1/questions) + cv^4 / (pilot - 1))),
    cv the pilot's coefficient of variation and t Student's for pilot - 1: a t interval taken on logarithms, as costs are
    skewed. The last term is for cv, which a small pilot knows badly (Cox's method, Olsson 2005, has half of it; by simulation
    the whole holds better). One usage gives no spread: its limits are 0 and inf. Raises ValueError for no pilot.
    """
    if not pilot:
        raise ValueError("A price needs a pilot of one question or more.")

    def estimated(count: Callable[[Usage], float]) -> Estimate:
        return _total([count(usage) for usage in pilot], questions)

    return Price(
        questions=questions,
        pilot=len(pilot),
        calls=estimated(lambda usage: usage.calls),
        searches=estimated(lambda usage: usage.searches),
        read=estimated(lambda usage: usage.read),
        cached=estimated(lambda usage: usage.cached),
        written=estimated(lambda usage: usage.written),
        tokens=estimated(lambda usage: usage.tokens),
        usd=estimated(lambda usage: usage.usd),
        hours=estimated(lambda usage: usage.seconds / 3600 / at_once),
    )


def _total(values: Sequence[float], questions: int) -> Estimate:
    value = mean(values) * questions
    if not value or not questions:
        return Estimate(0.0, 0.0, 0.0)
    if len(values) < 2:
        return Estimate(value, 0.0, math.inf)
    t, cv = float(extra("scipy.stats").t.ppf(0.975, len(values) - 1)), _sd(values) / mean(values)
    spread = cv**2 * (1 / len(values) + 1 / questions) + cv**4 / (len(values) - 1)
    factor = math.exp(t * math.sqrt(spread))
    return Estimate(value, value / factor, value * factor)


def _sd(values: Sequence[float]) -> float:
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1))


def _reaching(discordant: float | None, sd: float | None, power: float, alpha: float) -> Callable[[int, float], bool]:
    """Do so many questions show this difference?"""
    if sd is not None:
        if discordant is not None:
            raise ValueError("Give the share that is discordant (EM) or a standard deviation (means), not both.")
        if not (sd >= 0 and math.isfinite(sd)):
            raise ValueError(f"A standard deviation is 0 or more, not {sd}.")
        given = sd
        return lambda n, difference: t_power(n, difference, given, alpha) >= power
    share = DISCORDANT if discordant is None else discordant
    if not 0 <= share <= 1:
        raise ValueError(f"A discordant share is from 0 to 1, not {share}.")
    return lambda n, difference: mcnemar_power(n, min(1.0, difference), share, alpha) >= power


def _last_rejected(counts: Any, alpha: float) -> Any:
    """For each number of discordant questions, the most on one side that the mid-p test still rejects; -1: none."""
    binom = extra("scipy.stats").binom
    last = binom.ppf(alpha / 2, counts, 0.5)  # this or the one before: mid-p counts the last one half
    kept = 2 * binom.cdf(last, counts, 0.5) - binom.pmf(last, counts, 0.5) <= alpha
    return extra("numpy").where(kept, last, last - 1)
