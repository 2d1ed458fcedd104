"""Do error analysis and blame name what is known to be wrong? Right runs of the embedded model, spoilt in one known way, asked again and judged.

    python benchmarks/perturbed.py make   --set hotpotqa-report-100
    python benchmarks/perturbed.py judge  --set hotpotqa-report-100
    python benchmarks/perturbed.py report --set hotpotqa-report-100

`make` takes runs whose answer was right and whose gold passages were all read (the rows that ``benchmarks/quality.py run``
has kept), spoils one thing, and asks again; those that are then wrong are kept, with their traces, in
``benchmarks/results/perturbed/SET``. `judge` classifies each by rule (`sleuth.bench.errors`) and blames it by repair
(`sleuth.bench.blame`), `report` prints the confusion tables of docs/blame.md. All can be stopped and go on where they were.

What is spoilt, by nothing that the rules or the repairs know of:

- query: every look-up that finds one gold document asks what another question's run asked;
- removed: one gold document is not in the source;
- namesake: its passages are those of the document whose title is most like its own;
- answer: the reader writes a name from the passages before it (or, every other time, from another question) instead of the answer;
- label: the gold answer is another question's (yes and no change places), and the run is as it was.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import quality
from sleuth.bench import blame
from sleuth.bench.folder import Cell, Run
from sleuth.bench.metrics import exact_match, f1, normalised
from sleuth.bench.questions import Question
from sleuth.bench.record import Record, folded, load
from sleuth.bench.statistics import wilson
from sleuth.engine import Engine
from sleuth.events import Event
from sleuth.library import Library
from sleuth.ports import Model, Pieces, Report, Source
from sleuth.sources.library import LibrarySource
from sleuth.strategies import TABLE
from sleuth.trace import TraceWriter
from sleuth.types import Answer, Completion, Flow, Fork, Generate, Note, Open, Page, Passage, Search, Similar

KINDS = ("query", "removed", "namesake", "answer", "label")
STRATEGIES: Mapping[str, float] = {"link-then-read": 1.0, "self-ask": 1.5, "react": 3.0, "plan-and-solve": 6.0}
"""Whose runs are spoilt, and how late each comes: one that takes more calls comes more rarely."""
ENOUGH = 44
"""Spoilt runs of a kind: at least 40 are wanted."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Spoilt:
    """What was done to a run, as it is kept: enough to do it again."""

    kind: str
    id: str
    strategy: str
    detail: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The file name of its trace."""
        return f"{self.kind}--{self.strategy}--{self.id}"

    def flow(self, question: str) -> Flow[Answer]:
        """The strategy's flow, with its look-ups changed where that is what was spoilt."""
        strategy = TABLE[self.strategy]
        flow = strategy.flow(question, **strategy.settings["default"])
        return asking_otherwise(flow, self.detail["queries"]) if self.kind == "query" else flow

    def source(self, source: Source) -> Source:
        """The source, without a document or with a namesake's in its place where that is what was spoilt."""
        if self.kind not in ("removed", "namesake"):
            return source
        return Without(source, self.detail["document"], self.detail["title"], passage_of(self.detail.get("instead")))

    def model(self, model: Model) -> Model:
        """The model, with a wrong answer in its reader's mouth where that is what was spoilt."""
        return Misreading(model, self.detail["right"], self.detail["wrong"]) if self.kind == "answer" else model

    def gold(self, answers: Sequence[str]) -> list[str]:
        """The gold answers, other ones where that is what was spoilt."""
        return list(self.detail["answers"]) if self.kind == "label" else list(answers)


# --- spoiling ---------------------------------------------------------------------------------------------------


def asking_otherwise(flow: Flow[Any], queries: Mapping[str, str]) -> Flow[Any]:
    """The flow with these queries and titles replaced wherever it looks them up, tells of them, or answers with them; in its forks too."""

    def changed(request: Any) -> Any:
        match request:
            case Search(query=query) if query in queries:
                return replace(request, query=queries[query])
            case Open(title=title) if title in queries:
                return Open(queries[title])
            case Fork(flow=inner):
                return Fork(asking_otherwise(inner, queries))
            case Note(kind="hop", data=data) if data.get("query") in queries:
                return replace(request, data={**data, "query": queries[data["query"]]})
        return request

    answer = yield from rewritten(flow, changed)
    if isinstance(answer, Answer):
        hops = tuple(replace(hop, query=queries.get(hop.query, hop.query)) for hop in answer.hops)
        return replace(answer, hops=hops)
    return answer


def rewritten(flow: Flow[Any], changed: Callable[[Any], Any]) -> Generator[Any, Any, Any]:
    """Drive a flow, with each of its requests changed on its way out."""
    try:
        request = next(flow)
        while True:
            try:
                value = yield changed(request)
            except GeneratorExit:
                flow.close()
                raise
            except BaseException as error:  # noqa: BLE001  whatever is thrown in belongs to the flow inside
                request = flow.throw(error)
            else:
                request = flow.send(value)
    except StopIteration as end:
        return end.value


class Without:
    """A source that lacks one document, or has a namesake's passage wherever that document's would be."""

    def __init__(self, source: Source, document: str, title: str, instead: Passage | None) -> None:
        self._source, self._document, self._title, self._instead = source, document, title, instead

    @property
    def name(self) -> str:
        return self._source.name

    async def search(self, request: Search, *, report: Report) -> tuple[Passage, ...]:
        found = await self._source.search(request, report=report)
        if self._instead is None:
            while hidden := [p.id for p in found if p.document == self._document]:
                request = replace(request, exclude=(*request.exclude, *hidden))
                found = await self._source.search(request, report=report)
            return found
        swapped = (self._swapped(p) for p in found)
        return tuple({p.id: p for p in swapped}.values())

    async def open(self, request: Open, *, report: Report) -> Page | Similar:
        found = await self._source.open(request, report=report)
        if isinstance(found, Similar):
            return Similar(tuple(title for title in found.titles if title != self._title))
        if all(p.document != self._document for p in found.passages):
            return found
        if self._instead is None:
            return Similar(())
        return await self._source.open(Open(self._instead.title), report=report)

    async def aclose(self) -> None:
        """The source inside is closed by who opened it."""

    def _swapped(self, passage: Passage) -> Passage:
        if self._instead is None or passage.document != self._document:
            return passage
        return replace(self._instead, score=passage.score, why=passage.why)


class Misreading:
    """A model whose reader writes a wrong answer wherever it would write the right one."""

    def __init__(self, model: Model, right: Sequence[str], wrong: str) -> None:
        self._model, self._right, self._wrong = model, right, wrong

    @property
    def name(self) -> str:
        return self._model.name

    def price(self, read: int, written: int) -> float:
        return self._model.price(read, written)

    async def count(self, messages: Sequence[Any]) -> int:
        return await self._model.count(messages)

    async def aclose(self) -> None:
        await self._model.aclose()

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        reply = await self._model.generate(request, report=report, pieces=pieces)
        if request.role != "read" or not exact_match(reply.text, self._right):
            return reply
        return replace(reply, text=f" {self._wrong}")


# --- choosing what to spoil -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """What the choices are made from: the questions, the corpus, the right runs."""

    questions: Mapping[str, Mapping[str, Any]]
    corpus: Mapping[str, Mapping[str, Any]]
    right: Mapping[tuple[str, str], Record]

    def others(self, id: str, rng: random.Random) -> Iterator[str]:
        """Other questions' ids, in a seeded order."""
        ids = sorted(other for other in self.questions if other != id)
        yield from rng.sample(ids, len(ids))


def spoil(bench: Bench, kind: str, strategy: str, id: str) -> Spoilt | None:
    """How to spoil that run; None where it cannot be."""
    rng = random.Random(f"{kind} {strategy} {id}")
    question, record = bench.questions[id], bench.right[strategy, id]
    documents = [d for d in question["supporting_ids"] if any(p.document == d for p in record.seen)]
    if not documents:
        return None
    document = rng.choice(documents)
    title = bench.corpus[document]["title"]
    detail: dict[str, Any] | None = {"document": document, "title": title}
    if kind == "query":
        detail = _other_queries(bench, strategy, id, document, rng)
    elif kind == "namesake":
        detail = _namesake(bench, question, document, title)
    elif kind == "answer":
        detail = _wrong_answer(bench, id, record, rng)
    elif kind == "label":
        detail = _other_label(bench, id, record, rng)
    return Spoilt(kind, id, strategy, detail) if detail is not None else None


def _other_queries(bench: Bench, strategy: str, id: str, document: str, rng: random.Random) -> Row | None:
    """Each look-up that found the document, and what another question's run of that strategy looked up instead."""
    record = bench.right[strategy, id]
    mine = [look.asked for look in record.lookups if any(p.document == document for p in look.passages)]
    for other in bench.others(id, rng):
        theirs = bench.right.get((strategy, other))
        if theirs is not None and mine:
            pool = [look.asked for look in theirs.lookups if look.kind != "call"]
            return {"queries": {query: pool[at % len(pool)] for at, query in enumerate(dict.fromkeys(mine))}}
    return None


def _namesake(bench: Bench, question: Mapping[str, Any], document: str, title: str) -> Row | None:
    """The document, and a passage of the one whose title shares most with its own."""
    words = set(normalised(title).split())
    best, most = None, 0.0
    for other, row in bench.corpus.items():
        theirs = set(normalised(row["title"]).split())
        shared = len(words & theirs) / max(1, len(words | theirs))
        if shared > most and other != document and other not in question["supporting_ids"]:
            best, most = row, shared
    if best is None or most < 1 / 4:
        return None
    instead = {"id": f"{best['id']}#0", "document": best["id"], "title": best["title"], "text": best["text"][:700]}
    return {"document": document, "title": title, "instead": instead}


def _wrong_answer(bench: Bench, id: str, record: Record, rng: random.Random) -> Row | None:
    """A name in the passages that were read, or (every other question) another question's answer; yes and no change places."""
    gold = bench.questions[id]["answers"]
    if normalised(gold[0]) in ("yes", "no"):
        return {"right": gold, "wrong": "no" if normalised(gold[0]) == "yes" else "yes", "from": "the other of two"}
    read = record.answer.read if record.answer else ()
    inside = [p.title for p in read] + [name for p in read for name in re.findall(r"(?:[A-Z]\w+ )+[A-Z]\w+", p.text)]
    outside = [bench.questions[other]["answers"][0] for other in bench.others(id, rng)]
    where, pool = ("the passages", inside) if rng.random() < 0.5 else ("another question", outside)
    rng.shuffle(inside)
    wrong = next((text for text in pool if _is_wrong(text, gold)), None)
    return None if wrong is None else {"right": gold, "wrong": wrong, "from": where}


def _other_label(bench: Bench, id: str, record: Record, rng: random.Random) -> Row | None:
    """Another question's gold answer that stands in none of the passages read; yes and no change places."""
    gold = bench.questions[id]["answers"]
    if normalised(gold[0]) in ("yes", "no"):
        return {"answers": ["no" if normalised(gold[0]) == "yes" else "yes"]}
    others = (bench.questions[other]["answers"] for other in bench.others(id, rng))
    found = next((a for a in others if _is_wrong(a[0], gold) and normalised(a[0]) not in ("yes", "no")), None)
    return None if found is None else {"answers": found}


def _is_wrong(text: str, gold: Sequence[str]) -> bool:
    return bool(normalised(text)) and f1(text, gold) == 0.0 and normalised(text) not in normalised(gold[0])


def passage_of(row: Mapping[str, Any] | None) -> Passage | None:
    """The passage of a kept row."""
    return None if row is None else Passage(row["id"], row["document"], row["title"], row["text"])


# --- making -----------------------------------------------------------------------------------------------------


async def right_runs(set_name: str, questions: quality.QuestionSet, model: Model, source: Source) -> Bench:
    """The runs with an exact answer and all gold among the passages read, driven again from the remembered calls."""
    by_id = {question["id"]: question for question in questions.questions}
    with (questions.library.parent / f"{set_name.split('-')[0]}.jsonl").open(encoding="utf-8") as lines:
        corpus = {row["id"]: row for row in map(json.loads, lines)}
    right = {}
    for strategy in STRATEGIES:
        for row in quality.rows(set_name, strategy):
            if row["em"] and row["found"]:
                record, _ = await ask(model, source, Spoilt("", row["id"], strategy, {}), by_id[row["id"]]["question"])
                right[strategy, row["id"]] = record
    return Bench(by_id, corpus, right)


async def ask(
    model: Model, source: Source, spoilt: Spoilt, question: str, trace: Path | None = None
) -> tuple[Record, Answer]:
    """One run, spoilt; its trace is kept where a file is named."""
    events: list[Event] = []
    about = {"strategy": spoilt.strategy, "setting": "default", "named": spoilt.strategy, "spoilt": spoilt.kind}
    sinks: list[Any] = [events.append]
    if trace is not None:
        sinks.append(TraceWriter(trace))
    engine = Engine(spoilt.model(model), spoilt.source(source), sinks=sinks)
    answer = await engine.run(spoilt.flow(question), question=question, about=about)
    return folded(events), answer


async def make(set_name: str, model: Model, scratch: Path, enough: int) -> None:
    """Spoil right runs until there are enough of each kind."""
    questions = quality.question_set(set_name, scratch)
    source, folder = LibrarySource(Library.open(questions.library)), home(set_name)
    asking = quality.Remembering(model, quality.RUNS / "calls.jsonl")
    bench = await right_runs(set_name, questions, asking, source)
    print(f"{len(bench.right)} right runs of {set_name}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    done = {row["name"] for row in rows(set_name, "made")}
    for kind in KINDS:
        kept = sum(row["kept"] for row in rows(set_name, "made") if row["kind"] == kind)
        pairs = sorted(bench.right, key=lambda pair: random.Random(f"{kind} {pair}").random() * STRATEGIES[pair[0]])
        for strategy, id in pairs:
            spoilt = spoil(bench, kind, strategy, id) if kept < enough else None
            if spoilt is None or spoilt.name in done:
                continue
            trace = folder / f"{spoilt.name}.jsonl"
            trace.unlink(missing_ok=True)
            _, answer = await ask(asking, source, spoilt, bench.questions[id]["question"], trace)
            gold = spoilt.gold(bench.questions[id]["answers"])
            keep = exact_match(answer.text, gold) == 0 and f1(answer.text, gold) < 0.5
            kept += keep
            if not keep:
                trace.unlink()
            row = {"name": spoilt.name, "kind": kind, "id": id, "strategy": strategy, "detail": spoilt.detail}
            append(set_name, "made", {**row, "kept": keep, "answer": answer.text, "gold": gold})
            print(
                f"{kind:9} {kept:3} {strategy:15} {'kept' if keep else 'still right'}: {answer.text!r} ({gold[0]})",
                flush=True,
            )
    await asking.aclose()


# --- judging ----------------------------------------------------------------------------------------------------

PARTS = ("query", "retrieval", "reading", "synthesis", "decomposition", "scoring", "label", "none found")
EXPECTED: Mapping[str, str] = {
    "query": "query",
    "removed": "retrieval",
    "namesake": "retrieval",
    "answer": "reading",
    "label": "label",
}
"""The part that is to blame, by what was spoilt."""
ERRORS: Mapping[str, tuple[str, ...]] = {
    "query": ("search_error",),
    "removed": ("search_error",),
    "namesake": ("search_error",),
    "answer": ("reasoning_error", "hallucination"),
    "label": ("label_ambiguity",),
}
"""The kinds of error that name it rightly: a wrong answer that stands in what was read is a reasoning error, one from nowhere a hallucination."""


async def judge(set_name: str, model: Model, scratch: Path) -> None:
    """Blame every spoilt run that was kept. The source is the spoilt one; the model and the gold passages are true."""
    questions = quality.question_set(set_name, scratch)
    by_id = {question["id"]: question for question in questions.questions}
    source, asking = (
        LibrarySource(Library.open(questions.library)),
        quality.Remembering(model, quality.RUNS / "calls.jsonl"),
    )
    done = {row["name"] for row in rows(set_name, "judged")}
    for row in rows(set_name, "made"):
        if row["kept"] and row["name"] not in done:
            spoilt = Spoilt(row["kind"], row["id"], row["strategy"], row["detail"])
            run = spoilt_run(set_name, spoilt, by_id[row["id"]])
            found = await blame.blame(
                run,
                model=asking,
                source=spoilt.source(source),
                gold=await blame.gold_of(run.question, source),
                flow=partial(spoilt.flow, run.question.text),
                right=partial(is_right, run.question.answers),
            )
            told = {"name": row["name"], "kind": row["kind"], "strategy": row["strategy"], "part": found.part}
            append(set_name, "judged", {**told, "calls": found.calls, "evidence": found.evidence})
            print(f"{row['kind']:9} {row['strategy']:15} {found.part:14} {found.evidence}", flush=True)
    await asking.aclose()


def is_right(gold: Sequence[str], answer: Answer) -> bool:
    """By exact match."""
    return exact_match(answer.text, gold) == 1.0


def spoilt_run(set_name: str, spoilt: Spoilt, row: Mapping[str, Any]) -> Run:
    """The kept run, with the gold it is held to."""
    question = Question(
        id=row["id"],
        text=row["question"],
        answers=tuple(spoilt.gold(row["answers"])),
        supporting=tuple(row["supporting"]),
        documents=tuple(row["supporting_ids"]),
        facts=tuple((title, number) for title, number in row.get("supporting_facts", ())),
        type=row["type"],
    )
    cell = Cell(set_name, "local", spoilt.strategy)
    return Run(cell, question, load(home(set_name) / f"{spoilt.name}.jsonl"))


def report(set_name: str, scratch: Path) -> str:
    """The two confusion tables in Markdown, and how often each kind is named rightly, with Wilson's 95% interval."""
    from sleuth.bench import errors

    by_id = {question["id"]: question for question in quality.question_set(set_name, scratch).questions}
    classified = []
    for row in rows(set_name, "made"):
        if row["kept"]:
            spoilt = Spoilt(row["kind"], row["id"], row["strategy"], row["detail"])
            verdict = errors.classify(spoilt_run(set_name, spoilt, by_id[row["id"]]))
            classified.append({"kind": row["kind"], "error": verdict.kind})
    kinds = sorted({row["error"] for row in classified})
    blamed = _table(rows(set_name, "judged"), "part", PARTS, lambda row: row["part"] == EXPECTED[row["kind"]])
    erred = _table(classified, "error", kinds, lambda row: row["error"] in ERRORS[row["kind"]])
    return f"**{set_name}**, blame by repair\n\n{blamed}\n\n**{set_name}**, error analysis by rule\n\n{erred}"


def _table(judged: Sequence[Row], key: str, columns: Sequence[str], rightly: Callable[[Row], bool]) -> str:
    lines = [
        f"| spoilt | n | {' | '.join(columns)} | named rightly (95% interval) |",
        "|---" * (len(columns) + 3) + "|",
    ]
    for kind in KINDS:
        these = [row for row in judged if row["kind"] == kind]
        counts = Counter(row[key] for row in these)
        hits = sum(map(rightly, these))
        low, high = wilson(hits, len(these))
        share = f"{100 * hits / max(1, len(these)):.0f}% ({100 * low:.0f} to {100 * high:.0f})"
        lines.append(f"| {kind} | {len(these)} | {' | '.join(str(counts[c] or '') for c in columns)} | {share} |")
    return "\n".join(lines)


# --- what is kept -----------------------------------------------------------------------------------------------


def home(set_name: str) -> Path:
    """Where the spoilt runs of that set are."""
    return quality.RUNS / "perturbed" / set_name


def rows(set_name: str, what: str) -> list[Row]:
    """What is kept: rows of `make` ("made") or of `judge` ("judged")."""
    file = home(set_name) / f"{what}.rows"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def append(set_name: str, what: str, row: Row) -> None:
    """Keep one more row."""
    with (home(set_name) / f"{what}.rows").open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "judge", "report"])
    parser.add_argument("--set", action="append", dest="sets", required=True)
    parser.add_argument("--model", default="local", help="as for `sleuth ask`")
    parser.add_argument("--enough", type=int, default=ENOUGH, help="spoilt runs of a kind that `make` stops at")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.sets:
            if given.what == "make":
                asyncio.run(make(name, quality.opened(given.model), Path(scratch), given.enough))
            elif given.what == "judge":
                asyncio.run(judge(name, quality.opened(given.model), Path(scratch)))
            else:
                print(report(name, Path(scratch)))


if __name__ == "__main__":
    main()
