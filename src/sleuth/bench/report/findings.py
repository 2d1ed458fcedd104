"""What a bench shows, in plain words, and what it cannot show."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sleuth.bench.folder import Cell
from sleuth.bench.metrics import TABLE
from sleuth.bench.report.pairs import Pair
from sleuth.bench.report.reading import Reading
from sleuth.bench.report.words import apart, counted, is_score, listed, named, number, ranged

MOST = 8
"""Names in a sentence, at most."""


def findings(reading: Reading, task: str, pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Sentences about one task, what matters most first."""
    unfinished = _unfinished(reading, task)
    if not any(reading.mean(cell, reading.metrics[task][0]) for cell in reading.cells(task)):
        return (f"On {task} no run is scored yet.", *unfinished)
    if not pairs:
        return (*(_alone(reading, task, cell) for cell in reading.cells(task)), *unfinished)
    shown = [pair for pair in pairs if pair.better is not None]
    if not shown:
        return (_nothing_shown(reading, task, pairs), *unfinished)
    better = dict.fromkeys(pair.better for pair in shown)
    sentences = [_wins(reading, cell, [p for p in shown if p.better == cell]) for cell in better if cell is not None]
    rest = [pair for pair in pairs if pair.better is None]
    if rest:
        which = _between(reading, rest[0]) if len(rest) == 1 else f"in {len(rest)} of {len(pairs)} pairs"
        sentences.append(f"No difference shown {which}; {could_show(rest)}.")
    return (f"On {task}, by {named(pairs[0].metric)}: {sentences[0]}", *sentences[1:], *unfinished)


def could_show(pairs: Sequence[Pair]) -> str:
    """ "the smallest this could have shown is 21 points", for one pair or from the least to the greatest."""
    sizes = sorted(pair.least for pair in pairs if math.isfinite(pair.least))
    if not sizes:
        return "so few questions could have shown none, however large"
    metric = pairs[0].metric
    low, high = (_size(metric, size) for size in (sizes[0], sizes[-1]))
    told = f"the smallest this could have shown is {low if low == high else f'{low} to {high}'} {_unit(metric)}"
    none = len(pairs) - len(sizes)
    return f"{told}; {counted(none, 'pair')} could have shown none, however large" if none else told


def in_common(pairs: Sequence[Pair]) -> str:
    """ "30 questions", "5 to 30 questions"."""
    sizes = sorted({pair.difference.n for pair in pairs})
    return counted(sizes[0], "question") if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,} questions"


def _nothing_shown(reading: Reading, task: str, pairs: Sequence[Pair]) -> str:
    methods = len({cell for pair in pairs for cell in (pair.ours, pair.theirs)})
    which = _between(reading, pairs[0]) if len(pairs) == 1 else f"between any two of the {methods} methods"
    return (
        f"On {task}, by {named(pairs[0].metric)}: no difference shown {which} with {in_common(pairs)}; "
        f"{could_show(pairs)}. That is not to say that they are equal."
    )


def _wins(reading: Reading, cell: Cell, pairs: Sequence[Pair]) -> str:
    others = [pair.theirs if pair.ours == cell else pair.ours for pair in pairs]
    names = [reading.label(other) for other in others[:MOST]]
    if len(others) > MOST:
        names.append(f"{len(others) - MOST} others")
    sizes = sorted(abs(pair.difference.difference) for pair in pairs)
    low, high = (_size(pairs[0].metric, size) for size in (sizes[0], sizes[-1]))
    by = low if low == high else f"{low} to {high}"
    return (
        f"{reading.label(cell)} is shown to be better than {listed(names)} "
        f"(by {by} {_unit(pairs[0].metric)}, {in_common(pairs)})."
    )


def _between(reading: Reading, pair: Pair) -> str:
    return f"between {reading.label(pair.theirs)} and {reading.label(pair.ours)}"


def _alone(reading: Reading, task: str, cell: Cell) -> str:
    metric = reading.metrics[task][0]
    found = reading.mean(cell, metric)
    if found is None:
        return f"On {task}, {reading.label(cell)} has no {named(metric)}."
    return (
        f"On {task}, {reading.label(cell)} has {named(metric)} {number(metric, found.value)} "
        f"(95% {ranged(metric, found.low, found.high)}, {counted(found.n, 'question')}); nothing is compared."
    )


def _unfinished(reading: Reading, task: str) -> tuple[str, ...]:
    asked = len(reading.questions[task])
    left = {cell: len(reading.scores.unfinished.get(cell, ())) for cell in reading.cells(task)}
    short = [f"{reading.label(cell)} {asked - n} of {asked}" for cell, n in left.items() if n]
    if not short:
        return ()
    more = [f"{len(short) - MOST} others fewer than all"] if len(short) > MOST else []
    return (
        f"Not finished on {task}: {listed([*short[:MOST], *more])} runs have ended. Means of methods with different "
        "questions are not to be compared; the tests use the questions that both have.",
    )


def _size(metric: str, size: float) -> str:
    return f"{100 * size:.0f}" if is_score(metric) else apart(metric, size).lstrip("+")


def _unit(metric: str) -> str:
    return "points" if is_score(metric) else TABLE[metric].unit
