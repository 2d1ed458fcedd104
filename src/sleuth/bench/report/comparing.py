"""Cells of one bench or several against each other: paired differences on the questions that both have, with Holm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from sleuth.bench.folder import BenchFolder, Cell
from sleuth.bench.metrics import find
from sleuth.bench.questions import Question
from sleuth.bench.report.pairs import Pair, tested
from sleuth.bench.report.reading import Reading, read
from sleuth.errors import BadInput, UnknownName


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric's pairs, adjusted together. Their cells' methods are named "FOLDER: METHOD" where there are several folders."""

    metric: str
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """A cell of a bench; `picked` says that its method was named."""

    folder: str
    cell: Cell
    picked: bool
    questions: Mapping[str, Question]
    reading: Reading


def compare(where: Sequence[str], *, metrics: Sequence[str] = (), task: str = "") -> tuple[Compared, ...]:
    """Benches ("FOLDER") or single methods of them ("FOLDER#METHOD") against each other, one `Compared` a metric.

    Within one bench every pair of its cells; between benches each method with itself, and a method that is named with every
    other that is. Raises `BadInput` where nothing is to be compared or questions of one id read otherwise, `UnknownName` for
    a method or task that is not there.
    """
    find(metrics)
    readings: dict[str, Reading] = {}
    groups = [_sides(text, metrics, task, readings) for text in where]
    chosen = list(_chosen(groups))
    if not chosen:
        raise BadInput(
            "Nothing here is to be compared: no two cells have a task and a method in common.",
            hint="Name the methods: sleuth bench compare bench-a#react bench-b#self-ask",
        )
    for ours, theirs in chosen:
        _same_questions(ours, theirs)
    names = tuple(dict.fromkeys(metrics)) or (chosen[0][0].reading.metrics[chosen[0][0].cell.task][0],)
    several = len({side.folder for group in groups for side in group}) > 1
    return tuple(Compared(name, _tested(chosen, name, several)) for name in names)


def _sides(text: str, metrics: Sequence[str], task: str, readings: dict[str, Reading]) -> list[_Side]:
    where, _, method = text.partition("#")
    if where not in readings:
        readings[where] = read(BenchFolder(Path(where)), metrics)
    reading = readings[where]
    cells = [cell for cell in reading.plan.cells() if not method or cell.method == method]
    if not cells:
        has = ", ".join(each.name for each in reading.plan.methods)
        raise UnknownName(f"The bench {where} has no method '{method}'.", hint=f"It has: {has}.")
    kept = [cell for cell in cells if not task or cell.task == task]
    if not kept:
        has = ", ".join(each.name for each in reading.plan.tasks)
        raise UnknownName(f"The bench {where} has no task '{task}'.", hint=f"It has: {has}.")
    questions = {name: {q.id: q for q in of} for name, of in reading.questions.items()}
    return [_Side(where, cell, bool(method), questions[cell.task], reading) for cell in kept]


def _chosen(groups: Sequence[Sequence[_Side]]) -> Iterator[tuple[_Side, _Side]]:
    """The pairs, the later less the earlier."""
    if len(groups) == 1:
        pairs = list(combinations(groups[0], 2))
    else:
        pairs = [(a, b) for one, other in combinations(groups, 2) for a in one for b in other]
    for theirs, ours in pairs:
        a, b = theirs.cell, ours.cell
        if a.task != b.task or (theirs.folder == ours.folder and a == b):
            continue
        within = theirs.folder == ours.folder or (theirs.picked and ours.picked)
        if within or (a.method == b.method and (a.model == b.model or not _share_models(theirs, ours))):
            yield ours, theirs


def _share_models(theirs: _Side, ours: _Side) -> bool:
    return bool(set(theirs.reading.plan.models) & set(ours.reading.plan.models))


def _same_questions(ours: _Side, theirs: _Side) -> None:
    both = ours.questions.keys() & theirs.questions.keys()
    if not both:
        raise BadInput(
            f"{ours.folder} and {theirs.folder} have no question of {ours.cell.task} in common.",
            hint="Paired differences need the same questions: ask the same ids in both.",
        )
    for key in sorted(both):
        a, b = ours.questions[key], theirs.questions[key]
        if (a.text, a.answers) != (b.text, b.answers):
            raise BadInput(
                f"The question {key} of {ours.cell.task} reads otherwise in {ours.folder} than in {theirs.folder}.",
                hint="Compare benches that were asked the same questions.",
            )


def _tested(chosen: Sequence[tuple[_Side, _Side]], metric: str, several: bool) -> tuple[Pair, ...]:
    def named(side: _Side) -> Cell:
        method = f"{side.folder}: {side.cell.method}" if several else side.cell.method
        return Cell(side.cell.task, side.cell.model, method)

    def values(side: _Side) -> Mapping[str, float]:
        return side.reading.values(side.cell, metric)

    return tested([(named(a), named(b), values(a), values(b)) for a, b in chosen], metric)
