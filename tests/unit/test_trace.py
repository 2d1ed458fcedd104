"""Trace files: what is written can be read, whole or torn; what is no trace is refused; runs are found in their folder."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_values import dialogues, five_hops, streams

from sleuth.codec import plain
from sleuth.errors import BadInput, EnvironmentFault, UnknownName
from sleuth.events import Closed, Delta, Event, Finished, Noted, Opened, Span, Started
from sleuth.trace import RunStore, TraceWriter, read_trace
from sleuth.trace.lines import Packer, Unpacker
from sleuth.types import Answer, Generate, Message


def write(path: Path, events: Sequence[Event]) -> Path:
    with TraceWriter(path) as writer:
        for event in events:
            writer(event)
    assert writer.fault is None
    return path


def through_lines(events: Sequence[Event]) -> list[Event]:
    packer, unpacker = Packer(), Unpacker()
    return [unpacker.unpack(json.loads(json.dumps(packer.pack(event)))) for event in events]


def started(number: int, *messages: str, branch: str = "") -> Event:
    request = Generate(tuple(Message("user", text) for text in messages))
    return Event("r", number, float(number), Span(branch, number), Started(request, "d", 0))


# --- round trips ------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(streams())
def test_any_stream_of_events_survives(events: list[Event]) -> None:
    assert through_lines(events) == events


@given(dialogues())
def test_any_sequence_of_calls_survives(calls: list[Generate]) -> None:
    events = [Event("r", seq, 0.0, Span(str(seq % 2), seq), Started(call, "d", seq)) for seq, call in enumerate(calls)]
    assert through_lines(events) == events


@settings(max_examples=30)
@given(streams(), st.data())
def test_any_prefix_of_a_trace_is_readable_to_its_last_whole_line(events: list[Event], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "run.jsonl", events)
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        lines = max(0, whole[:cut].count(b"\n") - 1)
        kept = read_trace(path)
        assert kept == events[: len(kept)]
        assert len(kept) in (lines, lines + (whole[cut : cut + 1] == b"\n"))


def test_a_line_torn_inside_a_character_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", [started(0, "a"), started(1, "漢字")])
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index("字".encode()) + 1])
    assert read_trace(path) == [started(0, "a")]


def test_deltas_are_not_kept(tmp_path: Path) -> None:
    delta = Event("r", 1, 1.0, Span("", 0), Delta("piece"))
    assert read_trace(write(tmp_path / "t.jsonl", [started(0, "a"), delta, started(2, "b")])) == [
        started(0, "a"),
        started(2, "b"),
    ]


# --- size -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("passages", "most"), [(1, 17_000), (2, 21_000), (3, 25_000)])
def test_a_run_of_five_hops_takes_about_twenty_kilobytes_and_survives(tmp_path: Path, passages: int, most: int) -> None:
    events = five_hops(k=passages)
    path = write(tmp_path / "t.jsonl", events)
    assert read_trace(path) == events
    assert path.stat().st_size <= most
    assert path.stat().st_size < len(json.dumps([plain(event) for event in events])) / 3


def test_a_call_is_stored_as_the_earlier_call_it_extends_and_the_tail() -> None:
    packer = Packer()
    head = "instructions " * 50
    packer.pack(started(0, head, "q"))
    packer.pack(started(1, "something else"))
    line = packer.pack(started(2, head, "q", "more", branch="0.1"))
    messages = line["body"]["request"]["messages"]
    assert messages == {
        "~": "^",
        "number": 0,
        "keep": 2,
        "tail": [{"~": "Message", "role": "user", "content": "more"}],
    }


def test_a_long_text_is_stored_once_also_inside_another_text() -> None:
    packer = Packer()
    text = "The Eiffel Tower was completed in 1889, and was the tallest structure in the world."
    packer.pack(started(0, text))
    line = packer.pack(Event("r", 1, 1.0, Span("", 1), Noted("seen", f"Title: {text} (end)")))
    assert line["body"]["text"] == {"~": ["Title: ", 0, " (end)"]}


def test_many_calls_do_not_grow_the_lines() -> None:
    packer = Packer()
    texts: list[str] = ["head"]
    sizes = []
    for number in range(200):
        texts.append(f"turn {number}")
        sizes.append(len(json.dumps(packer.pack(started(number, *texts)))))
    assert max(sizes[10:]) < 260


# --- writing ----------------------------------------------------------------------------------------------------


def test_each_event_is_on_disk_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TraceWriter(path) as writer:
        assert read_trace(path) == []
        writer(started(0, "a"))
        assert read_trace(path) == [started(0, "a")]


def test_the_folder_is_made_and_the_file_is_its_owners(tmp_path: Path) -> None:
    path = write(tmp_path / "new" / "folder" / "t.jsonl", [])
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("precious")
    with pytest.raises(BadInput, match="exists already"):
        TraceWriter(path)
    assert path.read_text() == "precious"


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="cannot be written"):
        TraceWriter(tmp_path / "file" / "t.jsonl")


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_a_full_disk_is_told_once_never_raises_and_leaves_whole_lines(tmp_path: Path) -> None:
    import resource

    path, faults = tmp_path / "t.jsonl", []
    writer = TraceWriter(path, on_fault=faults.append)
    writer(started(0, "a"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50, limits[1]))
    try:
        writer(started(1, "b" * 500))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer(started(2, "c"))
    writer(Event("r", 3, 0.0, Span("", 0), Closed(Answer("", "failed", "cancelled"))))
    assert [fault.details["errno"] for fault in faults] == [errno.EFBIG]
    assert writer.fault is faults[0]
    assert str(path) in str(writer.fault)
    assert path.read_bytes().endswith(b"\n")
    assert read_trace(path) == [started(0, "a")]


def test_a_fault_that_nobody_asked_for_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = TraceWriter(tmp_path / "t.jsonl")
    writer(Event("r", 0, float("nan"), Span("", 0), Noted("x", "")))
    assert [record.name for record in caplog.records] == ["sleuth.trace"]
    assert "Event 0 (Noted) cannot be stored" in caplog.text


def test_a_value_whose_repr_raises_does_not_raise_in_the_run(tmp_path: Path) -> None:
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    faults: list[EnvironmentFault] = []
    writer = TraceWriter(tmp_path / "t.jsonl", on_fault=faults.append)
    writer(Event("r", 0, 0.0, Span("", 1), Finished(Rude())))
    assert len(faults) == 1
    assert read_trace(tmp_path / "t.jsonl") == []


def test_a_value_of_a_users_own_type_is_stored_as_text(tmp_path: Path) -> None:
    events = [Event("r", 0, 0.0, Span("", 1), Finished({"votes": {3}}))]
    assert read_trace(write(tmp_path / "t.jsonl", events))[0].body == Finished({"votes": "{3}"})


# --- reading what is damaged or foreign ---------------------------------------------------------------------------


def lines_of(tmp_path: Path) -> tuple[Path, list[bytes]]:
    path = write(tmp_path / "t.jsonl", [started(0, "a"), started(1, "a", "b"), started(2, "c")])
    return path, path.read_bytes().split(b"\n")[:-1]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'{"seq":1,"at":0}', "there is no 'number'"),
        (b'{"seq":1,"at":0,"number":1,"body":3}', "is no event"),
        (b'{"seq":1,"at":0,"number":1,"body":{"~":"Usage"}}', "Usage is no event"),
        (b'{"seq":1,"at":0,"number":1,"body":{"~":"Unheard"}}', "no such type"),
        (b'{"seq":1,"at":0,"number":1,"body":{"~":"Delta","text":{"~":9}}}', "index out of range"),
        (b'{"seq":"1","at":0,"number":1,"body":{"~":"Delta","text":""}}', "needs a run"),
        (b'{"seq":0,"at":0,"number":1,"body":{"~":"Delta","text":""}}', "event 0 comes after event 0"),
        (b"\xff\xfe", "not a JSON object"),
        (b"[" * 100_000, "not a JSON object"),
    ],
)
def test_a_damaged_line_is_refused_with_file_and_line(tmp_path: Path, line: bytes, what: str) -> None:
    path, lines = lines_of(tmp_path)
    lines[2] = line
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(BadInput, match=rf"damaged at line 3: .*{re.escape(what)}") as caught:
        read_trace(path)
    assert str(path) in str(caught.value)
    assert caught.value.details == {"file": str(path), "line": 3}


def test_a_missing_line_that_a_later_one_refers_to_is_noticed(tmp_path: Path) -> None:
    path, lines = lines_of(tmp_path)
    path.write_bytes(b"\n".join([lines[0], lines[1].replace(b'"number":0', b'"number":7'), *lines[2:]]) + b"\n")
    with pytest.raises(BadInput, match="damaged at line 3"):
        read_trace(path)


@pytest.mark.parametrize("content", ["Dear diary,\n", "{}\n", "[]\n", '{"trace":"sleuth"}\n', "PK\x03\x04", '{"a": 1}'])
def test_what_is_no_trace_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(content)
    with pytest.raises(BadInput, match="is not a trace"):
        read_trace(path)


def test_a_newer_trace_says_to_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"trace":"sleuth","version":2}\n{"anything":1}\n')
    with pytest.raises(BadInput, match=r"newer Sleuth \(trace format 2; this one reads up to 1\).*upgrade"):
        read_trace(path)


def test_a_missing_file_and_a_folder_are_clear_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(BadInput, match="cannot be read"):
            read_trace(path)


# --- the store --------------------------------------------------------------------------------------------------


def store_with(tmp_path: Path, **runs: list[Event]) -> RunStore:
    store = RunStore(tmp_path / "runs")
    for run, events in runs.items():
        write(store.path(run), events)
    return store


def run_events(run: str, at: float, *, closed: bool = True, **about: Any) -> list[Event]:
    events = [Event(run, 0, at, Span("", 0), Opened("Who?", about))]
    if closed:
        answer = Answer(
            "Benjamin Harrison, the 23rd president of the United States, 1889 to 1893", "answered", "confident"
        )
        events.append(Event(run, 1, at, Span("", 1), Finished(answer.text)))
        events.append(Event(run, 2, at + 1, Span("", 0), Closed(answer)))
    return events


def test_runs_are_listed_newest_first_with_what_became_of_them(tmp_path: Path) -> None:
    store = store_with(
        tmp_path,
        a=run_events("a", 10.0, strategy="react"),
        b=run_events("b", 30.0, closed=False, resumes="a"),
        c=five_hops("c"),
    )
    (store.folder / "d.jsonl").write_text("nonsense\nnonsense\n")
    (store.folder / "e.jsonl").touch()
    (store.folder / "notes.txt").write_text("")
    runs = {run.run: run for run in store.runs()}
    assert [run.run for run in store.runs() if run.run != "e"] == ["c", "b", "a", "d"]
    assert (runs["a"].status, runs["a"].ended, runs["a"].strategy) == ("answered", "confident", "react")
    assert runs["a"].answer.startswith("Benjamin Harrison, the 23rd")
    assert (runs["b"].status, runs["b"].resumes, runs["b"].question) == ("interrupted", "a", "Who?")
    assert (runs["c"].answer, runs["c"].ended) == ("Benjamin Harrison", "final_answer")
    assert (runs["d"].status, runs["e"].status) == ("damaged", "interrupted")
    assert store.size() == sum(path.stat().st_size for path in store.folder.glob("*.jsonl"))


def test_listing_reads_only_the_ends_of_a_file(tmp_path: Path) -> None:
    middle = [started(seq, "x" * 3000 + str(seq)) for seq in range(1, 100)]
    store = store_with(tmp_path, a=[*run_events("a", 1.0, closed=False), *middle, *five_hops("a")[-1:]])
    path = store.path("a")
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], b"not JSON " * 9000, *lines[2:]]))
    assert store.runs()[0].status == "answered"


@pytest.mark.parametrize("cut", [1, 40, 4000])
def test_a_torn_end_is_an_interrupted_run(tmp_path: Path, cut: int) -> None:
    store = store_with(tmp_path, a=five_hops("a"))
    data = store.path("a").read_bytes()
    store.path("a").write_bytes(data[:-cut])
    assert store.runs()[0].status == ("answered" if cut == 1 else "interrupted")


def test_a_run_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    store = store_with(tmp_path, **{run: run_events(run, 1.0) for run in ("abc", "abd", "ab")})
    assert store.find("abc").run == "abc"
    assert store.find("ab").run == "ab"  # a whole id, although others begin with it
    with pytest.raises(BadInput, match="3 runs begin with 'a': ab, abc, abd"):
        store.find("a")
    with pytest.raises(UnknownName, match="No run begins with 'x'"):
        store.find("x")
    with pytest.raises(UnknownName):
        RunStore(tmp_path / "nowhere").find("x")


def test_a_deleted_run_is_gone(tmp_path: Path) -> None:
    store = store_with(tmp_path, abc=run_events("abc", 1.0))
    assert store.delete("a").run == "abc"
    assert store.runs() == []
    with pytest.raises(UnknownName):
        store.delete("abc")


@pytest.mark.parametrize("run", ["", "../x", "a/b", ".hidden", "a\\b", "a b", "x" * 300])
def test_an_id_that_is_no_file_name_is_refused(tmp_path: Path, run: str) -> None:
    with pytest.raises(BadInput, match="cannot name a run"):
        RunStore(tmp_path).path(run)
