"""`make bench-small`: ReAct's protocol with the embedded model on 30 HotpotQA questions and 30 FEVER claims, and its report.

    python benchmarks/small.py [--output FOLDER] [--model NAME]

Runs unattended, and goes on where it was stopped. Questions are read from ``../shared/data`` (or SLEUTH_DATA), their ids
are in ``benchmarks/ids``; the results go to ``benchmarks/results/bench-small``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from sleuth.cli.entry import main as sleuth

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("SLEUTH_DATA") or HERE.parent.parent / "shared" / "data")
TASKS = ("hotpotqa", "fever")
SAMPLES = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=HERE / "results" / "bench-small")
    parser.add_argument("--model", default="local")
    given = parser.parse_args()
    lacking = [name for name in (*TASKS, "wikipedia_intros") if not (DATA / name).is_dir()]
    if lacking:
        print(f"The evaluation data is not in {DATA} ({', '.join(lacking)} missing). Name its folder in SLEUTH_DATA.")
        return 2
    words = [
        "bench",
        "run",
        *(f"{name}:{DATA / name}" for name in TASKS),
        "--corpus",
        f"fever={DATA / 'wikipedia_intros'}",
    ]
    for name in TASKS:
        words += ["--ids", str(HERE / "ids" / f"{name}-small-30.txt")]
    words += ["--preset", "react-paper", "--set", f"samples={SAMPLES}", "--baselines"]
    words += ["--model", given.model, "--output", str(given.output), "--yes"]
    return sleuth(words) or sleuth(["bench", "report", str(given.output)])


if __name__ == "__main__":
    sys.exit(main())
