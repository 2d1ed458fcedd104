"""What a metric is: a named, versioned, pure function of a run's record and its question's gold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sleuth.bench.questions import Question
from sleuth.bench.record import Record

Score: TypeAlias = Callable[[Record, Question], float | None]
Unit: TypeAlias = Literal["share", "mean", "calls", "searches", "tokens", "seconds", "US dollars", "hops"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A way to score a run. `score` gives None where it does not apply (no gold of that kind, nothing retrieved).

    `version` is raised with every change of what `score` gives; a test fails otherwise. A unit of ``share`` is 0 or 1 for
    each question (Wilson's interval, McNemar's test), ``mean`` a number from 0 to 1; others are amounts. `source` is
    the official script or paper whose rule it is.
    """

    name: str
    version: str
    unit: Unit
    better: Literal["more", "less"]
    score: Score
    about: str
    source: str

    @property
    def kind(self) -> Literal["share", "mean"]:
        """Which statistics suit it (`sleuth.bench.statistics.compared`)."""
        return "share" if self.unit == "share" else "mean"
