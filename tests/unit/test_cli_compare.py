"""``sleuth compare``: what people and machines see of it, on wide terminals, narrow ones and none."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.support.homes import private
from tests.support.stub_server import StubServer, broken

import sleuth
from sleuth import Answer, Script, Shelf, Usage
from sleuth.app.compare import Comparison, Row, compared, folded
from sleuth.app.comparing import arranged, wait_for
from sleuth.cli import main
from sleuth.cli.board import Board, cells
from sleuth.cli.compare import listed
from sleuth.cli.compared import exit_status, put_comparison
from sleuth.errors import BadInput, LibraryFault, WrongUse
from sleuth.trace import read_trace
from sleuth.types import Citation, Hop, Passage, Search

Capture = pytest.CaptureFixture[str]
THREE = "link-then-read,self-ask,standard"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("COLUMNS", "80")
    return private(monkeypatch, tmp_path)


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer(reply=" Benjamin Harrison") as running:
        yield running


def run(capsys: Capture, server: StubServer, *words: str) -> tuple[int, str, str]:
    status = main(["compare", "Who was it?", "--model", f"{server.url}#stub", *words])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_it_prints_a_block_a_strategy_in_the_order_named_then_where_they_part(
    capsys: Capture, server: StubServer
) -> None:
    status, out, err = run(capsys, server, "--strategies", THREE)
    lines = out.splitlines()
    assert status == 0
    assert [lines.index(name) for name in THREE.split(",")] == sorted(lines.index(name) for name in THREE.split(","))
    assert lines[1] == "  Benjamin Harrison"
    assert "first difference  hop 1: question, query" in out
    assert "against link-then-read" in out
    assert out.rstrip().endswith("no look-up")
    assert "[1/3] link-then-read: begins" in err
    assert "[3/3] standard: answered, final answer: Benjamin Harrison (1 call, " in err
    assert "\x1b" not in out + err


def test_quiet_says_nothing_on_the_way(capsys: Capture, server: StubServer) -> None:
    assert run(capsys, server, "--strategies", "standard", "--quiet")[2] == ""


def test_json_is_one_object_whose_rows_fold_from_their_traces(capsys: Capture, server: StubServer) -> None:
    status, out, _ = run(capsys, server, "--strategies", THREE, "--json")
    told = json.loads(out)
    assert status == 0
    assert [row["strategy"] for row in told["rows"]] == THREE.split(",")
    for row in told["rows"]:
        again = folded(read_trace(Path(row["trace"])))
        assert (again.run, again.text, again.status, again.ended) == (
            row["run"],
            row["answer"],
            row["status"],
            row["ended"],
        )
        assert (again.usage.calls, again.usage.tokens, again.seconds) == (
            row["usage"]["calls"],
            row["usage"]["read"] + row["usage"]["cached"] + row["usage"]["written"],
            row["seconds"],
        )
        assert len(again.hops) == len(row["hops"])


def test_its_runs_are_stored_runs_that_replay(capsys: Capture, server: StubServer) -> None:
    _, out, _ = run(capsys, server, "--strategies", "retrieve-then-read", "--json")
    posts = len(server.posts)
    assert main(["runs", "replay", json.loads(out)["rows"][0]["run"]]) == 0
    assert len(server.posts) == posts


def test_no_trace_writes_none(capsys: Capture, server: StubServer, home: Path) -> None:
    _, out, _ = run(capsys, server, "--strategies", "standard", "--no-trace", "--json")
    assert json.loads(out)["rows"][0]["trace"] is None
    assert not (home / "runs").exists()


def test_the_limits_are_each_strategys_own(capsys: Capture, server: StubServer) -> None:
    status, out, _ = run(capsys, server, "--strategies", "standard,standard", "--calls", "1", "--json")
    assert status == 0
    assert [row["usage"]["calls"] for row in json.loads(out)["rows"]] == [1, 1]


def test_when_every_run_fails_for_want_of_the_model_the_status_is_3(capsys: Capture, server: StubServer) -> None:
    server.faults.extend([broken(400)] * 20)
    status, out, _ = run(capsys, server, "--strategies", "standard,retrieve-then-read")
    assert status == 3
    assert out.count("failed, model error") == 2


def test_when_none_answers_the_status_is_1(capsys: Capture, server: StubServer) -> None:
    status, out, _ = run(capsys, server, "--strategies", "standard,retrieve-then-read", "--tokens", "1")
    assert status == 1
    assert "No answer." in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--strategies", "raect,standard"), "Did you mean 'react'?"),
        (("--strategies", "react:papr"), "There is no setting of 'react' named 'papr'"),
        (("--strategies", "standard,,react"), "A name is missing"),
        (("--strategies", ""), "A name is missing"),
        (("--strategies", "standard:k=1"), "no parameter 'k'"),
        (("--at-once", "0"), "0 runs at once"),
        (("--at-once", "two"), "a whole number is needed"),
        (("--library", "sampel", "--strategies", "standard"), "Did you mean 'sample'?"),
        (("--calls", "0"), "'calls' in the arguments cannot be 0"),
    ],
)
def test_wrong_use_is_status_2_and_one_paragraph(
    capsys: Capture, server: StubServer, words: tuple[str, ...], says: str
) -> None:
    status, out, err = run(capsys, server, *words)
    assert (status, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1, err
    assert server.posts == []


def test_names_are_read_between_commas() -> None:
    assert listed(" react , cot-sc:n=3") == ["react", "cot-sc:n=3"]
    with pytest.raises(BadInput):
        listed("react,")


# --- exit status ------------------------------------------------------------------------------------------------


def answered(text: str = "1889", **more: Any) -> Answer:
    return replace(Answer(text, "answered", "final_answer"), **more)


DOWN = Row("down", answer=Answer("", "failed", "model_error"))
NONE = Row("none", answer=Answer("", "abstained", "final_answer"))
GOOD = Row("good", answer=answered())


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([GOOD, DOWN, NONE], 0),
        ([DOWN, DOWN], 3),
        ([DOWN, NONE], 1),
        ([NONE], 1),
        ([Row("locked", error=LibraryFault("locked")), DOWN], 3),
        ([Row("wrong", error=WrongUse("no flow"))], 2),
        ([Row("bug", error=ZeroDivisionError())], 1),
        ([Row("bug", error=ZeroDivisionError()), GOOD], 0),
        ([Row("not begun"), DOWN], 1),
    ],
)
def test_the_exit_status_is_0_when_any_answered_and_3_when_all_failed_for_their_surroundings(
    rows: list[Row], status: int
) -> None:
    assert exit_status(compared("?", rows)) == status


# --- layouts ----------------------------------------------------------------------------------------------------


def full() -> Comparison:
    passages = (Passage("1", "d", "The Tower of a Quite Long Title", ""), Passage("2", "d", "The Bridge", ""))
    quote = Citation("1", "The Tower", "completed in 1889", verified=True)
    long = " ".join(f"word{number}" for number in range(60))
    return compared(
        "?",
        [
            Row(
                "link-then-read",
                "run1",
                answered(citations=(quote,), confidence=0.834, confidence_by="logprob", grounded=True),
                (Hop("When was the tower completed?", "tower completed", evidence=passages),),
                Usage(2, 1, 1200, 300, 12, 0.0123, 9.0),
                3.21,
                began=1.0,
            ),
            Row(
                "react:paper", "run2", answered(long, grounded=False), (Hop("Who?", evidence=passages[:1]),), began=1.0
            ),
            Row("self-ask", "run3", Answer("", "failed", "model_error", note="the model \x1b[2Jis down"), began=1.0),
            Row("standard"),
        ],
    )


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_on_a_narrow_terminal_no_line_is_wider_than_it(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    put_comparison(full())
    out = capsys.readouterr().out
    blocks = out.split("first difference")[0].splitlines()
    assert max(map(len, blocks)) <= width
    assert out.splitlines()[0] == "link-then-read"
    for part in ("1889", "grounded", "0.83", "1 hop", "1 verified", "2 calls", "3.2 s", "$0.0123", "1,200", "word59"):
        assert part in " ".join(out.split())
    assert "\x1b" not in out


def test_on_a_wide_terminal_it_is_a_table_with_every_figure(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    put_comparison(full())
    heads, first, second, third, fourth, note, *_ = capsys.readouterr().out.splitlines()
    for head in ("strategy", "answer", "status", "why ended", "grounded", "confidence", "cited", "cached", "dollars"):
        assert head in heads
    cells = "link-then-read 1889 answered final answer yes 0.83 (logprob) 1 1 2 1,200 300 12 3.2 0.0123"
    assert " ".join(first.split()) == cells
    assert second.split()[0] == "react:paper"
    assert "…" in second
    assert "failed    model error" in third
    assert "waiting" in fourth
    assert note == "  self-ask: the model is down"


def test_a_difference_is_shown_side_by_side_where_there_is_room(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    put_comparison(full())
    out = capsys.readouterr().out
    both = next(line for line in out.splitlines() if line.startswith("question"))
    assert "When was the tower completed?" in both
    assert "Who?" in both
    monkeypatch.setenv("COLUMNS", "60")
    put_comparison(full())
    stacked = [line for line in capsys.readouterr().out.splitlines() if "question " in line]
    assert "    question When was the tower completed?" in stacked


def test_where_queries_part_late_they_are_shown_to_their_ends(capsys: Capture) -> None:
    long = "When was the tower that stands in the old town completed, and by whom was it completed?"
    rows = [Row(name, hops=(Hop("When?", f"{long} {name}"),)) for name in ("one", "another", "third")]
    put_comparison(compared("?", rows))
    told = " ".join(capsys.readouterr().out.split())
    assert all(f"{long} {row.name}" in told for row in rows)


def test_a_hop_that_only_one_made_says_whose_it_is(capsys: Capture) -> None:
    one = Hop("When?", evidence=())
    put_comparison(compared("?", [Row("a", hops=(one,)), Row("b", hops=(one, one)), Row("c", hops=(one,)), Row("d")]))
    out = capsys.readouterr().out
    assert "b  hop 2: only b makes it" in out
    assert "c  the same hops" in out
    assert "d  no look-up" in out


# --- live -------------------------------------------------------------------------------------------------------


def test_on_a_terminal_there_is_one_line_a_strategy_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system=None, width=80, markup=False, soft_wrap=True)
    board = Board(console)
    runs = arranged(
        "When was the tower completed?",
        ["retrieve-then-read", "standard"],
        model=Script(lambda _: " 1889", delay=0.6),
        library=Shelf({"Tower": "The tower was completed in 1889."}),
        sinks=(board,),
        trace=False,
    )
    with board.show(runs):
        wait_for(runs)
    text = out.getvalue()
    assert "reading …" in text
    assert "waiting" in text
    assert "running" in text
    assert "begins" not in text
    assert all(len(line) <= 80 for line in str(_plain(board)).splitlines())


def _plain(board: Board) -> str:
    out = io.StringIO()
    Console(file=out, width=80).print(board.table())
    return out.getvalue()


def test_a_row_that_runs_says_what_it_does_and_for_how_long() -> None:
    row = Row("react", "run", hops=(Hop("a"),), usage=Usage(3), doing=Search("the tower"), began=100.0, loading=2.0)
    assert [text.plain for text in cells(row, 110.0)] == ["react", "running", "searching: the tower", "1", "3", "8.0"]
    assert [text.plain for text in cells(Row("react"), 110.0)] == ["react", "waiting", "", "", "", ""]


def test_text_of_a_model_cannot_steer_the_terminal(capsys: Capture, server: StubServer) -> None:
    server.reply = lambda _: " \x1b[2J\x1b]0;owned\x07[bold]Harrison[/bold]"
    _, out, err = run(capsys, server, "--strategies", "standard,retrieve-then-read")
    assert "\x1b" not in out + err
    assert "[bold]Harrison[/bold]" in out


def test_debug_raises_what_a_strategy_raised(capsys: Capture, server: StubServer) -> None:
    @sleuth.strategy("breaks")
    def breaks(question: str) -> sleuth.Flow[Answer]:
        yield from sleuth.note("hop", question)
        raise ZeroDivisionError("of its own")

    try:
        status, out, _ = run(capsys, server, "--strategies", "breaks,standard")
        assert status == 0
        assert "ZeroDivisionError: of its own" in " ".join(out.split())
        with pytest.raises(ZeroDivisionError):
            run(capsys, server, "--strategies", "breaks,standard", "--debug")
    finally:
        from sleuth.app import strategies

        strategies._own.pop("breaks")
