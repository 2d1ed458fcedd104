"""Scores of a bench's runs: one pass over its traces for all metrics, and nothing is asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from sleuth.bench.calibration import Pair
from sleuth.bench.folder import BenchFolder, Cell
from sleuth.bench.metrics import Metric
from sleuth.errors import BadInput

Values: TypeAlias = Mapping[str, Mapping[str, float]]
"""Metric to question id to score, where the metric applies."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Every cell's scores by metric and question, with the metrics' versions.

    A run that is not there, did not end, or lost its model or source has no score; `unfinished` are these questions' ids.
    """

    values: Mapping[Cell, Values]
    versions: Mapping[str, str]
    unfinished: Mapping[Cell, tuple[str, ...]] = field(default_factory=dict)

    def pairs(self, cell: Cell, metric: str) -> tuple[Pair, ...]:
        """(confidence, right) of the cell's answers that state one (see `sleuth.bench.calibration`). KeyError when not scored."""
        sure, right = self.values[cell]["confidence"], self.values[cell][metric]
        return tuple((sure[key], right[key] == 1.0) for key in sure if key in right)

    def outcomes(self, cell: Cell, metric: str) -> tuple[tuple[bool, bool], ...]:
        """(answered, right) of the cell's runs, for `calibration.abstention`. KeyError when not scored."""
        answered, right = self.values[cell]["answered"], self.values[cell][metric]
        return tuple((answered[key] == 1.0, right[key] == 1.0) for key in answered if key in right)


def score(folder: BenchFolder, metrics: Iterable[Metric]) -> Scores:
    """Score every run of the bench; each trace is read once. Raises `BadInput` for a damaged trace or plan."""
    metrics = tuple(metrics)
    values: dict[Cell, dict[str, dict[str, float]]] = {}
    unfinished: dict[Cell, tuple[str, ...]] = {}
    for cell in folder.plan().cells():
        values[cell] = {metric.name: {} for metric in metrics}
        left = []
        for run in folder.runs(cell):
            if run.record is None or run.record.answer is None or run.record.is_lost:
                left.append(run.question.id)
                continue
            for metric in metrics:
                value = metric.score(run.record, run.question)
                if value is not None:
                    values[cell][metric.name][run.question.id] = value
        unfinished[cell] = tuple(left)
    return Scores(values, {metric.name: metric.version for metric in metrics}, unfinished)


def changed(stored: Scores, now: Iterable[Metric]) -> tuple[str, ...]:
    """What stored scores and today's metrics do not have in common, a sentence each; () when they may be compared."""
    return tuple(
        f"{metric.name} was scored with version {stored.versions[metric.name]} and is now {metric.version}"
        for metric in now
        if stored.versions.get(metric.name, metric.version) != metric.version
    )


def save(scores: Scores, file: Path) -> None:
    """Write the scores as one JSON object."""
    cells = [
        {
            "task": cell.task,
            "model": cell.model,
            "method": cell.method,
            "values": values,
            "unfinished": scores.unfinished.get(cell, ()),
        }
        for cell, values in scores.values.items()
    ]
    text = json.dumps({"versions": dict(scores.versions), "cells": cells}, ensure_ascii=False)
    half = file.with_name(file.name + ".half")
    half.write_text(text + "\n", encoding="utf-8")
    half.replace(file)


def saved(file: Path) -> Scores:
    """The scores that `save` wrote. Raises `BadInput` for what cannot be read."""
    try:
        row: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        values = {_cell(each): {name: dict(found) for name, found in each["values"].items()} for each in row["cells"]}
        left = {_cell(each): tuple(each["unfinished"]) for each in row["cells"]}
        return Scores(values, dict(row["versions"]), left)
    except OSError as fault:
        raise BadInput(f"The scores in {file} cannot be read: {fault.strerror or fault}.") from fault
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise BadInput(
            f"{file} holds no scores: {fault}.", hint="Score the bench again: sleuth bench report"
        ) from fault


def _cell(row: Mapping[str, Any]) -> Cell:
    return Cell(str(row["task"]), str(row["model"]), str(row["method"]))
