"""Blame names the part that was spoilt, in runs of a two-step flow over a shelf of passages."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from sleuth.bench.blame import Blamed, GoldPage, GoldPassages, as_row, blame, read_rows, shares
from sleuth.bench.folder import Cell, Run
from sleuth.bench.metrics import exact_match
from sleuth.bench.questions import Question
from sleuth.bench.record import load
from sleuth.engine import Engine
from sleuth.models.script import Script
from sleuth.ports import Report
from sleuth.strategies.reader import read_answer
from sleuth.trace import TraceWriter
from sleuth.types import Answer, Flow, Generate, Open, Page, Passage, Search, Similar
from sleuth.verbs import fork, join, search

TOWER = Passage("t1", "tower", "Varrow Tower", "Varrow Tower was designed by Edda Wroll.")
WRONG = Passage("m1", "mill", "Varrow Mill", "Varrow Mill was designed by Tam Hobb.")
GOLD = GoldPassages((GoldPage("Varrow Tower", "tower", (TOWER,)),))
ASKED = "Who designed Varrow Tower?"
QUESTION = Question("q", ASKED, ("Edda Wroll",), supporting=("Varrow Tower",), documents=("tower",))


class Pages:
    """A source that finds the passages whose title stands in the query."""

    name = "pages"

    def __init__(self, *passages: Passage) -> None:
        self.passages = passages

    async def search(self, request: Search, *, report: Report) -> tuple[Passage, ...]:
        return tuple(p for p in self.passages if p.title.lower() in request.query.lower())[: request.k]

    async def open(self, request: Open, *, report: Report) -> Page | Similar:
        found = tuple(p for p in self.passages if p.title == request.title)
        return Page(request.title, (), found) if found else Similar(())

    async def aclose(self) -> None:
        """Nothing is held."""


def reads(request: Generate) -> str:
    """A reader that says the first designer before it."""
    text = " ".join(message.content for message in request.messages if message.role == "observation")
    return text.split("designed by ")[1].split(".")[0] if "designed by " in text else "nobody"


def flow(query: str) -> Flow[Answer]:
    found = yield from search(query, 2)
    reading = yield from read_answer(ASKED, found)
    return Answer(reading.text, "answered", "final_answer", read=found)


def forked(query: str) -> Flow[Answer]:
    return (yield from join((yield from fork(flow(query)))))


def blamed(
    folder: Path,
    query: str,
    source: Pages,
    *,
    says: Callable[[Generate], str] = reads,
    now: Callable[[Generate], str] = reads,
    question: Question = QUESTION,
    make: Callable[[str], Flow[Answer]] = flow,
    again: str = "",
    calls: int = 12,
) -> Blamed:
    """Run it with a model that `says`, then blame it with one that says so `now`."""
    trace = folder / "run.jsonl"

    async def both() -> Blamed:
        with TraceWriter(trace) as writer:
            await Engine(Script(says), source, sinks=[writer]).run(make(query), question=ASKED)
        return await blame(
            Run(Cell("t", "m", "x"), question, load(trace)),
            model=Script(now),
            source=source,
            gold=GOLD,
            flow=lambda: make(again or query),
            right=lambda answer: exact_match(answer.text, question.answers) == 1.0,
            calls=calls,
        )

    return anyio.run(both)


@pytest.mark.parametrize("make", [flow, forked])
def test_a_bad_query_is_to_blame_where_a_good_one_finds_gold(
    tmp_path: Path, make: Callable[[str], Flow[Answer]]
) -> None:
    found = blamed(tmp_path, "varrow mill", Pages(TOWER, WRONG), make=make)
    assert found.part == "query", found


@pytest.mark.parametrize("shelf", [(WRONG,), (replace(WRONG, title="Varrow Tower"),)])
def test_a_source_without_gold_is_to_blame(tmp_path: Path, shelf: tuple[Passage, ...]) -> None:
    found = blamed(tmp_path, "varrow tower", Pages(*shelf))
    assert found.part == "retrieval", found
    assert ("namesake" in found.evidence) == (shelf[0].title == "Varrow Tower")


def test_a_reader_that_had_gold_before_it_is_to_blame(tmp_path: Path) -> None:
    found = blamed(tmp_path, "varrow tower", Pages(TOWER), says=lambda _: "Tam Hobb")
    assert found.part == "reading"


def test_a_gold_answer_that_stands_nowhere_is_to_blame(tmp_path: Path) -> None:
    found = blamed(tmp_path, "varrow tower", Pages(TOWER), question=replace(QUESTION, answers=("Olm Frisk",)))
    assert found.part == "label"


def test_an_answer_in_another_form_costs_no_call(tmp_path: Path) -> None:
    found = blamed(tmp_path, "varrow tower", Pages(TOWER), question=replace(QUESTION, answers=("Édda Wroll",)))
    assert (found.part, found.calls) == ("scoring", 0)


def test_a_run_that_no_longer_replays_is_said_so(tmp_path: Path) -> None:
    found = blamed(tmp_path, "varrow mill", Pages(TOWER, WRONG), again="another query")
    assert not found.replayed
    assert (found.part, found.calls) == ("none found", 0)


@pytest.mark.parametrize("calls", [0, 1, 2])
def test_no_more_calls_are_made_than_allowed(tmp_path: Path, calls: int) -> None:
    found = blamed(tmp_path, "varrow mill", Pages(TOWER, WRONG), calls=calls)
    assert found.calls <= calls
    assert (found.part == "query") == (calls == 2)


def test_rows_outlast_a_torn_line_and_sum_to_shares(tmp_path: Path) -> None:
    run = Run(Cell("t", "m", "x"), QUESTION, None)
    row = as_row(run, Blamed("query", "why"))
    file = tmp_path / "blame.jsonl"
    file.write_text(json.dumps(row) + '\n{"task": "t", "mod', encoding="utf-8")
    rows = read_rows(file)
    assert rows == [row]
    best = shares(rows, {"q": (0.0, 0.5), "r": (1.0, 1.0)})[0]
    assert (best.part, best.count, best.share, best.em, best.f1) == ("query", 1, 1.0, 1.0, 1.0)
