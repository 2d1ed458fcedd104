"""The published rules written a second time, from their papers and scripts, in another shape: what product metrics are compared with.

Nothing here uses `sleuth.bench` or `sleuth.guards`: agreement would mean nothing otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

Line: TypeAlias = tuple[str, int]

PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def tokens(text: str) -> list[str]:
    """Lower case, no ASCII punctuation, then every a, an and the that stands alone is a gap, then split at white space."""
    kept = text.lower().translate({ord(sign): None for sign in PUNCTUATION})
    return re.split(r"\s+", re.sub(r"(?<!\w)(?:the|an|a)(?!\w)", " ", kept).strip()) if kept.strip() else []


def words(text: str) -> list[str]:
    return [token for token in tokens(text) if token]


def hotpot_em(answer: str, gold: str) -> bool:
    return words(answer) == words(gold)


def in_common(left: Sequence[str], right: Sequence[str]) -> int:
    """Take each word of the left off the right, as long as there is one."""
    rest, taken = list(right), 0
    for word in left:
        if word in rest:
            rest.remove(word)
            taken += 1
    return taken


def hotpot_prf(answer: str, gold: str) -> tuple[Fraction, Fraction, Fraction]:
    """Precision, recall, F1; HotpotQA's script gives two empty answers 0, which the product names as its one deviation."""
    ours, theirs = words(answer), words(gold)
    for one, other in ((ours, theirs), (theirs, ours)):
        if len(one) == 1 and one[0] in {"yes", "no", "noanswer"} and one != other:
            return Fraction(0), Fraction(0), Fraction(0)
    same = in_common(ours, theirs)
    if same == 0:
        return Fraction(0), Fraction(0), Fraction(0)
    precision, recall = Fraction(same, len(ours)), Fraction(same, len(theirs))
    return precision, recall, 2 * precision * recall / (precision + recall)


def musique_f1(answer: str, golds: Sequence[str]) -> Fraction:
    """SQuAD's F1 over the aliases: no closed answers; with an empty side it is 1 when both are empty."""
    best = Fraction(0)
    for gold in golds:
        ours, theirs = words(answer), words(gold)
        if not ours or not theirs:
            best = max(best, Fraction(int(ours == theirs)))
            continue
        best = max(best, Fraction(2 * in_common(ours, theirs), len(ours) + len(theirs)))
    return best


def facts(ours: Sequence[Line], gold: Sequence[Line]) -> tuple[bool, Fraction, Fraction, Fraction]:
    """Exact match, precision, recall and F1 of supporting facts by counting hits, false alarms and misses."""
    hits = sum(1 for each in dict.fromkeys(ours) if each in gold)
    alarms = sum(1 for each in dict.fromkeys(ours) if each not in gold)
    misses = sum(1 for each in dict.fromkeys(gold) if each not in ours)
    precision = Fraction(hits, hits + alarms) if hits + alarms else Fraction(0)
    recall = Fraction(hits, hits + misses) if hits + misses else Fraction(0)
    whole = precision + recall
    return alarms + misses == 0, precision, recall, 2 * precision * recall / whole if whole else Fraction(0)


def joint(answer: str, golds: Sequence[str], ours: Sequence[Line], gold: Sequence[Line]) -> tuple[bool, Fraction]:
    """Products of the answer's and the facts' precision and recall (each the best over the aliases), and their F1."""
    same, p, r, _ = facts(ours, gold)
    scored = [hotpot_prf(answer, each) for each in golds]
    precision, recall = p * max(each[0] for each in scored), r * max(each[1] for each in scored)
    whole = precision + recall
    return same and any(hotpot_em(answer, g) for g in golds), 2 * precision * recall / whole if whole else Fraction(0)


def fever(label: str, said: str, evidence: Sequence[Sequence[Line]], lines: Sequence[Line]) -> tuple[bool, bool]:
    """Label accuracy, and the strict score: every sentence of some evidence set is among the first five predicted."""
    if label.upper() != said.upper():
        return False, False
    if label.upper() == "NOT ENOUGH INFO":
        return True, True
    first = list(lines)[:5]
    return True, next((True for group in evidence if not [line for line in group if line not in first]), False)
