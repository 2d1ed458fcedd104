"""Answers as official scripts compare them: words, precision, recall and F1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sleuth.guards.text import normalised

CLOSED = ("yes", "no", "noanswer")


class Agreement(NamedTuple):
    """How two bags agree: precision, recall and their harmonic mean, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


NONE = Agreement(0.0, 0.0, 0.0)
WHOLE = Agreement(1.0, 1.0, 1.0)


def exact_match(answer: str, gold: Sequence[str]) -> float:
    """1.0 when the normalised answer is one of the normalised gold answers, else 0.0."""
    return float(any(normalised(answer) == normalised(g) for g in gold))


def f1(answer: str, gold: Sequence[str]) -> float:
    """The best multiset F1 of words over the gold answers; yes, no and noanswer only match themselves.

    The one deviation from hotpot_evaluate_v1: two answers of which nothing is left ("A" beside "The") agree wholly,
    as in SQuAD 2.0's and MuSiQue's scripts, where HotpotQA's gives an F1 of 0 to an exact match of 1.
    """
    return max((agreement(answer, g).f1 for g in gold), default=0.0)


def agreement(answer: str, gold: str) -> Agreement:
    """Of the words of two answers, by HotpotQA's rule (see `f1`)."""
    ours, theirs = normalised(answer), normalised(gold)
    if ours != theirs and (ours in CLOSED or theirs in CLOSED):
        return NONE
    return shared(ours.split(), theirs.split())


def plain_f1(answer: str, gold: Sequence[str]) -> float:
    """The best multiset F1 of words, without a rule for yes and no (SQuAD's and MuSiQue's scripts)."""
    return max((shared(normalised(answer).split(), normalised(g).split()).f1 for g in gold), default=0.0)


def shared(ours: Sequence[str], theirs: Sequence[str]) -> Agreement:
    """Of two bags of words, each word as often as it stands; two empty ones agree wholly."""
    if not ours and not theirs:
        return WHOLE
    same = sum((Counter(ours) & Counter(theirs)).values())
    if not same:
        return NONE
    return Agreement(same / len(ours), same / len(theirs), 2 * same / (len(ours) + len(theirs)))


def overlap(ours: Iterable[object], theirs: Iterable[object]) -> Agreement:
    """Of two sets; nothing predicted has a precision of 0 (hotpot_evaluate_v1, update_sp)."""
    ours, theirs = set(ours), set(theirs)
    same = len(ours & theirs)
    return Agreement(same / len(ours), same / len(theirs), 2 * same / (len(ours) + len(theirs))) if same else NONE


def harmonic(precision: float, recall: float) -> float:
    """The harmonic mean; 0.0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def all_found(found: Iterable[str], gold: Iterable[str]) -> float:
    """1.0 when every gold id is among the found ones."""
    return float(set(gold) <= set(found))


def recall(found: Iterable[str], gold: Sequence[str]) -> float:
    """Share of the gold ids among the found ones (1.0 when there is no gold)."""
    return len(set(found) & set(gold)) / len(set(gold)) if gold else 1.0
