"""A bench read once: its scores, and of every run the little that a report shows of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sleuth.bench.blame import read_rows
from sleuth.bench.errors import Verdict, classify
from sleuth.bench.folder import Asked, BenchFolder, Cell, Plan, Run
from sleuth.bench.metrics import TABLE, find
from sleuth.bench.questions import Question
from sleuth.bench.record import Record
from sleuth.bench.scores import Scores, score
from sleuth.bench.statistics import RESAMPLES, SEED, extra, interval, mean, wilson
from sleuth.errors import BadInput
from sleuth.types import Generate, Hop, Passage

COSTS = ("calls", "searches", "tokens_read", "tokens_cached", "tokens_written", "seconds", "usd")
TOKENS = ("tokens_read", "tokens_cached", "tokens_written")
ALWAYS = ("em", "f1", "answered", "confidence", *COSTS)
MANY = 200
"""Values of which a bootstrap in plain Python ends soon."""
MOST = 2_000
"""Characters of a text from a trace that are kept, at most."""

Prompt: TypeAlias = tuple[str, float]
"""A digest of a prompt's messages, and its temperature: draws of equal ones are draws of the same."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a report keeps of a run. `hops` have no passage texts. `replies` are (prompt, draw, text) of the calls that came in,
    kept for methods that sample. `params` are those it was asked with, `first` is the digest of its first call's messages.
    """

    answer: str
    status: str
    ended: str
    note: str
    hops: tuple[Hop, ...]
    citations: int
    params: Mapping[str, Any]
    strategy: str
    first: str
    verdict: Verdict
    replies: tuple[tuple[Prompt, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over `n` questions with its 95% interval: Wilson's of shares, else bootstrap."""

    n: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a report says, before it is put in words."""

    folder: BenchFolder
    plan: Plan
    metrics: Mapping[str, tuple[str, ...]]
    """Task to the names of its scores, the one that decides first."""
    questions: Mapping[str, tuple[Question, ...]]
    scores: Scores
    told: Mapping[Cell, Mapping[str, Told]]
    blame: Sequence[Mapping[str, Any]] = field(default=())
    version: str = ""
    """Of the Sleuth that scores, "" where it is not told."""
    _means: dict[tuple[Cell, str], Mean | None] = field(default_factory=dict, repr=False, compare=False)

    def cells(self, task: str) -> list[Cell]:
        """The task's cells in the plan's order."""
        return [cell for cell in self.plan.cells() if cell.task == task]

    def values(self, cell: Cell, metric: str) -> Mapping[str, float]:
        """Question to score; "tokens" are those of all kinds."""
        found = self.scores.values.get(cell, {})
        if metric == "tokens":
            kinds = [found.get(name, {}) for name in TOKENS]
            return {key: sum(kind.get(key, 0.0) for kind in kinds) for key in kinds[0]}
        return found.get(metric, {})

    def mean(self, cell: Cell, metric: str) -> Mean | None:
        """None where nothing is scored. Worked out once."""
        if (cell, metric) not in self._means:
            self._means[cell, metric] = averaged(list(self.values(cell, metric).values()), metric)
        return self._means[cell, metric]

    def label(self, cell: Cell) -> str:
        """What the report calls the cell: its method, and its model where there are several."""
        return f"{cell.method} ({cell.model})" if len(self.plan.models) > 1 else cell.method


class _Watched(BenchFolder):
    """A bench that shows each run to `see` as it is read, so that scoring and telling need one pass."""

    def __init__(self, folder: BenchFolder, see: Callable[[Run], None]) -> None:
        super().__init__(folder.folder)
        self._see = see

    def runs(self, cell: Cell) -> Iterator[Run]:
        for run in super().runs(cell):
            self._see(run)
            yield run


def read(folder: BenchFolder, metrics: Sequence[str] = (), version: str = "") -> Reading:
    """Read a bench, each trace once; nothing is asked. `metrics` stand in place of the tasks' own, the first decides.

    Raises `BadInput` for a damaged bench and for a metric that is none.
    """
    plan = folder.plan()
    find(metrics)
    chosen = {task.name: tuple(dict.fromkeys(metrics or _known(task))) for task in plan.tasks}
    wanted = dict.fromkeys([*(name for names in chosen.values() for name in names), *ALWAYS])
    told: dict[Cell, dict[str, Told]] = {cell: {} for cell in plan.cells()}

    def see(run: Run) -> None:
        if run.record is not None and run.record.answer is not None and not run.record.is_lost:
            told[run.cell][run.question.id] = _told(run, run.record)

    scores = score(_Watched(folder, see), find(list(wanted)))
    questions = {task.name: folder.questions(task.name) for task in plan.tasks}
    return Reading(folder, plan, chosen, questions, scores, told, _blame(folder), version)


def averaged(values: Sequence[float], metric: str) -> Mean | None:
    """Their mean. Of costs, and of many values, the bootstrap is numpy's: as many resamples, other draws."""
    if not values:
        return None
    if metric in TABLE and TABLE[metric].kind == "share":
        low, high = wilson(round(sum(values)), len(values))
    elif len(set(values)) == 1:
        low = high = values[0]
    elif len(values) <= MANY and metric not in (*COSTS, "tokens"):
        low, high = interval(values)  # to the digit what `sleuth bench show` says
    else:
        low, high = _resampled(values)
    return Mean(len(values), mean(values), low, high)


def _resampled(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron 1979), seeded."""
    numpy = extra("numpy")
    drawn, rng, n = numpy.asarray(values, dtype=float), numpy.random.default_rng(SEED), len(values)
    block = max(1, 2_000_000 // n)
    means = numpy.concatenate(
        [
            drawn[rng.integers(0, n, (min(block, RESAMPLES - begun), n))].mean(axis=1)
            for begun in range(0, RESAMPLES, block)
        ]
    )
    low, high = numpy.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _known(task: Asked) -> tuple[str, ...]:
    """The task's metrics. Raises `BadInput` for one that this Sleuth does not have."""
    if not task.metrics:
        raise BadInput(f"The task '{task.name}' names no metric.", hint="Give some: --metrics em,f1")
    return tuple(metric.name for metric in find(task.metrics))


def _told(run: Run, record: Record) -> Told:
    answer = record.answer
    assert answer is not None  # noqa: S101 - the caller's condition, for the type checker
    params = record.about.get("params")
    params = params if isinstance(params, Mapping) else {}
    sampled = isinstance(params.get("n"), int)
    replies = tuple(
        ((_digest(reply.request), reply.request.temperature), reply.request.sample, reply.completion.text[:MOST])
        for reply in record.replies
        if sampled and reply.completion is not None
    )
    return Told(
        answer.text[:MOST],
        answer.status,
        answer.ended,
        answer.note[:MOST],
        tuple(map(_bare, answer.hops)),
        len(answer.citations),
        params,
        str(record.about.get("strategy", "")),
        _digest(record.replies[0].request) if record.replies else "",
        classify(run),
        replies,
    )


def _digest(request: Generate) -> str:
    return hashlib.blake2b(repr(request.messages).encode("utf-8", "replace"), digest_size=12).hexdigest()


def _bare(hop: Hop) -> Hop:
    """The hop without its passages' texts."""
    passages = tuple(Passage(each.id, each.document, each.title[:200], "") for each in hop.evidence)
    return replace(
        hop, question=hop.question[:MOST], query=hop.query[:MOST], answer=hop.answer[:MOST], evidence=passages
    )


def _blame(folder: BenchFolder) -> list[dict[str, Any]]:
    file = folder.folder / "blame.jsonl"
    try:
        return read_rows(file)
    except (OSError, RecursionError) as fault:
        raise BadInput(f"{file} is damaged: {fault}.", hint="Take it away, or blame again.") from fault
