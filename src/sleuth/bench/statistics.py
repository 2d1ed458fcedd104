"""Intervals and paired comparisons: by bootstrap (Efron 1979; percentiles), seeded so that they can be repeated; Wilson's for shares."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

RESAMPLES = 10_000
SEED = 1889


def mean(values: Sequence[float]) -> float:
    """The mean; 0.0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def interval(values: Sequence[float], level: float = 0.95, resamples: int = RESAMPLES) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean."""
    if not values:
        return (0.0, 0.0)
    rng, n = random.Random(SEED), len(values)  # noqa: S311 - resampling, not secrets
    means = sorted(sum(rng.choices(values, k=n)) / n for _ in range(resamples))
    cut = (1 - level) / 2
    return means[int(cut * resamples)], means[min(resamples - 1, int((1 - cut) * resamples))]


def wilson(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95% interval of a proportion, from 0 to 1 (Wilson 1927); (0.0, 1.0) of nothing."""
    if not n:
        return (0.0, 1.0)
    share, wide = hits / n, z * z / n
    middle = (share + wide / 2) / (1 + wide)
    spread = z * math.sqrt(share * (1 - share) / n + wide / (4 * n)) / (1 + wide)
    return max(0.0, middle - spread), min(1.0, middle + spread)


def paired(ours: Sequence[float], theirs: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Mean difference on the same questions, with its bootstrap interval: (difference, low, high).

    Raises ValueError when the two are not of equal length.
    """
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    return (mean(differences), *interval(differences, level))
