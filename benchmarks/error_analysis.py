"""What the rules of the error analysis say of ReAct trajectories that others made, by the outcome they were kept with.

    python benchmarks/error_analysis.py

Reads ``../shared/data/trajectories`` (or SLEUTH_DATA) and prints the Markdown table of docs/errors.md. Their gold pages are not
known, so what was found is judged by whether the gold answer stands in it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sleuth.bench.errors import classify
from sleuth.bench.errors.rules import MEANING, Verdict
from sleuth.bench.errors.trajectories import read
from sleuth.bench.statistics import wilson

DATA = Path(os.environ.get("SLEUTH_DATA") or Path(__file__).resolve().parent.parent.parent / "shared" / "data")
KINDS = [kind for kind in MEANING if kind != "not_run"]


def main() -> None:
    print(f"| file | outcome | n | {' | '.join(kind.replace('_', ' ') for kind in KINDS)} | sure |")
    print("|---" * (len(KINDS) + 4) + "|")
    for file in sorted((DATA / "trajectories").glob("*.jsonl.gz")):
        found: dict[str, list[Verdict]] = {}
        for kept in read(file):
            found.setdefault(kept.outcome, []).append(classify(kept.run))
        for outcome in ("correct", "incorrect", "halted"):
            if verdicts := found.get(outcome, []):
                print(f"| {file.name.split('.')[0]} | {outcome} | {len(verdicts)} | {cells(verdicts)} |")


def cells(verdicts: Sequence[Verdict]) -> str:
    """How many of each kind, with the share's 95% interval in percent; and how many were sure."""
    counts = Counter(verdict.kind for verdict in verdicts)
    told = []
    for kind in KINDS:
        low, high = wilson(counts[kind], len(verdicts))
        told.append(f"{counts[kind]} ({100 * low:.0f} to {100 * high:.0f}%)" if counts[kind] else "0")
    return " | ".join([*told, str(sum(verdict.sure for verdict in verdicts))])


if __name__ == "__main__":
    main()
