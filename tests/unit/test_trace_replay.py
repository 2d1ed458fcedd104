"""A trace file that the engine wrote replays through the engine, parallel branches included."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sleuth.codec import plain
from sleuth.engine import Engine
from sleuth.errors import CassetteMiss
from sleuth.events import Closed, Event
from sleuth.trace import Cassette, TraceWriter, read_trace
from sleuth.types import Answer, Completion, Flow, Generate, Message, Passage, Search
from sleuth.verbs import fork, generate, join, next_of, note, search


class Echo:
    """A model and a source; its first turn is the slower one."""

    name = "echo"

    async def generate(self, request: Generate, *, report: Any, pieces: Any = None) -> Completion:
        turn = request.messages[-1].content
        await asyncio.sleep(0.02 if turn.endswith("1") else 0)
        return Completion(turn.upper())

    async def count(self, messages: Any) -> int:
        return 1

    def price(self, read: int, written: int) -> float:
        return 0.0

    async def search(self, request: Search, *, report: Any) -> tuple[Passage, ...]:
        return (Passage("a#1", "a", "A", "text " * 30),)

    async def aclose(self) -> None:
        pass


class Untouchable:
    """A model and a source that must not be asked."""

    name = "untouchable"

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was touched")


def hop(number: int, head: str) -> Flow[str]:
    found = yield from search(f"q{number}")
    yield from note("hop", "found", found=found)
    return (yield from generate([Message("user", head), Message("assistant", f"turn {number}")])).text


def race(head: str = "head") -> Flow[Answer]:
    tasks = []
    for number in (1, 2):
        tasks.append((yield from fork(hop(number, head))))
    first = yield from join((yield from next_of(tasks)))
    for task in tasks:
        yield from join(task)
    return Answer(first, "answered", "final_answer")


def recorded(path: Path, ports: Any, **options: Any) -> list[Event]:
    async def run() -> Answer:
        return await Engine(ports, ports, sinks=[writer], **options).run(race(), question="q", run="same")

    with TraceWriter(path) as writer:
        asyncio.run(run())
    return read_trace(path)


def without_times(events: list[Event]) -> list[Any]:
    stored = [plain(event) for event in events]
    for event in stored:
        del event["at"]
        event["body"].get("answer", {}).get("usage", {}).pop("seconds", None)
    return stored


def test_a_trace_file_replays_with_the_same_events_and_no_port_touched(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a.jsonl", Echo())
    again = recorded(tmp_path / "b.jsonl", Untouchable(), recording=Cassette(first))
    assert isinstance(first[-1].body, Closed)
    assert first[-1].body.answer.text == "TURN 2"
    assert without_times(again) == without_times(first)


def test_a_changed_prompt_misses_with_a_diff(tmp_path: Path) -> None:
    cassette = Cassette(recorded(tmp_path / "a.jsonl", Echo()))
    engine = Engine(Untouchable(), Untouchable(), recording=cassette)  # type: ignore[arg-type]
    with pytest.raises(CassetteMiss, match=r"-head\n.*\+changed"):
        asyncio.run(engine.run(race("changed")))


def test_a_trace_file_answers_as_model_and_source_of_a_live_engine(tmp_path: Path) -> None:
    cassette = Cassette(recorded(tmp_path / "a.jsonl", Echo()))
    answer = asyncio.run(Engine(cassette.model(), cassette.source()).run(race()))
    assert answer.status == "answered"
