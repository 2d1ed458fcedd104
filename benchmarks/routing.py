"""How `auto` routes the questions of evaluation sets: by its rules, and by one call of a model.

    python benchmarks/routing.py                          the rules, on the half they were not made on
    python benchmarks/routing.py --model local --most 40  the same questions by the model too

Nothing is answered. Prints a Markdown table: how many questions of each set get which type, of the first `--most`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from quality import opened
from retrieval import half_of
from sleuth.engine import Engine
from sleuth.guards.question_type import question_type
from sleuth.ports import Model
from sleuth.strategies.auto import KINDS, asked_type
from sleuth.types import Flow

DATA = Path(os.environ.get("SLEUTH_DATA") or Path(__file__).resolve().parent.parent.parent / "shared" / "data")
SETS = ("hotpotqa", "2wikimultihopqa", "musique", "strategyqa", "fanoutqa", "frames")


def questions(name: str, half: str, most: int) -> list[str]:
    """The first questions of that half of a set, in the order of their ids."""
    with (DATA / name / "questions.jsonl").open(encoding="utf-8") as lines:
        rows = sorted((row["id"], row["question"]) for row in map(json.loads, lines))
    return [question for id_, question in rows if half_of(id_) == half][:most]


def flow(question: str) -> Flow[str]:
    """The type as the model tells it."""
    return (yield from asked_type(question)) or "none"


async def by_model(model: Model, every: Sequence[str]) -> list[str]:
    """Each question's type, as the model tells it."""
    try:
        return [await Engine(model).run(flow(question)) for question in every]
    finally:
        await model.aclose()


def line(name: str, by: str, kinds: Iterable[str]) -> str:
    """A row of the table."""
    told = Counter(kinds)
    cells = [name, by, str(told.total()), *(str(told[kind]) for kind in (*KINDS, "none"))]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=["dev", "test"], default="test")
    parser.add_argument("--model", help="as for `sleuth ask`; without it, the rules alone")
    parser.add_argument("--most", type=int, default=10_000, help="the first N questions of each set")
    given = parser.parse_args()
    print(f"| set | by | n | {' | '.join(KINDS)} | none |\n{'|---' * (len(KINDS) + 4)}|")
    for name in SETS:
        every = questions(name, given.half, given.most)
        print(line(name, "rules", (question_type(question).kind for question in every)), flush=True)
        if given.model:
            print(line(name, "model", asyncio.run(by_model(opened(given.model), every))), flush=True)


if __name__ == "__main__":
    main()
