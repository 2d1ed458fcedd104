"""``sleuth ask --file``: the answers in the file's order, what failed and why, and an exit status that says whether all is well."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.homes import private
from tests.support.stub_server import Body, StubServer, broken, slow

from sleuth.cli import batch as shown
from sleuth.cli import main


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def reply(body: Body) -> str:
    return f" {1800 + int(re.findall(r'tower number ([0-9]+)', body['prompt'])[-1])}"


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer(reply=reply) as running:
        yield running


def questions(count: int = 4) -> str:
    return "".join(f"When was tower number {n} completed?\n" for n in range(count))


def ask(server: StubServer, *words: str) -> int:
    given = ("--model", f"{server.url}#stub", "--strategy", "standard", "--output", "out")
    return main(["ask", *words, *given])


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_for_each_question_and_where_everything_is(
    server: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("q.txt").write_text(questions())
    assert ask(server, "--file", "q.txt") == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [f"When was tower number {n} completed?  {1800 + n}" for n in range(4)]
    assert "4 questions: 4 answered" in err
    assert "out/results.jsonl" in err.replace("\\", "/")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "q.jsonl",
            "".join(
                json.dumps({"id": f"q{n}", "question": line}) + "\n" for n, line in enumerate(questions().splitlines())
            ),
        ),
        ("q.csv", "id,question\n" + "".join(f"q{n},{line}\n" for n, line in enumerate(questions().splitlines()))),
        ("q.txt", questions()),
    ],
)
@pytest.mark.parametrize("by", ["file", "stdin"])
def test_every_kind_of_file_is_read_also_from_standard_input(
    server: StubServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    text: str,
    by: str,
) -> None:
    Path(name).write_text(text)
    if by == "stdin":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert ask(server, "--file", name if by == "file" else "-", "--json") == 0
    told = rows(capsys.readouterr().out)
    assert [row["answer"] for row in told] == ["1800", "1801", "1802", "1803"]
    assert [row["question"] for row in told] == questions().splitlines()
    if "id" in text:
        assert [row["id"] for row in told] == ["q0", "q1", "q2", "q3"]


def test_rows_come_in_the_files_order_however_the_runs_end(
    server: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("q.txt").write_text(questions(6))
    server.faults.extend([slow(0.2), slow(0.0), slow(0.1)])
    assert ask(server, "--file", "q.txt", "--json", "--at-once", "3") == 0
    out = capsys.readouterr().out
    assert [row["answer"] for row in rows(out)] == [str(1800 + n) for n in range(6)]
    assert Path("out/results.jsonl").read_text() == out
    assert sorted(file.name for file in Path("out").iterdir()) == [
        *("batch.json", "lock", "questions.jsonl", "results.jsonl", "runs"),
    ]


def test_the_same_command_asks_nothing_again_and_tells_the_same(
    server: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("q.txt").write_text(questions())
    assert ask(server, "--file", "q.txt", "--json") == 0
    first, posts = capsys.readouterr().out, len(server.posts)
    assert ask(server, "--file", "q.txt", "--json") == 0
    assert (capsys.readouterr().out, len(server.posts)) == (first, posts)


def test_failures_are_listed_with_why_and_how_often_and_asked_again_alone(
    server: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("q.txt").write_text(questions(6))
    server.faults.extend([slow(0), broken(400), slow(0), broken(400), slow(0)])
    assert ask(server, "--file", "q.txt", "--json") == 1
    out, err = capsys.readouterr()
    assert [row["status"] for row in rows(out)] == ["answered", "failed"] * 2 + ["answered"] * 2
    assert "6 questions: 4 answered, 2 failed" in err
    [line] = [line for line in err.splitlines() if "2 times" in line]
    assert "model error" in line
    assert all(row["id"] in line for row in rows(out) if row["status"] == "failed")
    assert "--again failed" in err
    posts = len(server.posts)
    assert ask(server, "--file", "q.txt") == 1
    assert len(server.posts) == posts
    assert ask(server, "--file", "q.txt", "--again", "failed") == 0
    assert len(server.posts) == posts + 2


def test_a_model_that_is_gone_ends_it_with_status_3_and_what_is_done_is_in_the_results(
    server: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("q.txt").write_text(questions(50))
    server.faults.extend([slow(0), slow(0), *[broken(400)] * 100])
    assert ask(server, "--file", "q.txt") == 3
    _, err = capsys.readouterr()
    assert "questions running failed" in err
    assert "5 of 50 questions" in err
    assert [row["status"] for row in rows(Path("out/results.jsonl").read_text())] == ["answered"] * 2 + ["failed"] * 3


def test_status_3_where_none_has_an_answer_because_the_model_failed(server: StubServer) -> None:
    Path("q.txt").write_text(questions(2))
    server.faults.extend([broken(400)] * 2)
    assert ask(server, "--file", "q.txt") == 3


def test_every_bad_line_is_named_before_anything_is_asked(
    server: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("q.jsonl").write_text('{"question": "A?", "id": "a"}\nno json\n{"id": 3}\n{"question": "B?", "id": "a"}\n')
    assert ask(server, "--file", "q.jsonl") == 2
    err = capsys.readouterr().err
    assert all(f"line {number}" in err for number in (2, 3, 4))
    assert 'the id "a" stands twice' in err
    assert not server.posts
    assert not Path("out").exists()


def test_bad_lines_of_standard_input_are_named_as_such(
    server: StubServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"question": "A?"}\n{"id": 3}\n')))
    assert ask(server, "--file", "-") == 2
    assert "Standard input cannot be used. line 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("ask", "Who?", "--file", "q.txt"),
        ("ask", "--file", "q.txt", "--trace", "t.jsonl"),
        ("ask", "--file", "q.txt", "--no-trace"),
        ("ask", "--file", "q.txt", "--at-once", "0"),
        ("ask", "--file", "q.txt", "--again", "never"),
        ("ask", "--file", "none.txt"),
        ("ask", "Who?", "--output", "out"),
        ("ask", "Who?", "--again", "failed"),
        ("ask", "Who?", "--at-once", "2"),
    ],
)
def test_flags_that_do_not_fit_are_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.txt").write_text(questions())
    assert main([*words]) == 2
    assert capsys.readouterr().err.startswith("Error: ")


def test_other_settings_in_the_same_folder_are_refused(server: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.txt").write_text(questions())
    assert ask(server, "--file", "q.txt") == 0
    assert ask(server, "--file", "q.txt", "--calls", "3") == 2
    assert "budget.calls was null, now 3" in capsys.readouterr().err


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal_and_nothing_when_quiet(
    server: StubServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "EVERY", 0.05)
    Path("q.txt").write_text(questions())
    server.faults.extend([slow(0.15)] * 4)
    assert ask(server, "--file", "q.txt") == 0
    assert re.search(r"[123] of 4 questions, [123] answered, \d+ s left", capsys.readouterr().err)
    server.faults.extend([slow(0.15)] * 4)
    assert ask(server, "--file", "q.txt", "--again", "all", "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_what_a_users_tool_prints_is_not_among_the_rows(server: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tools.py").write_text(
        'def shout(text: str) -> str:\n    """Shout it."""\n    print("NOISE")\n    return text\n'
    )
    Path("q.txt").write_text(questions(1))
    server.reply = lambda body: (
        " I shout.\nAction 1: Shout[x]\n"
        if "Observation 1" not in body["prompt"].rsplit("Question:", 1)[1]
        else " Finish[1800]"
    )
    words = [
        "ask",
        "--file",
        "q.txt",
        "--model",
        f"{server.url}#stub",
        "--strategy",
        "react",
        "--tool",
        "tools.py:shout",
        "--json",
    ]
    main([*words, "--output", "out"])
    out, _ = capsys.readouterr()
    assert "NOISE" not in out
    assert len(rows(out)) == 1
