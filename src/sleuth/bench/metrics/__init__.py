"""Metrics by name, each a pure function of a run's record and its question's gold; versions are shown beside every score.

Official rules are kept even where they are harsh ("Beyonce" is not "Beyoncé"); `lenient` stands beside them, never instead.
2Wiki's evidence triples are not scored: a run gives no (subject, relation, object) triples, and making some would measure that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sleuth.bench.metrics import answers, costs, evidence, sentences
from sleuth.bench.metrics.metric import Metric
from sleuth.bench.metrics.words import all_found, exact_match, f1, recall
from sleuth.errors import BadInput
from sleuth.guards.text import normalised

__all__ = ["TABLE", "Metric", "all_found", "exact_match", "f1", "find", "normalised", "recall"]

TABLE: Mapping[str, Metric] = {
    metric.name: metric for part in (answers, sentences, evidence, costs) for metric in part.METRICS
}
"""Every metric, by name."""


def find(names: Iterable[str]) -> tuple[Metric, ...]:
    """The metrics of these names, in order, each once. Raises `BadInput` for a name that is none."""
    found = []
    for name in dict.fromkeys(names):
        if name not in TABLE:
            raise BadInput(f"There is no metric '{name}'.", hint=f"There are: {', '.join(TABLE)}.")
        found.append(TABLE[name])
    return tuple(found)
