"""Every strategy and setting, whatever the model says: a run replays exactly, and a cut one goes on where it was.

The unit tests try a few runs of each; here are more of them, and what needs trace files.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.homes import private
from tests.support.runs import ended_for_good, given_up, in_loop, outside
from tests.unit.test_bounds import FINDS, QUESTIONS, REPLIES, SETTINGS, Drawers, assert_bounded, params_of
from tests.unit.test_compare import ANY_REPLIES, assert_rows_fold

from sleuth.codec import digest, plain
from sleuth.engine import Engine
from sleuth.events import Closed, Event, Started
from sleuth.models.script import Script
from sleuth.strategies import TABLE
from sleuth.trace import Cassette, TraceWriter, read_trace
from sleuth.types import Answer, Completion, Fork, Generate, Open, Search

loose = {"deadline": None, "suppress_health_check": list(HealthCheck)}
some, many = settings(max_examples=12, **loose), settings(max_examples=40, **loose)
PLANS = """{"steps": [{"id": "s1", "query": "When was the Brenn bridge completed?", "depends_on": []},
    {"id": "s2", "query": "Who was warden on {s1.date}?", "depends_on": ["s1"]}, {"id": "s3", "query": "Tarn", "depends_on": []}]}"""


class Oracle(Script):
    """Says to the same request always the same, whenever it comes; quick for some requests and slow for others."""

    def __init__(self, replies: list[Any], pause: float = 0.0) -> None:
        super().__init__(lambda request: replies[int(digest(request), 16) % len(replies)])
        self.pause = pause

    async def generate(self, request: Generate, **ports: Any) -> Completion:
        await asyncio.sleep(self.pause * (int(digest(request), 16) % 7))
        return await super().generate(request, **ports)


class Shelves(Drawers):
    """Finds for the same query, and on the same page, always the same."""

    def __init__(self, finds: list[Any]) -> None:
        super().__init__(finds)
        self._drawers = finds

    async def search(self, request: Search, *, report: Any) -> Any:
        self._turn_to(request)
        return await super().search(request, report=report)

    async def open(self, request: Open, *, report: Any) -> Any:
        self._turn_to(request)
        return await super().open(request, report=report)

    def _turn_to(self, request: Any) -> None:
        self._finds = itertools.cycle([self._drawers[int(digest(request), 16) % len(self._drawers)]])


class Untouchable:
    """A model and a source that must not be asked."""

    name = "untouchable"

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was touched")


def drive(flow: Any, model: Any, source: Any, path: Path, recording: Any = None) -> tuple[Answer, list[Event]]:
    """Run the flow to its end, writing its trace; the trace is read again."""

    async def run() -> Answer:
        with TraceWriter(path) as writer:
            engine = Engine(model, source, sinks=[writer], recording=recording)
            return await engine.run(flow, question="q", run="same")

    path.unlink(missing_ok=True)
    return in_loop(run()), read_trace(path)


def timeless(events: Iterable[Event]) -> list[Any]:
    """The events as they are stored, but for the clock."""
    return [plain(replace(event, at=0.0)) for event in events]


@st.composite
def runs(draw: Any, name: str, setting: str) -> tuple[str, dict[str, Any], list[Any], list[Any]]:
    """A question, parameters, replies and finds."""
    params = {**TABLE[name].settings[setting], **draw(params_of(name))}
    replies = draw(REPLIES)
    if "streaming" in params and draw(st.booleans()):
        params |= {"streaming": True, "plan": None}
        replies = [PLANS, *replies]
    return draw(st.sampled_from(QUESTIONS)), params, replies, draw(FINDS)


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
@many
@given(data=st.data())
def test_no_replies_lead_a_strategy_past_its_calls_its_budget_or_its_guards(name, setting, data):
    assert_bounded(name, setting, data)


@pytest.mark.parametrize("setting", ["default", "paper"])
@some
@given(replies=ANY_REPLIES)
def test_no_replies_make_a_row_of_a_comparison_differ_from_its_trace(tmp_path_factory, setting, replies):
    with at_home(tmp_path_factory):
        assert_rows_fold(setting, replies)


@contextmanager
def at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        private(monkeypatch, tmp_path_factory.mktemp("home"))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
@some
@given(data=st.data())
def test_a_run_replays_exactly_without_touching_anything(folder, name, setting, data):
    question, params, replies, finds = data.draw(runs(name, setting))
    start = TABLE[name].flow
    answer, recorded = drive(start(question, **params), Oracle(replies, 0.0003), Shelves(finds), folder / "a.jsonl")
    nothing, cassette = Untouchable(), Cassette(recorded, strict=True)
    again, replayed = drive(start(question, **params), nothing, nothing, folder / "b.jsonl", cassette)
    assert again == answer
    assert timeless(replayed) == timeless(recorded)


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
@some
@given(data=st.data())
def test_a_run_cut_anywhere_goes_on_and_repeats_no_finished_call(folder, name, setting, data):
    """One without forks comes to the same answer too; with them, the order in which they end may be another."""
    question, params, replies, finds = data.draw(runs(name, setting))
    start = TABLE[name].flow
    answer, recorded = drive(start(question, **params), Oracle(replies), Shelves(finds), folder / "a.jsonl")
    cut = recorded[: data.draw(st.integers(1, len(recorded)))]
    rest, shelves = Oracle(replies), Shelves(finds)
    again, resumed = drive(start(question, **params), rest, shelves, folder / "b.jsonl", Cassette(cut, strict=False))
    asked, done = outside(resumed), ended_for_good(cut)
    assert not any(asked[identity] for identity in asked.keys() & done)
    assert len(rest.requests) + len(shelves.requests) <= sum(asked.values()) + given_up(resumed)
    if not any(isinstance(e.body, Started) and isinstance(e.body.request, Fork) for e in recorded):
        assert (again.text, again.status, again.ended) == (answer.text, answer.status, answer.ended)
        assert outside(resumed).keys() == outside(recorded).keys()


def test_every_run_here_ends_with_its_answer(tmp_path: Path) -> None:
    answer, events = drive(TABLE["standard"].flow("?"), Script(["x"]), Drawers([[]]), tmp_path / "a.jsonl")
    assert isinstance(events[-1].body, Closed)
    assert events[-1].body.answer == answer
