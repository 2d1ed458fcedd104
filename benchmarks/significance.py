"""Do the bench's statistics hold what they say? Simulated benches, of which the truth is known.

    python benchmarks/significance.py

Prints three Markdown tables, the same at every run: how often tests reject where there is no difference (5% is right);
how often the announced smallest difference is found (80% is right); how often a price told from a pilot of 5 is right (95%).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from sleuth.bench.power import POWER, price, smallest_difference
from sleuth.bench.statistics import ALPHA, SEED, mcnemar, paired_test, wilson
from sleuth.types import Usage

Scores: TypeAlias = NDArray[Any]
Draw: TypeAlias = Callable[[Generator, int], tuple[Scores, Scores]]

SIZES = (30, 50, 100)
F1 = (0.0, 0.25, 0.4, 0.5, 2 / 3, 0.8, 1.0)
SHARES = (0.38, 0.01, 0.03, 0.04, 0.06, 0.06, 0.42)
"""Of the F1 values: two lumps and a little between, as short answers have."""
RESAMPLES = 1_999


def alike(rng: Generator, n: int, same: float = 0.6, lost: float = 0.0) -> tuple[Scores, Scores]:
    """Two methods of the same F1, that give the same answer to this share of the questions; the second then loses some."""
    ours, theirs = (rng.choice(F1, p=SHARES, size=n) for _ in "ab")
    theirs = numpy.where(rng.random(n) < same, ours, theirs)
    return ours, numpy.where(rng.random(n) < lost, 0.0, theirs)


def near(rng: Generator, n: int, lost: float = 0.0) -> tuple[Scores, Scores]:
    """The same, with 85% of the answers in common."""
    return alike(rng, n, 0.85, lost)


def shapes(rng: Generator, n: int) -> tuple[Scores, Scores]:
    """All or nothing against much in between, with the same mean."""
    return rng.choice((0.0, 1.0), size=n), rng.choice((0.0, 0.4, 0.5, 0.6, 1.0), size=n)


def trades(rng: Generator, n: int) -> tuple[Scores, Scores]:
    """Ours loses one answer in ten wholly and gains a third on three in ten: the same mean, and nothing symmetric."""
    drawn = rng.random(n)
    return numpy.where(drawn < 0.1, -1.0, numpy.where(drawn < 0.4, 1 / 3, 0.0)), numpy.zeros(n)


def costs(rng: Generator, n: int) -> tuple[Scores, Scores]:
    """Two methods with the same log-normal costs, which share what a question costs at all."""
    question = rng.normal(0, 0.4, n)
    ours, theirs = (numpy.exp(question + rng.normal(0, 0.6, n)) for _ in "ab")
    return ours, theirs


def wild(rng: Generator, n: int) -> tuple[Scores, Scores]:
    """A steady cost against one that is nine tenths of a log unit wide, with the same mean."""
    question = rng.normal(0, 0.3, n)
    return numpy.exp(question + rng.normal(-0.02, 0.2, n)), numpy.exp(question + rng.normal(-0.405, 0.9, n))


CASES: dict[str, Draw] = {
    "F1, 60% of answers the same": alike,
    "F1, 85% of answers the same": near,
    "F1, all or nothing against partial": shapes,
    "F1, few lost against many bettered": trades,
    "costs of one kind": costs,
    "costs, steady against wild": wild,
}


def bootstraps(ours: Scores, theirs: Scores, rng: Generator) -> tuple[bool, bool]:
    """Do the bootstrap test (differences moved to mean 0) and the percentile interval reject?"""
    apart = ours - theirs
    n, middle = len(apart), apart.mean()
    drawn = rng.multinomial(n, numpy.full(n, 1 / n), size=RESAMPLES) @ apart / n
    p = (1 + (abs(drawn - middle) >= abs(middle) - 1e-12).sum()) / (RESAMPLES + 1)
    low, high = numpy.quantile(drawn, (ALPHA / 2, 1 - ALPHA / 2))
    return bool(p <= ALPHA), bool(low > 1e-12 or high < -1e-12)


def t_rejects(ours: Scores, theirs: Scores) -> bool:
    """Does the paired t-test reject?"""
    return bool((ours != theirs).any() and stats.ttest_rel(ours, theirs).pvalue <= ALPHA)


def false_alarms(draw: Draw, n: int, benches: int) -> list[int]:
    """How many benches the sign-flip test, the bootstrap test, the bootstrap interval and the t-test reject."""
    rng, found = numpy.random.default_rng(SEED), numpy.zeros(4, int)
    for _ in range(benches):
        ours, theirs = draw(rng, n)
        flip = paired_test(ours.tolist(), theirs.tolist()) <= ALPHA
        found += (flip, *bootstraps(ours, theirs, rng), t_rejects(ours, theirs))
    return [int(count) for count in found]


def tables(rng: Generator, n: int, discordant: float, difference: float) -> tuple[list[float], list[float]]:
    """Exact matches of two methods of which one is better by this share."""
    drawn = rng.random(n)
    ours = drawn < (discordant + difference) / 2
    return ours.astype(float).tolist(), ((drawn < discordant) & ~ours).astype(float).tolist()


def shares_row(n: int, discordant: float, difference: float, benches: int) -> tuple[int, int]:
    """How many benches McNemar's mid-p test rejects, and the exact one."""
    rng, found, exact = numpy.random.default_rng(SEED), 0, 0
    for _ in range(benches):
        ours, theirs = tables(rng, n, discordant, difference)
        found += mcnemar(ours, theirs) <= ALPHA
        won, apart = sum(ours), sum(ours) + sum(theirs)
        exact += bool(apart and stats.binomtest(int(won), int(apart)).pvalue <= ALPHA)
    return found, exact


def found_means(draw: Callable[..., tuple[Scores, Scores]], n: int, benches: int) -> tuple[float, int]:
    """The smallest difference of means, and how many benches with just this difference show it."""
    low, high = 0.0, 1.0
    for _ in range(20):  # how much the second has to lose for the difference to be the announced one
        lost = (low + high) / 2
        ours, theirs = draw(numpy.random.default_rng(SEED), 200_000, lost=lost)
        announced = smallest_difference(n, sd=float((ours - theirs).std()))
        low, high = (low, lost) if (ours - theirs).mean() > announced else (lost, high)
    rng, found = numpy.random.default_rng(SEED + 1), 0
    for _ in range(benches):
        ours, theirs = draw(rng, n, lost=lost)
        found += paired_test(ours.tolist(), theirs.tolist()) <= ALPHA
    return announced, found


def lognormal(spread: float) -> Callable[[Generator, int], Scores]:
    """Costs with this coefficient of variation."""
    return lambda rng, n: rng.lognormal(0, numpy.sqrt(numpy.log(1 + spread**2)), n)


COSTS: dict[str, Callable[[Generator, int], Scores]] = {
    "log-normal, cv 0.25": lognormal(0.25),
    "log-normal, cv 0.5": lognormal(0.5),
    "log-normal, cv 0.8": lognormal(0.8),
    "log-normal, cv 1.2": lognormal(1.2),
    "1 to 7 calls": lambda rng, n: rng.choice((1.0, 2, 3, 4, 7), p=(0.4, 0.2, 0.1, 0.1, 0.2), size=n),
    "one question in five costs 7 times": lambda rng, n: numpy.where(rng.random(n) < 0.2, 7.0, 1.0),
}


def priced(draw: Callable[[Generator, int], Scores], benches: int, pilot: int = 5, n: int = 100) -> tuple[int, int]:
    """How often the price of n questions lay within what a pilot told, and above it."""
    rng, within, above = numpy.random.default_rng(SEED), 0, 0
    for _ in range(benches):
        told = price([Usage(usd=float(value)) for value in draw(rng, pilot)], n).usd
        truth = float(draw(rng, n).sum())
        within += told.low <= truth <= told.high
        above += truth > told.high
    return within, above


def rate(count: int, benches: int) -> str:
    """A share in per cent with its Wilson interval."""
    low, high = wilson(count, benches)
    return f"{count / benches:.1%} ({low:.1%} to {high:.1%})"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benches", type=int, default=2_000)
    benches = parser.parse_args().benches
    rows = []
    for name, draw in CASES.items():
        for n in SIZES:
            rows.append([name, str(n), *(f"{count / benches:.1%}" for count in false_alarms(draw, n, benches))])
    print(table(("no true difference", "n", "sign flips", "bootstrap test", "bootstrap interval", "t"), rows), "\n")
    rows = []
    for discordant in (0.1, 0.2, 0.5):
        for n in SIZES:
            null, exact = shares_row(n, discordant, 0.0, benches)
            rows.append([f"{discordant:.0%}", str(n), f"{null / benches:.1%}", f"{exact / benches:.1%}"])
    print(table(("EM, discordant", "n", "mid-p", "exact"), rows), "\n")
    rows = []
    for discordant in (0.2, 0.5):
        for n in SIZES:
            announced = smallest_difference(n, discordant=discordant)
            found, _ = shares_row(n, max(discordant, announced), announced, benches)
            rows.append([f"EM, {discordant:.0%} discordant", str(n), f"{announced:.2f}", rate(found, benches)])
    for name, losing in (("F1, 60% the same", alike), ("F1, 85% the same", near)):
        for n in SIZES:
            announced, found = found_means(losing, n, benches)
            rows.append([name, str(n), f"{announced:.2f}", rate(found, benches)])
    print(table(("a true difference", "n", "announced", f"shown (announced: {POWER:.0%})"), rows), "\n")
    rows = []
    for name, cost in COSTS.items():
        within, above = priced(cost, benches)
        rows.append([name, rate(within, benches), f"{above / benches:.1%}"])
    print(table(("costs a question", "price within what was told (95%)", "dearer"), rows))


if __name__ == "__main__":
    main()
