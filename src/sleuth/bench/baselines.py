"""What needs no call: the answer that is right most often, given to every question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sleuth.bench.questions import Question
from sleuth.bench.statistics import wilson

MAJORITY = "majority label"


@dataclass(frozen=True, slots=True)
class Majority:
    """The most frequent label of `n` questions and how many have it; the interval of that share is Wilson's.

    `by_type` says the same within each type of question, where types are known (label, right, n).
    """

    label: str
    right: int
    n: int
    low: float
    high: float
    by_type: dict[str, tuple[str, int, int]]

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.right / self.n if self.n else 0.0


def majority(questions: Sequence[Question], labels: Sequence[str]) -> Majority | None:
    """The majority label of a closed task; None for a task without labels. Of labels that are as frequent, the first of `labels`."""
    if not labels or not questions:
        return None
    label, right = _most(questions, labels)
    types = sorted({question.type for question in questions if question.type})
    by_type = {}
    for name in types:
        some = [question for question in questions if question.type == name]
        by_type[name] = (*_most(some, labels), len(some))
    return Majority(label, right, len(questions), *wilson(right, len(questions)), by_type)


def _most(questions: Sequence[Question], labels: Sequence[str]) -> tuple[str, int]:
    found = Counter(question.answers[0] for question in questions if question.answers)
    best = max(labels, key=lambda label: found[label])
    return best, found[best]
