"""Exact match and F1 as HotpotQA's official script defines them (Yang et al. 2018, hotpot_evaluate_v1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sleuth.guards.text import normalised

__all__ = ["all_found", "exact_match", "f1", "normalised", "recall"]

_CLOSED = ("yes", "no", "noanswer")


def exact_match(answer: str, gold: Sequence[str]) -> float:
    """1.0 when the normalised answer is one of the normalised gold answers, else 0.0."""
    return float(any(normalised(answer) == normalised(g) for g in gold))


def f1(answer: str, gold: Sequence[str]) -> float:
    """The best multiset F1 of words over the gold answers; yes, no and noanswer only match themselves."""
    return max((_f1(normalised(answer), normalised(g)) for g in gold), default=0.0)


def _f1(answer: str, gold: str) -> float:
    if answer != gold and (answer in _CLOSED or gold in _CLOSED):
        return 0.0
    ours, theirs = answer.split(), gold.split()
    if not ours and not theirs:
        return 1.0
    same = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * same / (len(ours) + len(theirs)) if same else 0.0


def all_found(found: Iterable[str], gold: Iterable[str]) -> float:
    """1.0 when every gold id is among the found ones."""
    return float(set(gold) <= set(found))


def recall(found: Iterable[str], gold: Sequence[str]) -> float:
    """Share of the gold ids among the found ones (1.0 when there is no gold)."""
    return len(set(found) & set(gold)) / len(set(gold)) if gold else 1.0
