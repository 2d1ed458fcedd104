"""Intervals, and comparisons of two methods on the same questions. All seeded: the same scores give the same numbers.

`mean`, `interval`, `paired`, `wilson`, `mcnemar` and `holm` need the standard library alone; the others the extra ``bench``.
How the tests were chosen is in docs/decisions/tests.md; ``benchmarks/significance.py`` measures how they behave.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sleuth.errors import EnvironmentFault

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 1889
ALPHA = 0.05
"""How often a difference may be announced where there is none."""

NO_DIFFERENCE = "no difference shown"

Kind: TypeAlias = Literal["share", "mean"]
"""Of a score: right or wrong (0 or 1), or a number (F1, tokens, seconds)."""

_FLIPS = 9_999
_CELLS = 4_000_000  # signs held at once: 32 MB


@dataclass(frozen=True, slots=True)
class Difference:
    """Ours minus theirs over `n` questions that both answered, its 95% interval, and the p of "there is none".

    The interval leaves out 0 when, and only when, the test of this one pair does. Of means it is
    endless for 5 questions or fewer, which can show nothing. `shown` is the verdict: with `adjusted`, over all pairs
    together, while the interval stays that of the one pair.
    """

    n: int
    difference: float
    low: float
    high: float
    p: float
    shown: bool


def mean(values: Sequence[float]) -> float:
    """The mean; 0.0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def interval(values: Sequence[float], level: float = 0.95, resamples: int = RESAMPLES) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron 1979); (0.0, 0.0) of nothing."""
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
    apart = differences(ours, theirs)
    return (mean(apart), *interval(apart, level))


def mcnemar(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """p of McNemar's mid-p test that two methods are right equally often; 1.0 where they never disagree.

    The exact test counts the observed table in full and so rejects too seldom; mid-p counts half of it, and kept its 5%
    in each of 9,595 scenarios (Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91).
    Raises ValueError for scores other than 0 and 1, and for unequal lengths.
    """
    return midp(*_discordant(ours, theirs))


def midp(won: int, lost: int) -> float:
    """The two-sided mid-p of so many questions that only ours, and only theirs, got right."""
    fewer, n = min(won, lost), won + lost
    below, at = 0, 1  # tables that are further apart, and as far apart: whole numbers, exact for any n
    for k in range(fewer):
        below, at = below + at, at * (n - k) // (k + 1)
    return min(1.0, (2 * below + at) / (1 << n))


def paired_test(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """p that two methods have the same mean: by flipping the signs of the questions' differences at random (Fisher 1935).

    9,999 seeded flips, both sides; the smallest p is 0.0001. Raises ValueError for unequal lengths.
    """
    return _flipped(differences(ours, theirs))[0]


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Each p adjusted for all having been looked at (Holm 1979): among those under 0.05, one is false in 5% of benches, at most."""
    adjusted, largest = [0.0] * len(ps), 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[at]))
        adjusted[at] = largest
    return tuple(adjusted)


def compared(ours: Sequence[float], theirs: Sequence[float], kind: Kind) -> Difference:
    """The difference of two methods on the same questions, in the same order.

    "share": McNemar's mid-p, with Bonett and Price's interval (2012, Journal of Educational and Behavioral Statistics 37:479).
    "mean": the sign-flip test, with the interval of all differences that it does not reject (Tritchler 1984,
    Journal of the American Statistical Association 79:200).
    Raises ValueError for unequal lengths, and for shares other than 0 and 1.
    """
    apart = differences(ours, theirs)
    if kind == "share":
        won, lost = _discordant(ours, theirs)
        p, low, high = midp(won, lost), *_bonett_price(won, lost, len(apart))
    else:
        p, low, high = _flipped(apart)
    shown, difference = p <= ALPHA, mean(apart)
    if shown:
        low, high = (max(low, 0.0), high) if difference > 0 else (low, min(high, 0.0))
    else:
        low, high = min(low, 0.0), max(high, 0.0)
    return Difference(len(apart), difference, low, high, p, shown)


def adjusted(pairs: Sequence[Difference]) -> tuple[Difference, ...]:
    """The same, with p and verdict for all of them together, by `holm`."""
    ps = holm([each.p for each in pairs])
    return tuple(replace(each, p=p, shown=p <= ALPHA) for each, p in zip(pairs, ps, strict=True))


def verdict(difference: Difference) -> str:
    """What may be said of ours: "more", "less", or that nothing is shown, which is not that they are equal."""
    if not difference.shown:
        return NO_DIFFERENCE
    return "more" if difference.difference > 0 else "less"


def extra(name: str) -> Any:
    """The module numpy, scipy.stats or another of the extra. Raises `EnvironmentFault` where it is not installed."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as fault:
        raise EnvironmentFault(
            f"This needs {name.partition('.')[0]}, which is not installed.", hint="pip install 'sleuth-qa[bench]'"
        ) from fault


def differences(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Ours minus theirs, question by question. Raises ValueError for unequal lengths."""
    return [a - b for a, b in zip(ours, theirs, strict=True)]


def _discordant(ours: Sequence[float], theirs: Sequence[float]) -> tuple[int, int]:
    """How many questions only ours, and only theirs, got right."""
    if wrong := {*ours, *theirs} - {0.0, 1.0}:
        raise ValueError(f"A share counts 0 or 1, not {min(wrong)}.")
    pairs = list(zip(ours, theirs, strict=True))
    return sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)


def _bonett_price(won: int, lost: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """The 95% interval of the difference of two shares of n questions: Wald's, after one question more is given to each side."""
    ours, theirs = (won + 1) / (n + 2), (lost + 1) / (n + 2)
    spread = z * math.sqrt((ours + theirs - (ours - theirs) ** 2) / (n + 2))
    return max(-1.0, ours - theirs - spread), min(1.0, ours - theirs + spread)


def _flipped(apart: Sequence[float]) -> tuple[float, float, float]:
    """The sign-flip test's p, and the least and the greatest mean difference that it does not reject at 0.05.

    A flip parts the questions in two. It is as extreme as what was seen, for a true difference below the mean, exactly when
    that difference is at least the smaller mean of the two parts: so those means, sorted, give the limits (and, at 0, the p).
    A flip of none or all is always as extreme.
    """
    if not apart:
        return (1.0, -math.inf, math.inf)
    numpy = extra("numpy")
    largest = max(map(abs, apart)) or 1.0
    scaled = numpy.asarray(apart, dtype=float) / largest  # tokens and shares alike: rounding is then relative
    parts = [_parts(scaled, signs) for signs in _signs(len(scaled))]
    lows, highs = (numpy.concatenate(side).round(12) for side in zip(*parts, strict=True))
    middle = round(float(scaled.mean()), 12)
    beyond = (lows <= 0).sum() if middle > 0 else (highs >= 0).sum() if middle < 0 else _FLIPS
    place = int(ALPHA * (_FLIPS + 1)) - 1
    low, high = numpy.partition(lows, place)[place], -numpy.partition(-highs, place)[place]
    return (1 + int(beyond)) / (_FLIPS + 1), float(low) * largest, float(high) * largest


def _signs(n: int) -> Iterator[NDArray[Any]]:
    """`_FLIPS` rows of which questions are flipped (0.0 or 1.0), in blocks."""
    numpy, wide, block = extra("numpy"), -(-n // 8), max(1, _CELLS // n)
    rng = numpy.random.default_rng(SEED)
    for begun in range(0, _FLIPS, block):
        rows = min(block, _FLIPS - begun)
        packed = numpy.frombuffer(rng.bytes(rows * wide), dtype="uint8").reshape(rows, wide)
        yield numpy.unpackbits(packed, axis=1, count=n).astype(float)


def _parts(values: NDArray[Any], flipped: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """For each flip, the smaller and the larger mean of its two parts; without end where one of them is empty."""
    numpy = extra("numpy")
    one, many = flipped @ values, flipped @ numpy.ones(len(values))
    rest, n = values.sum() - one, len(values)
    first, second = one / numpy.maximum(many, 1), rest / numpy.maximum(n - many, 1)
    ended = (many > 0) & (many < n)
    return (
        numpy.where(ended, numpy.minimum(first, second), -math.inf),
        numpy.where(ended, numpy.maximum(first, second), math.inf),
    )
