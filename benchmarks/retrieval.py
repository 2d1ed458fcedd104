"""Retrieval without a model: does the first k hold all the passages an answer needs? BM25 and linked, side by side.

    python benchmarks/retrieval.py [SET ...] [--half dev|test|all] [--weights] [--json FILE]

Every set of the data folder (``../shared/data`` beside the repository, or SLEUTH_DATA) that has a corpus and
``supporting_ids`` is indexed into a temporary folder as a user would index it. A question belongs to one half by the
hash of its id; weights were chosen on "dev" alone. A needed document counts as found when one of its passages is among
the first k. Seconds are CPU time of one thread.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sleuth.bench.statistics import wilson
from sleuth.library import Library, index
from sleuth.library import search as searching
from sleuth.types import Search

CUTS = (2, 3, 5, 10)
DATA = Path(os.environ.get("SLEUTH_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of all documents its answer needs."""

    id: str
    text: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Score:
    """Shares, 0 to 1: of questions with all gold in the first k (`all_gold`), of gold in the first 5; CPU ms a query."""

    data: str
    half: str
    method: str
    questions: int
    all_gold: dict[int, float]
    recall_5: float
    ms: float

    def line(self) -> str:
        """One row of the Markdown table, in percent; the interval is Wilson's, of all gold in the first 5."""
        least, most = wilson(round(self.all_gold[5] * self.questions), self.questions)
        cells = [f"{100 * self.all_gold[k]:.1f}" for k in CUTS]
        cells[CUTS.index(5)] += f" ({100 * least:.1f} to {100 * most:.1f})"
        row = [
            self.data,
            self.half,
            str(self.questions),
            self.method,
            *cells,
            f"{100 * self.recall_5:.1f}",
            f"{self.ms:.1f}",
        ]
        return f"| {' | '.join(row)} |"


def half_of(id_: str) -> str:
    """Which half a question belongs to."""
    return ("dev", "test")[int(hashlib.sha256(id_.encode()).hexdigest(), 16) % 2]


def questions(folder: Path) -> list[Question]:
    """The questions of a set that say which passages they need."""
    with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Question(row["id"], row["question"], frozenset(row["supporting_ids"]))
        for row in rows
        if row.get("supporting_ids")
    ]


def usable(names: list[str]) -> Iterator[Path]:
    """The folders of the sets that can be measured (all, or those named)."""
    for folder in sorted(DATA.iterdir()):
        if names and folder.name not in names:
            continue
        if (folder / "questions.jsonl").exists() and (folder / "corpus.jsonl.gz").exists() and questions(folder):
            yield folder


def build(folder: Path, place: Path) -> Library:
    """Index a set's corpus, as `sleuth index` would."""
    corpus = place / f"{folder.name}.jsonl"
    with gzip.open(folder / "corpus.jsonl.gz") as packed, corpus.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    began = time.process_time()
    done = index([corpus], place / folder.name)
    took = time.process_time() - began
    print(
        f"{folder.name}: {done.documents} documents, {done.passages} passages, {done.links} links, {took:.1f} CPU s",
        file=sys.stderr,
    )
    return Library.open(place / folder.name)


def measure(data: str, half: str, method: str, asked: list[Question], find: Callable[[str], list[str]]) -> Score:
    """Score one way to search on these questions."""
    began = time.process_time()
    found = [find(question.text) for question in asked]
    ms = 1000 * (time.process_time() - began) / len(asked)
    rows = list(zip(asked, found, strict=True))
    all_gold = {k: sum(q.gold <= set(f[:k]) for q, f in rows) / len(rows) for k in CUTS}
    recall = sum(len(q.gold & set(f[:5])) / len(q.gold) for q, f in rows) / len(rows)
    return Score(data, half, method, len(asked), all_gold, recall, ms)


def finder(library: Library, *, together: bool) -> Callable[[str], list[str]]:
    """Ids of the documents of the best passages for a question."""
    return lambda text: [passage.document for passage in library.search(Search(text, max(CUTS), together=together))]


def compare(library: Library, data: str, asked: list[Question], halves: list[str]) -> Iterator[Score]:
    """BM25 and linked, on each half wanted."""
    for half in halves:
        some = [question for question in asked if half in ("all", half_of(question.id))]
        if some:
            for together in (False, True):
                yield measure(data, half, "linked" if together else "bm25", some, finder(library, together=together))


def weigh_title(library: Library, data: str, asked: list[Question]) -> Iterator[Score]:
    """BM25 with other weights of the title field, on the development half."""
    some = [question for question in asked if half_of(question.id) == "dev"]
    kept = searching.TITLE_WEIGHT
    try:
        for weight in (0.25, 0.5, 0.6, 1.0, 1.5, 2.0):
            searching.TITLE_WEIGHT = weight
            yield measure(data, "dev", f"t={weight}", some, finder(library, together=False))
    finally:
        searching.TITLE_WEIGHT = kept


def main() -> None:
    """Print the table; with --json also write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--half", choices=("dev", "test", "all"), help="one half only (default: dev, test, all)")
    parser.add_argument("--weights", action="store_true", help="compare weights of the title field")
    parser.add_argument("--json", type=Path, help="also write the scores here")
    options = parser.parse_args()
    halves = [options.half] if options.half else ["dev", "test", "all"]
    print(
        "| set | half | questions | method | all in 2 | all in 3 | all in 5 (95% interval) | all in 10 | recall@5 | CPU ms |"
    )
    print("|---" * 10 + "|")
    scores: list[Score] = []
    with tempfile.TemporaryDirectory() as place:
        for folder in usable(options.sets):
            library, asked = build(folder, Path(place)), questions(folder)
            rows = (
                weigh_title(library, folder.name, asked)
                if options.weights
                else compare(library, folder.name, asked, halves)
            )
            for score in rows:
                print(score.line(), flush=True)
                scores.append(score)
    if options.json:
        options.json.write_text(json.dumps([asdict(score) for score in scores], indent=1))


if __name__ == "__main__":
    main()
