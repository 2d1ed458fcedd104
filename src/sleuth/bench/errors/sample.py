"""Which trajectories are looked at, and what came of it: the paper takes 50 right and 50 wrong ones of each method."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sleuth.bench.errors.facts import Facts
from sleuth.bench.errors.rules import Kind, Verdict
from sleuth.bench.folder import Run

RIGHT_KINDS: tuple[Kind, ...] = ("true_positive", "false_positive")
WRONG_KINDS: tuple[Kind, ...] = ("reasoning_error", "loop", "search_error", "hallucination", "label_ambiguity")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The right and the wrong runs of a cell that are looked at, of how many there are."""

    right: tuple[Run, ...]
    wrong: tuple[Run, ...]
    all_right: int
    all_wrong: int


def chosen(runs: Iterable[Run], *, right: int = 50, wrong: int = 50, seed: int = 0) -> Chosen:
    """So many of each, drawn by the seed from those that ended; fewer where there are fewer."""
    ended = [run for run in runs if run.record is not None and run.record.answer is not None]
    rights = [run for run in ended if run.record is not None and Facts(run, run.record).is_right]
    known = {run.question.id for run in rights}
    wrongs = [run for run in ended if run.question.id not in known]
    return Chosen(_drawn(rights, right, seed), _drawn(wrongs, wrong, seed), len(rights), len(wrongs))


def table(verdicts: Iterable[Verdict]) -> Mapping[Kind, int]:
    """How many of each kind."""
    return Counter(verdict.kind for verdict in verdicts)


def _drawn(runs: list[Run], most: int, seed: int) -> tuple[Run, ...]:
    """In an order that depends on the seed and each run alone, so that a larger draw holds a smaller one."""
    ranked = sorted(runs, key=lambda run: random.Random(f"{seed} {run.cell} {run.question.id}").random())  # noqa: S311
    return tuple(ranked[:most])
