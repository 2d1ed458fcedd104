"""A bench in a few lines: for each cell its deciding scores with intervals, what it cost, and whether it differs from the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sleuth.bench.baselines import MAJORITY, Majority, majority
from sleuth.bench.folder import Asked, BenchFolder, Cell
from sleuth.bench.metrics import find
from sleuth.bench.scores import score
from sleuth.bench.statistics import Difference, compared, interval, mean, wilson

SHOWN = 2
"""Metrics of a task that are shown: the one that decides, and the next."""
COSTS = ("calls", "tokens_read", "tokens_cached", "tokens_written", "seconds", "usd")


@dataclass(frozen=True, slots=True)
class Score:
    """A mean over `n` questions and its 95% interval (Wilson's where each is 0 or 1, else bootstrap)."""

    metric: str
    n: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Row:
    """A cell: how many of its runs are done, its scores, its mean costs a question, and its difference from the task's first cell."""

    cell: Cell
    done: int
    asked: int
    scores: tuple[Score, ...]
    costs: Mapping[str, float]
    against: Difference | None


@dataclass(frozen=True, slots=True)
class Summary:
    """A task's rows in the plan's order; `majority` where its answers are labels."""

    task: Asked
    rows: tuple[Row, ...]
    majority: Majority | None


def summary(folder: BenchFolder) -> tuple[Summary, ...]:
    """Of every task of the bench. Reads its traces, asks nothing."""
    plan = folder.plan()
    wanted = dict.fromkeys([*(name for task in plan.tasks for name in task.metrics[:SHOWN]), *COSTS])
    scores = score(folder, find(list(wanted)))
    found = []
    for task in plan.tasks:
        questions = folder.questions(task.name)
        cells = [cell for cell in plan.cells() if cell.task == task.name]
        values = {cell: scores.values.get(cell, {}) for cell in cells}
        rows = tuple(_row(cell, task, values, cells[0], len(questions)) for cell in cells)
        found.append(Summary(task, rows, majority(questions, task.labels)))
    return tuple(found)


def _row(cell: Cell, task: Asked, values: Mapping[Cell, Mapping[str, Mapping[str, float]]], first: Cell, n: int) -> Row:
    ours = values[cell]
    deciding = task.metrics[0]
    return Row(
        cell,
        len(ours.get("calls", {})),
        n,
        tuple(_scored(name, list(ours[name].values())) for name in task.metrics[:SHOWN] if ours.get(name)),
        {name: mean(list(ours[name].values())) for name in COSTS if ours.get(name)},
        None if cell == first else _difference(ours.get(deciding, {}), values[first].get(deciding, {})),
    )


def _scored(metric: str, values: Sequence[float]) -> Score:
    value = mean(values)
    low, high = wilson(round(sum(values)), len(values)) if _share(values) else interval(values)
    return Score(metric, len(values), value, low, high)


def _difference(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Difference | None:
    both = sorted(ours.keys() & theirs.keys())
    if len(both) < SHOWN:
        return None
    mine, other = [ours[i] for i in both], [theirs[i] for i in both]
    return compared(mine, other, "share" if _share([*mine, *other]) else "mean")


def _share(values: Sequence[float]) -> bool:
    return all(value in (0.0, 1.0) for value in values)


__all__ = ["MAJORITY", "Row", "Score", "Summary", "summary"]
