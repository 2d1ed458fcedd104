"""A recorded run answers what it was asked, and shows the nearest request for anything else."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from trace_values import five_hops

from sleuth.codec import digest
from sleuth.errors import CassetteMiss, ModelTimeout
from sleuth.events import Event, Failed, Finished, Opened, Span, Started
from sleuth.ports import Model, Source
from sleuth.trace import Cassette, TraceWriter
from sleuth.types import (
    Completion,
    Count,
    Generate,
    Listen,
    Listening,
    Message,
    Open,
    Passage,
    Read,
    Request,
    Search,
    Similar,
)


def report(kind: str, text: str, **data: Any) -> None:
    raise AssertionError("a cassette has nothing to report")


def ask(text: str, head: str = "Answer in steps.\nQuestion: who?") -> Generate:
    return Generate((Message("user", head), Message("assistant", text)))


def recording(*calls: tuple[str, Request[Any], Any]) -> list[Event]:
    """Events of calls (branch, request, outcome); an outcome None is none."""
    events = [Event("r", 0, 0.0, Span("", 0), Opened("who?", {"model": "m", "source": "s"}))]
    ordinals: dict[tuple[str, str], int] = {}
    for number, (branch, request, outcome) in enumerate(calls, start=1):
        key = (branch, digest(request))
        bodies: list[Any] = [Started(request, key[1], ordinals.get(key, 0))]
        ordinals[key] = ordinals.get(key, 0) + 1
        if outcome is not None:
            bodies.append(Failed(outcome) if isinstance(outcome, Exception) else Finished(outcome))
        events += [Event("r", len(events) + i, 0.0, Span(branch, number), body) for i, body in enumerate(bodies)]
    return events


def miss(cassette: Cassette, request: Request[Any], branch: str = "", ordinal: int = 0) -> str:
    error = cassette.miss(request, branch, digest(request), ordinal)
    assert isinstance(error, CassetteMiss)
    return str(error)


# --- as the engine's recording ------------------------------------------------------------------------------------


def test_an_outcome_is_found_by_branch_digest_and_ordinal() -> None:
    cassette = Cassette(
        recording(
            ("", ask("a"), Completion("1")),
            ("", ask("a"), Completion("2")),
            ("0", ask("a"), ModelTimeout("slow")),
            ("0", ask("b"), None),
        )
    )
    same = digest(ask("a"))
    assert cassette.find("", same, 0) == Finished(Completion("1"))
    assert cassette.find("", same, 1) == Finished(Completion("2"))
    assert cassette.find("", same, 2) is None
    failed = cassette.find("0", same, 0)
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, ModelTimeout)
    assert cassette.find("0", digest(ask("b")), 0) is None


def test_a_request_without_outcome_is_told_from_one_never_made() -> None:
    cassette = Cassette(recording(("", ask("a"), None)))
    assert cassette.started("", digest(ask("a")), 0)
    assert not cassette.started("", digest(ask("a")), 1)
    assert not cassette.started("0", digest(ask("a")), 0)


def test_a_trace_file_is_a_cassette(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.jsonl") as writer:
        for event in five_hops():
            writer(event)
    cassette = Cassette.read(tmp_path / "t.jsonl", strict=False)
    assert not cassette.strict
    assert list(cassette.events) == five_hops()
    for event in five_hops():
        if isinstance(event.body, Started):
            assert cassette.find("", event.body.digest, event.body.ordinal) is not None


# --- a miss -----------------------------------------------------------------------------------------------------


def test_a_changed_prompt_misses_with_the_nearest_request_as_a_diff() -> None:
    cassette = Cassette(
        recording(
            ("", ask("Follow up: when was the tower built?"), Completion("")),
            ("", ask("So the final answer is:"), Completion("")),
            ("", Search("tower"), ()),
        )
    )
    text = miss(cassette, ask("Follow up: when was the tower finished?"))
    assert "Generate in the main branch was never recorded" in text
    assert "--- recorded\n+++ asked\n" in text
    assert "-Follow up: when was the tower built?\n+Follow up: when was the tower finished?\n" in text
    assert "final answer" not in text


def test_the_nearest_is_of_the_same_branch_and_kind_first_then_of_the_same_kind() -> None:
    calls = [("0", Search("tower height"), ()), ("", Open("tower heights"), Similar(())), ("1", Search("harbour"), ())]
    cassette = Cassette(recording(*calls))
    assert "-query: harbour" in miss(cassette, Search("tower heights"), "1")
    assert "-query: tower height\n" in miss(cassette, Search("tower heights"), "")
    assert "Open" in miss(cassette, Count("x"), "")


def test_a_changed_setting_shows_in_the_diff() -> None:
    cassette = Cassette(recording(("", Search("tower", 5), ())))
    assert "-k: 5\n+k: 3" in miss(cassette, Search("tower", 3))


def test_a_long_line_is_shown_where_it_differs() -> None:
    line = " ".join(f"word{i}" for i in range(400))
    text = miss(Cassette(recording(("", ask(line), Completion("")))), ask(line.replace("word200 ", "other ")))
    assert "+" in text
    assert "other" in text
    assert len(text) < 4000


def test_one_time_more_than_recorded_is_said_so() -> None:
    text = miss(Cassette(recording(("", Search("tower"), ()))), Search("tower"), ordinal=1)
    assert "asked 2 times with the same content; the recording holds 1" in text


def test_the_same_request_of_another_branch_is_said_so() -> None:
    text = miss(Cassette(recording(("0.1", Search("tower"), ()))), Search("tower"), "0.2")
    assert "branch '0.2'" in text
    assert "The same content is recorded in branch '0.1'" in text


def test_an_empty_recording_misses_clearly() -> None:
    assert "holds no request" in miss(Cassette([]), Search("x"))


def test_a_miss_takes_bounded_time() -> None:
    head = "\n".join(f"line {i} " + "word " * 20 for i in range(100))
    calls = [("", ask(f"turn {i} " + f"{i} other words " * 400, head), Completion("")) for i in range(300)]
    cassette = Cassette(recording(*calls))
    begin = time.process_time()
    miss(cassette, ask("turn 7 " + "7 changed words " * 400, head))
    assert time.process_time() - begin < 3.0


# --- as model and source ------------------------------------------------------------------------------------------


def test_a_cassette_is_a_model_and_a_source() -> None:
    found = (Passage("a#1", "a", "A", "text"),)
    cassette = Cassette(
        recording(
            ("", ask("a"), Completion("1")),
            ("0", ask("a"), Completion("2")),
            ("", Search("q"), found),
            ("", Open("A"), Similar(("B",))),
            ("", ask("b"), ModelTimeout("slow")),
            ("", Count("three words here"), 3),
        )
    )
    model: Model = cassette.model()
    source: Source = cassette.source()
    pieces: list[str] = []

    async def use() -> None:
        assert (await model.generate(ask("a"), report=report, pieces=pieces.append)).text == "1"
        assert (await model.generate(ask("a"), report=report)).text == "2"
        with pytest.raises(CassetteMiss, match="asked 3 times"):
            await model.generate(ask("a"), report=report)
        with pytest.raises(ModelTimeout, match="slow"):
            await model.generate(ask("b"), report=report)
        with pytest.raises(CassetteMiss, match="never recorded"):
            await model.generate(ask("c"), report=report)
        assert await source.search(Search("q"), report=report) == found
        assert await source.open(Open("A"), report=report) == Similar(("B",))
        with pytest.raises(CassetteMiss):
            await source.search(Search("other"), report=report)
        assert await model.count([Message("user", "three words here")]) == 3
        assert await model.count([Message("user", "é")]) == 2
        await model.aclose()
        await source.aclose()

    asyncio.run(use())
    assert pieces == ["1"]
    assert (model.name, source.name, model.price(10, 10)) == ("cassette:m", "cassette:s", 0.0)


def test_each_model_of_a_cassette_begins_anew() -> None:
    cassette = Cassette(recording(("", ask("a"), Completion("1"))))
    for _ in range(2):
        assert asyncio.run(cassette.model().generate(ask("a"), report=report)).text == "1"


def test_a_call_that_was_read_piece_by_piece_is_replied_as_a_whole() -> None:
    handle = Listening("x")
    cassette = Cassette(
        recording(
            ("", Listen(ask("a")), handle),
            ("", Read(handle), "piece"),
            ("", Read(handle), Completion("piece by piece")),
        )
    )
    assert asyncio.run(cassette.model().generate(ask("a"), report=report)).text == "piece by piece"
