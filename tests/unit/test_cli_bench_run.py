"""`sleuth bench` on the command line: what is said before, the price, the table, and the next command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.homes import private
from tests.support.stub_server import StubServer

from sleuth.cli import main


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    home = private(monkeypatch, tmp_path)
    rows = [{"id": f"q{n}", "question": f"When was tower {n} completed?", "answers": ["1889"]} for n in range(8)]
    Path("mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return home


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer(reply=" 1889.") as stub:
        yield stub


def words(server: StubServer, *more: str) -> list[str]:
    return ["bench", "run", "mine.jsonl", "--library", "sample", "--model", f"{server.url}#stub", *more]


def test_a_run_tells_what_it_can_show_and_its_price_then_the_table_and_the_next_command(
    server: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(server, "--strategy", "standard", "--strategy", "retrieve-then-read")) == 0
    out, err = capsys.readouterr()
    assert "bench-mine: 16 runs (1 task, 1 model, 2 methods)" in err
    assert "8 questions, asked of sample" in err
    assert "the other 6 runs, by the 10 done: about 6 calls" in err
    lines = out.splitlines()
    assert lines[0] == "mine"
    assert "less standard" in lines[1]
    assert lines[2].startswith("standard            8  100.0 (68 to 100)")
    assert "no difference shown" in lines[3]
    assert lines[-1] == "next  sleuth bench report bench-mine"
    assert len(server.posts) == 16


def test_the_output_for_machines_is_one_object(server: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(server, "--strategy", "standard", "--json", "-q")) == 0
    out, err = capsys.readouterr()
    [row] = json.loads(out)["tasks"][0]["rows"]
    assert (row["method"], row["done"], row["scores"]["em"]["value"], row["costs"]["calls"]) == (
        "standard",
        8,
        1.0,
        1.0,
    )
    assert err == ""


def test_what_costs_dollars_stops_after_the_pilot_where_nobody_can_be_asked_and_goes_on_with_yes(
    server: StubServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLEUTH_PRICE_READ", "1000")
    monkeypatch.setenv("SLEUTH_PRICE_WRITTEN", "1000")
    assert main(words(server, "--strategy", "standard")) == 2
    told = capsys.readouterr().err
    assert "$" in told
    assert "--yes" in told
    assert len(server.posts) == 5
    assert main(words(server, "--strategy", "standard", "--yes")) == 0
    assert len(server.posts) == 8


def test_benches_are_listed_and_shown_without_a_call(server: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(server, "--strategy", "cot:paper")) == 0
    posts = len(server.posts)
    capsys.readouterr()
    assert main(["bench", "list", "--json"]) == 0
    [facts] = json.loads(capsys.readouterr().out)
    assert (facts["bench"], facts["done"]) == ("bench-mine", "8 of 8 runs")
    assert main(["bench", "show", "bench-mine"]) == 0
    assert "cot:paper" in capsys.readouterr().out
    assert len(server.posts) == posts
    assert main(["bench", "show", "nowhere"]) == 2


def test_a_list_of_no_benches_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "list"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "No benches in" in err
    assert main(["bench", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["bench", "list", "nowhere"]) == 2
    assert "no folder nowhere" in capsys.readouterr().err


def test_the_price_of_one_run_is_in_the_singular(server: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(server, "--strategy", "standard", "--sample", "6")) == 0
    assert "the other 1 run, by the 5 done: about 1 call, " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--corpus", "other=x.jsonl", "--strategy", "react"], "other"),
        (["--ids", "a", "--ids", "b", "--strategy", "react"], "ids"),
        (["--set", "samples=5", "--strategy", "react"], "preset"),
        (["--preset", "nothing"], "react-paper"),
        ([], "method"),
    ],
)
def test_wrong_use_is_told_in_a_sentence(
    server: StubServer, more: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(server, *more)) == 2
    assert told in capsys.readouterr().err
    assert not server.posts


def test_power_tells_a_difference_or_a_number_of_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "power", "--questions", "30", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["difference"] == pytest.approx(0.34, abs=0.01)
    assert main(["bench", "power", "--difference", "0.1", "--discordant", "0.3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["questions"] == 230
    assert main(["bench", "power", "--questions", "3"]) == 0
    assert "no difference" in capsys.readouterr().out
    for wrong in (
        ["--questions", "30", "--difference", "0.1"],
        [],
        ["--difference", "0"],
        ["--questions", "9", "--sd", "-1"],
        ["--questions", "0"],
        ["--difference", "10"],
    ):
        assert main(["bench", "power", *wrong]) == 2
