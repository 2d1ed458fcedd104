"""Every command: its output for people and machines, its exit status, its errors."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.homes import private
from tests.support.stub_server import StubServer, broken

from sleuth.cli import main
from sleuth.cli.entry import build

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    return private(monkeypatch, tmp_path)


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer(reply=" Benjamin Harrison") as running:
        yield running


def run(capsys: Capture, *words: str) -> tuple[int, str, str]:
    status = main(words)
    told = capsys.readouterr()
    return status, told.out, told.err


def asked(capsys: Capture, server: StubServer, *words: str) -> tuple[int, str, str]:
    return run(
        capsys, "ask", "Who was it?", "--model", f"{server.url}#stub", "--strategy", "retrieve-then-read", *words
    )


def as_json(text: str) -> Any:
    return json.loads(text)


COMMANDS = [
    ("ask",),
    ("plan",),
    ("compare",),
    ("index",),
    *(("library", name) for name in ("list", "show", "remove")),
    *(("strategies", name) for name in ("list", "show")),
    *(("runs", name) for name in ("list", "show", "replay", "resume")),
    *(("models", name) for name in ("list", "pull")),
    *(("bench", name) for name in ("run", "list", "show", "power", "report", "compare", "errors", "label", "blame")),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_commands_help_has_an_example_and_offers_json(capsys: Capture, command: tuple[str, ...]) -> None:
    status, out, _ = run(capsys, *command, "--help")
    assert status == 0
    assert "Example" in out
    assert f"sleuth {' '.join(command)}" in out
    assert "--json" in out


def test_the_list_of_commands_here_is_complete() -> None:
    app = build()
    skip = {"--help", "-h", "--version"}
    groups = {name: [sub for sub in app[name] if sub not in skip] for name in app if name not in skip}
    found = {(name, sub) for name, subs in groups.items() for sub in subs} | {
        (n,) for n, subs in groups.items() if not subs
    }
    assert found == set(COMMANDS)


def test_ask_prints_the_answer_how_it_ended_and_its_cost(capsys: Capture, server: StubServer) -> None:
    status, out, err = asked(capsys, server)
    assert status == 0
    assert out.splitlines()[0] == "Benjamin Harrison"
    assert "answered, final answer" in out
    assert "1 call, 1 search, read" in out
    assert "\x1b" not in out + err


def test_ask_json_is_one_object_on_stdout(capsys: Capture, server: StubServer) -> None:
    status, out, _ = asked(capsys, server, "--json")
    told = as_json(out)
    assert status == 0
    assert (told["answer"], told["status"], told["strategy"]) == ("Benjamin Harrison", "answered", "retrieve-then-read")
    assert told["usage"]["calls"] == 1
    assert Path(told["trace"]).is_file()
    assert told["hops"][0]["passages"]


def test_ask_joins_unquoted_words(capsys: Capture, server: StubServer) -> None:
    _, out, _ = run(
        capsys, "ask", "Who", "was", "it?", "--model", f"{server.url}#m", "--strategy", "standard", "--json"
    )
    assert as_json(out)["question"] == "Who was it?"


def test_ask_writes_the_trace_where_it_is_told(capsys: Capture, server: StubServer, tmp_path: Path, home: Path) -> None:
    asked(capsys, server, "--trace", str(tmp_path / "t.jsonl"))
    assert (tmp_path / "t.jsonl").is_file()
    asked(capsys, server, "--no-trace")
    assert not (home / "runs").exists()


def test_a_parameter_reaches_the_strategy(capsys: Capture, server: StubServer) -> None:
    _, out, _ = asked(capsys, server, "--param", "k=1", "--json")
    assert len(as_json(out)["hops"][0]["passages"]) == 1


def test_a_parameter_does_not_swallow_the_question(capsys: Capture, server: StubServer) -> None:
    words = ("--model", f"{server.url}#m", "--strategy", "retrieve-then-read", "--param", "k=1", "Who was it?")
    _, out, _ = run(capsys, "ask", *words, "--json")
    assert as_json(out)["question"] == "Who was it?"
    assert as_json(out)["params"] == {"k": 1}


def test_a_server_that_is_down_is_status_3_and_no_traceback(capsys: Capture) -> None:
    words = ("--model", "http://127.0.0.1:9/v1#m", "--strategy", "standard", "--seconds", "20")
    status, out, err = run(capsys, "ask", "Who?", *words)
    assert status == 3
    assert "failed, model error" in out
    assert "Traceback" not in out + err


def test_a_server_that_fails_is_status_3(capsys: Capture, server: StubServer) -> None:
    server.faults.extend([broken(400)] * 10)
    status, out, _ = asked(capsys, server, "--json")
    assert status == 3
    assert as_json(out)["ended"] == "model_error"


def test_a_budget_too_small_is_status_1(capsys: Capture, server: StubServer) -> None:
    status, out, _ = asked(capsys, server, "--tokens", "1")
    assert status == 1
    assert out.startswith("No answer.")
    assert "budget" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("ask", ""), "The question is empty. Try: sleuth ask"),
        (("ask",), "The question is empty"),
        (("ask", "x" * 100_000), "100,000 characters; at most"),
        (("ask", "Q?", "--strategy", "raect"), "Did you mean 'react'?"),
        (("ask", "Q?", "--library", "sampel"), "Did you mean 'sample'?"),
        (("ask", "Q?", "--model", "opnai:x"), "Did you mean 'openai'?"),
        (("ask", "Q?", "--calls", "0"), "'calls' in the arguments cannot be 0"),
        (("ask", "Q?", "--calls", "many"), "--calls"),
        (("ask", "Q?", "--param", "k"), "'k' is not NAME=VALUE"),
        (("ask", "Q?", "--param", "kk=1"), "no parameter 'kk'"),
        (("ask", "Q?", "--colour"), "sleuth ask --help"),
        (("aks", "Q?"), "aks"),
        (("index",), "sleuth index PATH"),
        (("index", "missing.txt"), "missing.txt"),
        (("index", ".", "--library", "sample"), "Sleuth's own"),
        (("index", ".", "--library", "../x"), "cannot name a library"),
        (("library", "show", "nothing-like-it"), "no library named 'nothing-like-it'"),
        (("library", "remove", "../home"), "no library named"),
        (("strategies", "show", "raect"), "Did you mean 'react'?"),
        (("runs", "show", "1999"), "sleuth runs list"),
        (("runs", "show", "missing.jsonl"), "missing.jsonl"),
        (("models", "pull", "gpt"), "no model file named 'gpt'"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_wrong_use_is_status_2_and_one_paragraph(
    capsys: Capture, server: StubServer, words: tuple[str, ...], says: str
) -> None:
    if words[0] == "ask" and "--model" not in words:
        words = (*words, "--model", f"{server.url}#stub")
    status, out, err = run(capsys, *words)
    assert status == 2, err
    assert says in err
    assert err.startswith("Error: ")
    assert len(err.strip().splitlines()) == 1, err
    assert "Traceback" not in err
    assert out == ""


def test_an_error_for_machines_is_an_object_on_stdout(capsys: Capture) -> None:
    status, out, err = run(capsys, "strategies", "show", "raect", "--json")
    assert status == 2
    assert as_json(out)["error"]["kind"] == "UnknownName"
    assert err.startswith("Error: ")


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(Exception, match="raect"):
        main(["strategies", "show", "raect", "--debug"])


def test_index_then_list_show_ask_and_remove(capsys: Capture, server: StubServer, home: Path) -> None:
    Path("a.txt").write_text("The Varrow lighthouse was lit in 1901. It is 31 metres tall.")
    status, out, _ = run(capsys, "index", "a.txt", "--library", "notes")
    assert status == 0
    assert out.startswith("notes: 1 documents, 1 passages")
    _, out, _ = run(capsys, "library", "list", "--json")
    assert [each["library"] for each in as_json(out)] == ["notes", "sample"]
    _, out, _ = run(capsys, "library", "show", "notes", "--json")
    assert as_json(out)["documents"] == 1
    _, out, _ = asked(capsys, server, "--library", "notes", "--json")
    assert as_json(out)["hops"][0]["passages"][0]["title"] == "a"
    status, _, _ = run(capsys, "library", "remove", "notes")
    assert status == 0
    assert not (home / "libraries" / "notes").exists()
    assert Path("a.txt").exists()


def test_strategies_list_names_every_one(capsys: Capture) -> None:
    _, out, _ = run(capsys, "strategies", "list")
    names = [line.split("\t")[0] for line in out.splitlines()]
    assert {"link-then-read", "self-ask", "react", "retrieve-then-read", "standard"} <= set(names)


def test_strategies_show_prints_the_card(capsys: Capture) -> None:
    _, out, _ = run(capsys, "strategies", "show", "self-ask")
    for part in ("self-ask", "paper", "use when", "avoid when", "calls", "parameter", "setting"):
        assert part in out
    _, out, _ = run(capsys, "strategies", "show", "self-ask", "--json")
    assert {"name", "parameters", "settings"} <= set(as_json(out))


def test_runs_list_show_and_replay(capsys: Capture, server: StubServer) -> None:
    _, out, _ = asked(capsys, server, "--json")
    run_id = as_json(out)["run"]
    _, out, _ = run(capsys, "runs", "list", "--json")
    assert [each["run"] for each in as_json(out)] == [run_id]
    status, out, _ = run(capsys, "runs", "show", run_id)
    assert status == 0
    assert "Who was it?" in out
    assert "passage" in out
    posts = len(server.posts)
    status, out, _ = run(capsys, "runs", "replay", run_id[:15])
    assert status == 0
    assert "the same answer, byte for byte" in out
    assert len(server.posts) == posts


def test_a_finished_run_cannot_be_resumed(capsys: Capture, server: StubServer) -> None:
    _, out, _ = asked(capsys, server, "--json")
    status, _, err = run(capsys, "runs", "resume", as_json(out)["run"])
    assert status == 2
    assert "nothing to resume" in err


def test_an_interrupted_run_is_resumed_without_repeating_a_call(
    capsys: Capture, server: StubServer, home: Path
) -> None:
    _, out, _ = asked(capsys, server, "--json")
    trace = Path(as_json(out)["trace"])
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join(lines[:-1]))  # as if it had been killed just before its end
    posts = len(server.posts)
    status, out, _ = run(capsys, "runs", "resume", trace.stem, "--json")
    told = as_json(out)
    assert (status, told["answer"], told["resumes"]) == (0, "Benjamin Harrison", trace.stem)
    assert told["run"] != trace.stem
    assert len(server.posts) == posts


def test_models_list_says_what_is_here(capsys: Capture, home: Path) -> None:
    (home / "models").mkdir(parents=True)
    (home / "models" / "own.gguf").write_bytes(b"GGUF")
    _, out, _ = run(capsys, "models", "list", "--json")
    found = {each["name"]: each["present"] for each in as_json(out)}
    assert found["own.gguf"] is True
    assert found["qwen2.5-coder-1.5b"] is False


def test_text_of_a_model_cannot_steer_the_terminal(capsys: Capture, server: StubServer) -> None:
    server.reply = lambda _: " \x1b[2J\x1b]0;owned\x07[bold]Harrison[/bold]"
    _, out, err = asked(capsys, server)
    assert "\x1b" not in out + err
    assert "[bold]Harrison[/bold]" in out
