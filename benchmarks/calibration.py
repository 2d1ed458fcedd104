"""Is the stated confidence true? Calibration of the answers that `quality.py` kept.

    python benchmarks/calibration.py --set hotpotqa-report-100 --configuration link-then-read

An answer is right when it is an exact match. Prints a Markdown table of the configurations (mean confidence, share
right, expected calibration error over 5 bins, Brier score, AUROC, each with its 95% bootstrap interval), and for each
configuration its bins and what it would cost and bring to answer only when surer than a threshold.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from quality import CONFIGURATIONS, rows
from sleuth.bench.calibration import (
    Pair,
    auroc,
    brier,
    expected_calibration_error,
    interval,
    reliability,
    risk_coverage,
)
from sleuth.bench.statistics import mean

BINS = 5
THRESHOLDS = (0.5, 0.8, 0.9)


def pairs(set_name: str, name: str) -> list[Pair]:
    """Confidence and whether right, of every answer that has a confidence."""
    kept = (row for row in rows(set_name, name) if row["status"] == "answered" and row["confidence"] is not None)
    return [(float(row["confidence"]), bool(row["em"])) for row in kept]


def cell(found: Sequence[Pair], measure: Callable[[Sequence[Pair]], float | None]) -> str:
    """A measure with its interval."""
    value, around = measure(found), interval(found, measure)
    return "–" if value is None or around is None else f"{value:.2f} ({around[0]:.2f} to {around[1]:.2f})"


def line(name: str, found: Sequence[Pair]) -> str:
    """A configuration's row."""
    error = partial(expected_calibration_error, bins=BINS)
    cells = [
        name,
        f"{len(found)}",
        f"{mean([confidence for confidence, _ in found]):.2f}",
        f"{mean([float(right) for _, right in found]):.2f}",
        *(cell(found, measure) for measure in (error, brier, auroc)),
    ]
    return f"| {' | '.join(cells)} |"


def detail(name: str, found: Sequence[Pair]) -> str:
    """Bins, and what a threshold brings."""
    lines = [f"**{name}**", "", "| confidence | n | mean | right (95% interval) |", "|---|---|---|---|"]
    for each in reliability(found, BINS):
        low, high = each.interval
        right = f"{each.right:.2f} ({low:.2f} to {high:.2f})"
        lines.append(f"| {each.low:.1f} to {each.high:.1f} | {each.n} | {each.confidence:.2f} | {right} |")
    lines.append("")
    for threshold in THRESHOLDS:
        surer = [point for point in risk_coverage(found) if point.least > threshold]
        if surer:
            point = surer[-1]
            lines.append(f"- over {threshold}: {point.coverage:.0%} of the answers, {point.risk:.0%} of them wrong")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", dest="sets", required=True)
    parser.add_argument("--configuration", action="append", choices=list(CONFIGURATIONS))
    given = parser.parse_args()
    for set_name in given.sets:
        kept = {name: pairs(set_name, name) for name in given.configuration or CONFIGURATIONS}
        kept = {name: found for name, found in kept.items() if found}
        heads = ("configuration", "n", "mean confidence", "right", "calibration error", "Brier score", "AUROC")
        print(f"**{set_name}**\n\n| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
        print("\n".join(line(name, found) for name, found in kept.items()))
        print("", *(f"{detail(name, found)}\n" for name, found in kept.items()), sep="\n")


if __name__ == "__main__":
    main()
