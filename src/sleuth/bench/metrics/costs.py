"""What a run cost, as if it had been asked alone: what came from a cache counts in full (see `sleuth.bench.record`)."""

from __future__ import annotations

from collections.abc import Callable

from sleuth.bench.metrics.metric import Metric, Score
from sleuth.bench.questions import Question
from sleuth.bench.record import Record
from sleuth.types import Usage

USAGE = "sleuth.types.Usage"


def _of(part: Callable[[Usage], float]) -> Score:
    def score(record: Record, question: Question) -> float | None:
        return float(part(record.usage))

    return score


METRICS = (
    Metric("calls", "1", "calls", "less", _of(lambda usage: usage.calls), "model calls", USAGE),
    Metric("searches", "1", "searches", "less", _of(lambda usage: usage.searches), "searches and pages", USAGE),
    Metric("tokens_read", "1", "tokens", "less", _of(lambda usage: usage.read), "tokens newly read", USAGE),
    Metric(
        "tokens_cached", "1", "tokens", "less", _of(lambda usage: usage.cached), "tokens of a shared beginning", USAGE
    ),
    Metric("tokens_written", "1", "tokens", "less", _of(lambda usage: usage.written), "tokens written", USAGE),
    Metric(
        "seconds", "1", "seconds", "less", _of(lambda usage: usage.seconds), "all requests one after the other", USAGE
    ),
    Metric("usd", "1", "US dollars", "less", _of(lambda usage: usage.usd), "the price of its calls", USAGE),
)
