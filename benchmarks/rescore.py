"""How long scoring 1,000 stored runs takes, with every metric.

    python benchmarks/rescore.py TRACES           # a folder of traces, searched through; prints a line
    python benchmarks/rescore.py TRACES --check   # exit status 1 when it takes 10 seconds or more

The traces are copied into a bench's folder of its own (again and again where there are fewer). The gold is made up of each
run's own answer and pages, so that every metric has something to do. Wall time and processor time of one pass.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from sleuth.bench.folder import Asked, BenchFolder, Cell, Method, Plan  # noqa: E402  after the path is set
from sleuth.bench.metrics import TABLE  # noqa: E402
from sleuth.bench.questions import Question, Task  # noqa: E402
from sleuth.bench.record import load  # noqa: E402
from sleuth.bench.scores import score  # noqa: E402

MOST_SECONDS = 10.0
CELL = Cell("stored", "local", "all")


def main() -> int:
    """Measure, print, and say whether the target is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    files = sorted(asked.traces.rglob("*.jsonl"))
    if not files:
        parser.error(f"there is no trace in {asked.traces}")
    chosen = [files[at * len(files) // asked.runs % len(files)] for at in range(asked.runs)]
    with tempfile.TemporaryDirectory() as folder:
        bench = arranged(BenchFolder(Path(folder)), chosen)
        wall, processor = time.perf_counter(), time.process_time()
        scores = score(bench, TABLE.values())
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    done = len(scores.values[CELL]["calls"])
    print(
        f"{done} runs ({len(set(chosen))} different), {len(TABLE)} metrics: {wall:.2f} s, processor {processor:.2f} s"
    )
    return int(asked.check and wall >= MOST_SECONDS)


def arranged(bench: BenchFolder, files: list[Path]) -> BenchFolder:
    """A bench of these traces, each a question whose gold is what the run itself found."""
    questions = tuple(_question(str(at), file) for at, file in enumerate(files))
    plan = Plan((Asked(CELL.task, tuple(TABLE)),), (Method(CELL.method, {CELL.task: "react"}),), (CELL.model,))
    bench.begin(plan, {CELL.task: Task(CELL.task, questions, tuple(TABLE))})
    for at, file in enumerate(files):
        trace = bench.trace(CELL, str(at))
        trace.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, trace)
    return bench


def _question(name: str, file: Path) -> Question:
    record = load(file)
    titles = tuple(dict.fromkeys(passage.title for passage in record.seen))[:2]
    facts = tuple((title, 0) for title in titles)
    return Question(
        name, record.question, (record.text or "none", "324 m"), supporting=titles, facts=facts, evidence=(facts,)
    )


if __name__ == "__main__":
    sys.exit(main())
