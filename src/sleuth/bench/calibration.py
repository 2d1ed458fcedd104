"""Is a stated confidence true? Reliability, Brier score, ranking and risk over (confidence, right) pairs.

All functions are pure. A pair is a probability from 0 to 1 and whether the answer was right.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sleuth.bench.statistics import SEED, mean, wilson

Pair: TypeAlias = tuple[float, bool]
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of like confidence: the bounds (low exclusive but for 0, high inclusive), how many, their mean confidence, the share right and its 95% interval."""

    low: float
    high: float
    n: int
    confidence: float
    right: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Point:
    """Answering only the surest: share of questions answered, share wrong among these, and the least confidence of them."""

    coverage: float
    risk: float
    least: float


def reliability(pairs: Sequence[Pair], bins: int = 10) -> tuple[Bin, ...]:
    """Equally wide bins over confidence (Guo et al. 2017, section 2); empty ones are left out. ValueError for what is no probability."""
    held: list[list[Pair]] = [[] for _ in range(bins)]
    for confidence, right in pairs:
        if not 0 <= confidence <= 1:
            raise ValueError(f"A confidence is a probability from 0 to 1, not {confidence}.")
        held[_place(confidence, bins)].append((confidence, right))
    return tuple(_bin(at / bins, (at + 1) / bins, inside) for at, inside in enumerate(held) if inside)


def expected_calibration_error(pairs: Sequence[Pair], bins: int = 10) -> float:
    """Mean distance of a bin's confidence from its share right, weighted by its size (Guo et al. 2017, equation 3); 0.0 of nothing."""
    return sum(each.n * abs(each.confidence - each.right) for each in reliability(pairs, bins)) / max(1, len(pairs))


def brier(pairs: Sequence[Pair]) -> float:
    """Mean squared distance of confidence from what came (Brier 1950, in its two-class form from 0 to 1); 0.0 of nothing."""
    return mean([(confidence - right) ** 2 for confidence, right in pairs])


def auroc(pairs: Sequence[Pair]) -> float | None:
    """How often a right answer is surer than a wrong one, ties counting half; None without one of each."""
    right = [confidence for confidence, ok in pairs if ok]
    wrong = [confidence for confidence, ok in pairs if not ok]
    if not right or not wrong:
        return None
    won = sum((a > b) + (a == b) / 2 for a in right for b in wrong)
    return won / (len(right) * len(wrong))


def risk_coverage(pairs: Sequence[Pair]) -> tuple[Point, ...]:
    """A point for each confidence that was said, surest first (El-Yaniv and Wiener 2010)."""
    ranked = sorted(pairs, key=lambda pair: -pair[0])
    points, wrong = [], 0
    for at, (confidence, ok) in enumerate(ranked, 1):
        wrong += not ok
        if at == len(ranked) or ranked[at][0] != confidence:
            points.append(Point(at / len(ranked), wrong / at, confidence))
    return tuple(points)


def area_under_risk(pairs: Sequence[Pair]) -> float:
    """Mean risk over the coverages 1/n to 1 (AURC, Geifman et al. 2019), equal confidences taken together; 0.0 of nothing."""
    total, before = 0.0, 0.0
    for point in risk_coverage(pairs):
        total += (point.coverage - before) * point.risk
        before = point.coverage
    return total


def abstention(outcomes: Sequence[tuple[bool, bool]]) -> Point:
    """Where a method that may abstain stands beside the risk-coverage curve, from (answered, right): its `least` is 0.0.

    Of nothing answered the risk is 0.0 (El-Yaniv and Wiener 2010 leave it undefined); so too of nothing asked.
    """
    answered = [right for said, right in outcomes if said]
    risk = 1 - sum(answered) / len(answered) if answered else 0.0
    return Point(len(answered) / max(1, len(outcomes)), risk, 0.0)


def interval(
    pairs: Sequence[Pair],
    measure: Callable[[Sequence[Pair]], float | None],
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> tuple[float, float] | None:
    """Percentile bootstrap interval of a measure over the pairs (Efron 1979), seeded; None where it cannot be said."""
    rng = random.Random(SEED)  # noqa: S311 - resampling, not secrets
    drawn = (measure(rng.choices(pairs, k=len(pairs))) for _ in range(resamples if pairs else 0))
    found = sorted(value for value in drawn if value is not None)
    if not found:
        return None
    cut = (1 - level) / 2
    return found[int(cut * len(found))], found[min(len(found) - 1, int((1 - cut) * len(found)))]


def _place(confidence: float, bins: int) -> int:
    """The bin of a confidence: its upper bound belongs to it, 0 to the first."""
    at = int(confidence * bins)
    return max(0, at - 1 if at and at / bins == confidence else at)


def _bin(low: float, high: float, inside: Sequence[Pair]) -> Bin:
    hits = sum(ok for _, ok in inside)
    return Bin(low, high, len(inside), mean([c for c, _ in inside]), hits / len(inside), wilson(hits, len(inside)))
