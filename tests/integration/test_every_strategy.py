"""Every strategy and setting, whatever the model says: a run replays exactly, and a cut one goes on where it was."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.test_bounds import FINDS, QUESTIONS, REPLIES, SETTINGS, Drawers, params_of

from sleuth.codec import digest, plain
from sleuth.engine import Engine
from sleuth.errors import EnvironmentFault, SleuthError
from sleuth.events import Closed, Event, Failed, Finished, Started
from sleuth.models.script import Script
from sleuth.strategies import TABLE
from sleuth.trace import Cassette, TraceWriter, read_trace
from sleuth.types import Answer, Completion, Generate, Listen, Search

quick = settings(max_examples=12, suppress_health_check=list(HealthCheck))


class Oracle(Script):
    """Says to the same request always the same, whenever it comes; quick for some requests and slow for others."""

    def __init__(self, replies: list[Any], pause: float = 0.0) -> None:
        super().__init__(lambda request: replies[int(digest(request), 16) % len(replies)])
        self.pause = pause

    async def generate(self, request: Generate, **ports: Any) -> Completion:
        await asyncio.sleep(self.pause * (int(digest(request), 16) % 7))
        return await super().generate(request, **ports)


class Shelves(Drawers):
    """Finds for the same query always the same."""

    async def search(self, request: Search, *, report: Any) -> Any:
        every = self.drawers
        found = every[int(digest(request), 16) % len(every)]
        self.requests.append(request)
        if isinstance(found, SleuthError):
            raise found.again()
        return self._given([p for p in found if p.id not in request.exclude][: request.k])

    def __init__(self, finds: list[Any]) -> None:
        super().__init__(finds)
        self.drawers = finds


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

    return asyncio.run(run()), read_trace(path)


def timeless(events: Iterable[Event]) -> list[Any]:
    """The events as they are stored, but for the clock."""
    return [plain(replace(event, at=0.0)) for event in events]


@st.composite
def runs(draw: Any, name: str, setting: str) -> tuple[str, dict[str, Any], list[Any], list[Any]]:
    """A question, parameters, replies and finds."""
    params = {**TABLE[name].settings[setting], **draw(params_of(name))}
    return draw(st.sampled_from(QUESTIONS)), params, draw(REPLIES), draw(FINDS)


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
@quick
@given(data=st.data())
def test_a_run_replays_exactly_without_touching_anything(tmp_path_factory, name, setting, data):
    folder = tmp_path_factory.mktemp("runs")
    question, params, replies, finds = data.draw(runs(name, setting))
    start = TABLE[name].flow
    answer, recorded = drive(start(question, **params), Oracle(replies, 0.0003), Shelves(finds), folder / "a.jsonl")
    nothing, cassette = Untouchable(), Cassette(recorded, strict=True)
    again, replayed = drive(start(question, **params), nothing, nothing, folder / "b.jsonl", cassette)
    assert again == answer
    assert timeless(replayed) == timeless(recorded)


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
@quick
@given(data=st.data())
def test_a_run_cut_anywhere_goes_on_and_repeats_no_finished_call(tmp_path_factory, name, setting, data):
    folder = tmp_path_factory.mktemp("runs")
    question, params, replies, finds = data.draw(runs(name, setting))
    start = TABLE[name].flow
    answer, recorded = drive(start(question, **params), Oracle(replies), Shelves(finds), folder / "a.jsonl")
    cut = recorded[: data.draw(st.integers(1, len(recorded)))]
    rest = Oracle(replies)
    again, _ = drive(start(question, **params), rest, Shelves(finds), folder / "b.jsonl", Cassette(cut, strict=False))
    assert (again.text, again.status, again.ended) == (answer.text, answer.status, answer.ended)
    assert len(rest.requests) <= len(calls(recorded)) - len(calls(cut) & finished(cut))


def calls(events: Iterable[Event]) -> set[Any]:
    """The model calls that were begun."""
    begun = (e for e in events if isinstance(e.body, Started) and isinstance(e.body.request, Generate | Listen))
    return {event.span for event in begun}


def finished(events: Iterable[Event]) -> set[Any]:
    """What has ended for good: a failure of the surroundings is tried again."""
    return {
        event.span
        for event in events
        if isinstance(event.body, Finished)
        or (isinstance(event.body, Failed) and not isinstance(event.body.error, EnvironmentFault))
    }


def test_every_run_here_ends_with_its_answer(tmp_path: Path) -> None:
    answer, events = drive(TABLE["standard"].flow("?"), Script(["x"]), Drawers([[]]), tmp_path / "a.jsonl")
    assert isinstance(events[-1].body, Closed) and events[-1].body.answer == answer
