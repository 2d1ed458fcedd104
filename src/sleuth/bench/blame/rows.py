"""What blame found, as rows of FOLDER/blame.jsonl, and summed over a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sleuth.bench.blame.judge import NONE, PARTS, Blamed
from sleuth.bench.folder import Run
from sleuth.bench.statistics import wilson


@dataclass(frozen=True, slots=True)
class Share:
    """A part's share of the failures, with its 95% Wilson interval, and exact match and F1 if those answers were right."""

    part: str
    count: int
    share: float
    low: float
    high: float
    em: float
    f1: float


def as_row(run: Run, blamed: Blamed) -> dict[str, Any]:
    """One row: where, the verdict, and every repair that was tried."""
    cell = run.cell
    return {
        "task": cell.task,
        "model": cell.model,
        "method": cell.method,
        "question": run.question.id,
        "part": blamed.part,
        "evidence": blamed.evidence,
        "repairs": [asdict(repair) for repair in blamed.repairs],
        "calls": blamed.calls,
        "replayed": blamed.replayed,
    }


def read_rows(file: Path) -> list[dict[str, Any]]:
    """The rows of a file, the last of each question; [] where there is none. A torn line is passed over."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []
    for line in lines:
        try:
            row = json.loads(line)
            found[tuple(str(row[key]) for key in ("task", "model", "method", "question"))] = row
            row["part"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return [row for row in found.values() if row.get("part") in (*PARTS, NONE)]


def shares(rows: Iterable[Mapping[str, Any]], scores: Mapping[str, tuple[float, float]]) -> tuple[Share, ...]:
    """Each part's share among these rows of one cell, greatest first. `scores` are (EM, F1) of all its questions by id."""
    rows, n = list(rows), len(scores)
    found = []
    for part in (*PARTS, NONE):
        blamed = {str(row["question"]) for row in rows if row["part"] == part}
        low, high = wilson(len(blamed), len(rows)) if rows else (0.0, 1.0)
        perfect = [(1.0, 1.0) if id in blamed and part != NONE else pair for id, pair in scores.items()]
        em, f1 = (_mean([pair[at] for pair in perfect], n) for at in (0, 1))
        found.append(Share(part, len(blamed), len(blamed) / len(rows) if rows else 0.0, low, high, em, f1))
    return tuple(sorted(found, key=lambda share: -share.count))


def _mean(values: Sequence[float], n: int) -> float:
    return sum(values) / n if n else 0.0
