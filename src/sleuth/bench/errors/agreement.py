"""Do two judges agree more than chance would? Cohen's kappa (Cohen 1960), with its table and a bootstrap interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sleuth.bench.calibration import RESAMPLES
from sleuth.bench.statistics import SEED

Judged: TypeAlias = Sequence[tuple[str, str]]
"""What the one and the other said of the same runs."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many runs both judged, the share they agree on, kappa with its 95% interval (None: cannot be said), and the counts of each pair."""

    n: int
    share: float
    kappa: float | None
    interval: tuple[float, float] | None
    counts: Mapping[tuple[str, str], int]


def kappa(judged: Judged) -> float | None:
    """(observed - expected agreement) / (1 - expected); None of nothing, and where chance alone would always agree."""
    if not judged:
        return None
    n = len(judged)
    ours, theirs = Counter(a for a, _ in judged), Counter(b for _, b in judged)
    observed = sum(a == b for a, b in judged) / n
    expected = sum(ours[kind] * theirs[kind] for kind in ours) / (n * n)
    return None if expected == 1.0 else (observed - expected) / (1 - expected)


def agreement(judged: Judged) -> Agreement:
    """Of the pairs; the interval by percentile bootstrap over the runs, seeded."""
    n = len(judged)
    return Agreement(
        n,
        sum(a == b for a, b in judged) / n if n else 0.0,
        kappa(judged),
        _interval(judged),
        Counter(judged),
    )


def _interval(judged: Judged, level: float = 0.95) -> tuple[float, float] | None:
    import random

    rng = random.Random(SEED)  # noqa: S311 - resampling, not secrets
    draws = (kappa(rng.choices(judged, k=len(judged))) for _ in range(RESAMPLES if len(judged) > 1 else 0))
    found = sorted(value for value in draws if value is not None)
    if not found:
        return None
    cut = (1 - level) / 2
    return found[int(cut * len(found))], found[min(len(found) - 1, int((1 - cut) * len(found)))]
