"""Every pair of cells that differ in one thing, on the questions that both answered, with Holm over all of a task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sleuth.bench import power
from sleuth.bench.folder import Cell
from sleuth.bench.metrics import TABLE
from sleuth.bench.report.reading import Reading
from sleuth.bench.statistics import ALPHA, Difference, adjusted, compared
from sleuth.errors import UnknownName

FEWEST = 2
"""Questions in common that a pair needs."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Ours against theirs. `difference` has p and verdict for all pairs together; `least` is the smallest true difference that
    these questions would have shown 4 times in 5 (inf: none).
    """

    ours: Cell
    theirs: Cell
    metric: str
    difference: Difference
    least: float

    @property
    def better(self) -> Cell | None:
        """The cell that is shown to be better; None where no difference is shown."""
        if not self.difference.shown:
            return None
        more = TABLE[self.metric].better == "more"
        return self.ours if (self.difference.difference > 0) == more else self.theirs


def pairs(reading: Reading, task: str, against: str = "") -> tuple[Pair, ...]:
    """The task's pairs by its deciding metric: one model and two methods, or one method and two models.

    `against` keeps the pairs with that method alone. Raises `UnknownName` for a method that no task has.
    """
    cells, metric = reading.cells(task), reading.metrics[task][0]
    methods = [method.name for method in reading.plan.methods]
    if against and against not in methods:
        raise UnknownName(f"This bench has no method '{against}'.", hint=f"It has: {', '.join(methods)}.")
    found = []
    for at, theirs in enumerate(cells):
        for ours in cells[at + 1 :]:
            if (ours.model == theirs.model) == (ours.method == theirs.method):
                continue
            if against == ours.method != theirs.method:
                found.append((theirs, ours))
            elif not against or (against == theirs.method != ours.method):
                found.append((ours, theirs))
    return tested([(a, b, reading.values(a, metric), reading.values(b, metric)) for a, b in found], metric)


def tested(
    sides: Sequence[tuple[Cell, Cell, Mapping[str, float], Mapping[str, float]]], metric: str
) -> tuple[Pair, ...]:
    """Each pair tested on the questions that both have, then all adjusted together; fewer than 2 questions make no pair."""
    kind, alpha = TABLE[metric].kind, ALPHA / max(1, len(sides))
    found = []
    for ours, theirs, left, right in sides:
        both = sorted(left.keys() & right.keys())
        if len(both) < FEWEST:
            continue
        mine, other = [left[key] for key in both], [right[key] for key in both]
        found.append(Pair(ours, theirs, metric, compared(mine, other, kind), _least(mine, other, kind, alpha)))
    verdicts = adjusted([pair.difference for pair in found])
    return tuple(
        Pair(pair.ours, pair.theirs, pair.metric, verdict, pair.least)
        for pair, verdict in zip(found, verdicts, strict=True)
    )


def _least(ours: Sequence[float], theirs: Sequence[float], kind: str, alpha: float) -> float:
    """What these questions could have shown, from how often (or how far) these two differ: the upper limit of that."""
    if kind == "share":
        least = power.smallest_difference(len(ours), discordant=power.discordant_share(ours, theirs), alpha=alpha)
    else:
        least = power.smallest_difference(len(ours), sd=power.deviation(ours, theirs), alpha=alpha)
    return least if least else math.inf  # two that never differed tell nothing of how they might
