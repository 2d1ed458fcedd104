"""Answer quality of the strategies with one model: EM, F1, gold read, abstentions, calls, tokens, seconds, with intervals.

    python benchmarks/quality.py run    --set sample --set hotpotqa-report-100
    python benchmarks/quality.py report --set sample --set hotpotqa-report-100
    python benchmarks/quality.py losses --set sample --set hotpotqa-report-100

`run` appends one line a question and configuration to ``benchmarks/results/SET/CONFIGURATION.jsonl`` and skips what is
there already: stopped at any point, it goes on. A model call that was made before, to the letter and of the same draw,
is answered from ``benchmarks/results/calls.jsonl`` with what it took then (a hybrid shares its plan with the planner, a
back-off its samples). Calls are made one at a time. `report` prints the Markdown tables of docs/quality.md, `losses` where
the answers that are not right were lost.
Evaluation data is read from ``../shared/data`` (or SLEUTH_DATA); question ids are in ``benchmarks/ids``.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from sleuth.app import models, settings
from sleuth.bench.metrics import all_found, exact_match, f1
from sleuth.bench.statistics import interval, mean, paired, wilson
from sleuth.codec import digest, plain, restore
from sleuth.engine import Engine
from sleuth.events import Event, Noted
from sleuth.library import Library, index
from sleuth.models.limit import Limiter
from sleuth.models.local import LocalModel
from sleuth.ports import Model, Pieces, Report, Source
from sleuth.sample import articles_path, questions_path
from sleuth.sources.library import LibrarySource
from sleuth.strategies import TABLE
from sleuth.types import Answer, Completion, Generate, Message

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("SLEUTH_DATA") or HERE.parent.parent / "shared" / "data")
RUNS = HERE / "results"

CONFIGURATIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "retrieve-then-read k=2": ("retrieve-then-read", {"k": 2}),
    **{name: (name, strategy.settings["default"]) for name, strategy in TABLE.items()},
    **{f"{name} paper": (name, strategy.settings["paper"]) for name, strategy in TABLE.items()},
}
"""Every strategy in its default and its paper setting; plain retrieval also with as many passages as link-then-read reads."""
YARDSTICK = "retrieve-then-read"


@dataclass(frozen=True)
class QuestionSet:
    """Questions with gold, and the library they are asked of."""

    name: str
    questions: Sequence[Mapping[str, Any]]
    library: Path


def question_set(name: str, scratch: Path) -> QuestionSet:
    """ "sample", or "SET-SPLIT-N": the ids of ``ids/SET-SPLIT-N.txt`` among the questions of that evaluation set."""
    if name == "sample":
        questions = [json.loads(line) for line in questions_path().read_text().splitlines()]
        corpus = articles_path()
    else:
        folder, ids = DATA / name.split("-")[0], (HERE / "ids" / f"{name}.txt").read_text().split()
        by_id = {q["id"]: q for q in map(json.loads, (folder / "questions.jsonl").read_text().splitlines())}
        questions = [by_id[i] for i in ids]
        corpus = scratch / f"{folder.name}.jsonl"
        with gzip.open(folder / "corpus.jsonl.gz", "rb") as packed:
            corpus.write_bytes(packed.read())
    library = scratch / f"{corpus.stem}-library"
    if not library.exists():
        index([corpus], library)
    return QuestionSet(name, questions, library)


class Remembering:
    """A model whose calls are kept with what they took, and not made twice; one at a time, so that each has its own cost."""

    def __init__(self, model: Model, file: Path) -> None:
        self.model, self.file, self.cpu, self.seconds = model, file, 0.0, 0.0
        self.turn = asyncio.Lock()
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        self.kept: dict[str, tuple[Completion, float, float]] = {
            row["call"]: (restore(row["reply"]), row["cpu"], row["seconds"]) for row in map(json.loads, lines)
        }

    @property
    def name(self) -> str:
        return self.model.name

    def price(self, read: int, written: int) -> float:
        return self.model.price(read, written)

    async def count(self, messages: Sequence[Message]) -> int:
        return await self.model.count(messages)

    async def aclose(self) -> None:
        await self.model.aclose()

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        call = digest(replace(request, closing=False))
        async with self.turn:
            if call not in self.kept:
                began, cpu = time.perf_counter(), cpu_seconds()
                reply = await self.model.generate(request, report=report, pieces=pieces)
                self.keep(call, reply, cpu_seconds() - cpu, time.perf_counter() - began)
            reply, cpu, seconds = self.kept[call]
            self.cpu, self.seconds = self.cpu + cpu, self.seconds + seconds
        return reply

    def keep(self, call: str, reply: Completion, cpu: float, seconds: float) -> None:
        """Remember the call, here and in the file."""
        self.kept[call] = (reply, cpu, seconds)
        row = {"call": call, "reply": plain(reply), "cpu": cpu, "seconds": seconds}
        with self.file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def opened(name: str) -> Model:
    """The model of that name; a local file reads in large pieces, since nothing here is cancelled."""
    chosen = settings.load()
    named = models.parse(name, chosen)
    if isinstance(named, models.LocalName) and named.path.exists():
        return LocalModel(named.path, threads=chosen.threads, context=4096, batch=256)
    return models.make(named, Limiter)


async def run(sets: Sequence[QuestionSet], names: Sequence[str], model: Model, most: int) -> None:
    """Ask every question with every configuration that has not answered it yet."""
    asking = Remembering(model, RUNS / "calls.jsonl")
    for questions in sets:
        source = LibrarySource(Library.open(questions.library))
        for name in names:
            file = RUNS / questions.name / f"{name.replace(' ', '_')}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            done = {row["id"] for row in rows(questions.name, name)}
            for question in [q for q in questions.questions[:most] if q["id"] not in done]:
                asking.cpu = asking.seconds = 0.0
                row = await ask(asking, source, question, *CONFIGURATIONS[name]) | {
                    "cpu": asking.cpu,
                    "seconds": asking.seconds,
                }
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")
                scores = f"{row['em']:.0f} {row['f1']:.2f} {row['cpu']:5.1f} s"
                print(f"{questions.name} {name:24} {scores}  {row['answer']!r} ({question['answers'][0]})", flush=True)
    await asking.aclose()


async def ask(
    model: Model, source: Source, question: Mapping[str, Any], strategy: str, params: Mapping[str, Any]
) -> dict[str, Any]:
    """One question, one strategy: the row that is kept."""
    noted: Counter[str] = Counter()

    def sink(event: Event) -> None:
        if isinstance(event.body, Noted):
            noted[event.body.kind] += 1

    flow = TABLE[strategy].flow(question["question"], **params)
    answer: Answer = await Engine(model, source, sinks=[sink]).run(flow, question=question["question"])
    gold, wanted = question["answers"], question.get("supporting_ids") or question.get("supporting") or []
    by_title = "supporting_ids" not in question
    read = [p.title if by_title else p.document for p in answer.read][:5]
    return {
        "id": question["id"],
        "answer": answer.text,
        "status": answer.status,
        "ended": answer.ended,
        "em": exact_match(answer.text, gold),
        "f1": f1(answer.text, gold),
        "found": all_found(read, wanted) if answer.read else 0.0,
        "read_passages": len(answer.read),
        "calls": answer.usage.calls,
        "read": answer.usage.read,
        "cached": answer.usage.cached,
        "written": answer.usage.written,
        "searches": answer.usage.searches,
        "hops": len(answer.hops),
        "confidence": answer.confidence,
        "confidence_by": answer.confidence_by,
        "grounded": answer.grounded,
        "noted": dict(noted),
        "type": question.get("type", ""),
        "note": answer.note,
    }


def cpu_seconds() -> float:
    """CPU seconds so far of this process and its children (the model runs in one)."""
    here = psutil.Process()
    return sum(sum(p.cpu_times()[:2]) for p in (here, *here.children(recursive=True)))


def rows(set_name: str, name: str) -> list[dict[str, Any]]:
    """What is kept of that configuration on that set."""
    file = RUNS / set_name / f"{name.replace(' ', '_')}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


HEADER = (
    "| configuration | n | EM (95% interval) | F1 (95% interval) | F1 less that of {against} | all gold read | passages read "
    "| no answer | calls | tokens read | written | seconds | CPU s |"
)


def report(set_name: str, names: Sequence[str], against: str = YARDSTICK) -> str:
    """The Markdown table of one set; differences are paired, over the questions that both configurations answered."""
    kept = {name: {row["id"]: row for row in rows(set_name, name)} for name in names}
    yardstick = kept.get(against, {})
    lines = [_line(name, found, yardstick) for name, found in kept.items() if found]
    return "\n".join(
        [f"**{set_name}**", "", HEADER.format(against=against), "|---" * HEADER.count(" | ") + "|---|", *lines]
    )


def _line(name: str, ours: Mapping[str, Mapping[str, Any]], yardstick: Mapping[str, Mapping[str, Any]]) -> str:
    def average(key: str) -> float:
        return mean([float(row[key]) for row in ours.values()])

    scores = [100 * row["f1"] for row in ours.values()]
    low, high = interval(scores)
    least_em, most_em = wilson(round(sum(row["em"] for row in ours.values())), len(ours))
    both = sorted(ours.keys() & yardstick.keys())
    gain, least, most = paired([100 * ours[i]["f1"] for i in both], [100 * yardstick[i]["f1"] for i in both])
    shown = "" if least > 0 or most < 0 else ": no difference shown"
    cells = [
        name,
        f"{len(ours)}",
        f"{100 * average('em'):.0f} ({100 * least_em:.0f} to {100 * most_em:.0f})",
        f"{mean(scores):.1f} ({low:.1f} to {high:.1f})",
        "" if ours is yardstick else f"{gain:+.1f} ({least:+.1f} to {most:+.1f}){shown}",
        f"{100 * average('found'):.0f}%" if average("read_passages") else "–",
        f"{average('read_passages'):.1f}" if average("read_passages") else "–",
        f"{sum(row['status'] != 'answered' for row in ours.values())}",
        f"{average('calls'):.1f}",
        f"{average('read'):.0f}",
        f"{average('written'):.0f}",
        f"{average('seconds'):.0f}",
        f"{average('cpu'):.0f}",
    ]
    return f"| {' | '.join(cells)} |"


LOSSES = "| configuration | n | right | close | gold read, answer wrong | gold not read, answer wrong | nothing read, answer wrong | no answer |"


def loss(row: Mapping[str, Any]) -> str:
    """Where an answer was lost, in the words of the table: by exact match, F1 of a half or more, and what was read."""
    if row["status"] != "answered":
        return "no answer"
    if row["em"]:
        return "right"
    if row["f1"] >= 0.5:
        return "close"
    if not row["read_passages"]:
        return "nothing read, answer wrong"
    return "gold read, answer wrong" if row["found"] else "gold not read, answer wrong"


def losses(set_name: str, names: Sequence[str], by_type: bool = False) -> str:
    """The Markdown table of how many answers of each configuration (and type of question) were lost where."""
    lines = [LOSSES, "|---" * LOSSES.count(" | ") + "|---|"]
    kinds = LOSSES.strip("| ").split(" | ")[2:]
    for name in names:
        kept = rows(set_name, name)
        for type_ in sorted({row["type"] for row in kept}) if by_type else [""] if kept else []:
            found = Counter(loss(row) for row in kept if not by_type or row["type"] == type_)
            called = f"{name}, {type_}" if by_type else name
            lines.append(f"| {called} | {found.total()} | {' | '.join(str(found[kind]) for kind in kinds)} |")
    return "\n".join([f"**{set_name}**", "", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report", "losses"])
    parser.add_argument("--set", action="append", dest="sets", required=True)
    parser.add_argument("--configuration", action="append", choices=list(CONFIGURATIONS))
    parser.add_argument("--against", choices=list(CONFIGURATIONS), default=YARDSTICK, help="what `report` pairs with")
    parser.add_argument("--model", default="local", help="as for `sleuth ask`")
    parser.add_argument("--most", type=int, default=10_000, help="the first N questions of each set")
    parser.add_argument("--by-type", action="store_true", help="`losses` for each type of question apart")
    given = parser.parse_args()
    names = given.configuration or list(CONFIGURATIONS)
    if given.what == "report":
        print("\n\n".join(report(name, names, given.against) for name in given.sets))
        return
    if given.what == "losses":
        print("\n\n".join(losses(name, names, given.by_type) for name in given.sets))
        return
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(
            run([question_set(name, Path(scratch)) for name in given.sets], names, opened(given.model), given.most)
        )


if __name__ == "__main__":
    main()
