"""Numbers and names as a report says them. Text from traces and questions is cleaned here, and escaped where it is written."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

from sleuth.bench.metrics import TABLE

NAMES = {"em": "EM", "f1": "F1", "label": "accuracy", "tokens": "tokens", "usd": "US dollars"}
SCORES = ("share", "mean")
"""Units of scores from 0 to 1, told in percent; others are amounts."""

_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u2028\u2029")


def clean(text: str, most: int = 0) -> str:
    """The text on one line without control characters, direction marks and lone surrogates, cut after `most` (0: not)."""
    flat = " ".join("".join(map(_harmless, text)).split())
    return flat if not most or len(flat) <= most else flat[: most - 1].rstrip() + "…"


def _harmless(character: str) -> str:
    if character in _TURNS:
        return ""
    kind = unicodedata.category(character)
    return " " if character.isspace() else "" if kind in ("Cc", "Cs", "Cn") else character


def named(metric: str) -> str:
    """What tables call a metric."""
    return NAMES.get(metric, metric.replace("_", " "))


def is_score(metric: str) -> bool:
    """Is it told in percent?"""
    return metric in TABLE and TABLE[metric].unit in SCORES


def number(metric: str, value: float) -> str:
    """A mean of this metric: percent with one decimal, or an amount."""
    if is_score(metric):
        return f"{100 * value:.1f}"
    if metric == "usd":
        return f"{value:.4f}" if value else "0"
    if 0 < abs(value) < 1:
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"


def ranged(metric: str, low: float, high: float) -> str:
    """An interval of this metric; percents are whole."""
    if is_score(metric):
        return f"{100 * low:.0f} to {100 * high:.0f}"
    return f"{number(metric, low)} to {number(metric, high)}"


def apart(metric: str, value: float) -> str:
    """A difference with its sign: points of percent, or an amount; "no limit" for what is endless."""
    if not math.isfinite(value):
        return "no limit"
    return f"{100 * value:+.1f}" if is_score(metric) else f"{value:+,.4g}"


def p_value(p: float) -> str:
    """ "0.03", "0.004", "under 0.001"."""
    return "under 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.01 else f"{p:.2f}"


def counted(n: int, one: str, many: str = "") -> str:
    """ "1 question", "30 questions"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(words: Sequence[str]) -> str:
    """ "A", "A and B", "A, B and C"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else list(words))


def letter(place: int) -> str:
    """a to z, then aa, ab and on: what a row of a table is called elsewhere."""
    found = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        found = chr(ord("a") + rest) + found
    return found
