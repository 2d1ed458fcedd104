"""Slips of the user, the server or the machine are told as they are: no raw Python text, no key, no wrong cause."""

from __future__ import annotations

import json
import shlex
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.homes import private
from tests.support.stub_server import Fault, StubServer

from sleuth.app import models, runs, settings
from sleuth.cli import main
from sleuth.errors import BadInput, SleuthError
from sleuth.library.store import rebuild
from sleuth.models.child import Child

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    "words", [["ask", "Who?", "--calls"], ["ask", "Who?", "--tokens"], ["runs", "list", "--limit"]]
)
@pytest.mark.parametrize("value", ["1.5", "two", "9" * 5000])
def test_a_number_that_is_not_whole_is_refused(capsys: Capture, words: list[str], value: str) -> None:
    assert main([*words, value]) == 2
    told = capsys.readouterr().err
    assert "a whole number is needed" in told
    assert len(told) < 400


@pytest.mark.parametrize("name", ["THREADS", "CONTEXT"])
@pytest.mark.parametrize("value", ["99999999999999999999", "9" * 5000])
def test_a_setting_out_of_all_proportion_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"SLEUTH_{name}", value)
    with pytest.raises(BadInput, match=name.lower()) as caught:
        settings.load()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("form", ["{}", "openai:{}", "ollama:{}", "local:{}", "http://127.0.0.1:9/v1#{}", "{}:x"])
def test_a_key_given_as_the_model_is_not_repeated(monkeypatch: pytest.MonkeyPatch, capsys: Capture, form: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "something")
    key = "sk-" + "notarealkey123456"
    assert main(["ask", "Who?", "--json", "--model", form.format(key)]) == 2
    out, err = capsys.readouterr()
    assert key not in out + err
    assert "looks like an API key" in err


@pytest.mark.parametrize("name", ["gpt-4o-mini", "hf-mistral-7b-instruct-v0.2", "pk-7b", "org/sk.tiny-model-1234567"])
def test_a_models_name_is_no_key(name: str) -> None:
    assert isinstance(models.parse(f"http://127.0.0.1:9/v1#{name}", settings.load()), models.RemoteName)


@pytest.mark.parametrize(("code", "said"), [(None, "(status 200, with an error in it)"), (503, "(503)")])
def test_an_error_inside_a_good_answer_is_not_given_a_status_of_its_own(
    capsys: Capture, code: int | None, said: str
) -> None:
    body = json.dumps({"error": {"message": "no such luck", "code": code}}).encode()
    with StubServer() as server:
        server.faults.extend([Fault(200, body)] * 6)
        main(["ask", "Who?", "--model", f"{server.url}#stub", "--strategy", "standard", "--json", "-q"])
    note = json.loads(capsys.readouterr().out)["note"]
    assert said in note
    assert "no such luck" in note


def loading(log: list[str], ended: str, told: dict[str, Any]) -> str:
    stub = SimpleNamespace(log=deque(log), _told=told, _path=Path("m.gguf"), ended_by=lambda: ended)
    stub.last_words = lambda: Child.last_words(stub)  # type: ignore[arg-type]
    return Child._why_not_loaded(stub)  # type: ignore[arg-type]


def test_a_process_killed_while_it_loads_is_told_as_that() -> None:
    told = loading(["llama_kv_cache: allocating 1 buffer", "memory breakdown"], "signal 9", {})
    assert "was killed" in told
    assert "there is not enough memory" not in told


@pytest.mark.parametrize(
    "log", ["E ggml_buffer_alloc: failed to allocate buffer", "what(): std::bad_alloc", "mmap: Cannot allocate memory"]
)
def test_want_of_memory_is_told_where_the_log_says_it(log: str) -> None:
    assert "there is not enough memory" in loading([log], "exit status 1", {})


def test_another_end_is_told_by_its_status() -> None:
    assert "exit status 3" in loading(["allocating"], "exit status 3", {})


def test_a_path_with_spaces_is_quoted_in_what_to_try_next(tmp_path: Path) -> None:
    trace = tmp_path / "my traces" / "one.jsonl"
    assert shlex.split(runs.called(trace)) == [str(trace)]
    assert runs.called(settings.load().runs / "2026-x.jsonl") == "2026-x"
    (tmp_path / "library.json").write_text(json.dumps({"roots": ["/my notes/$HOME"]}))
    assert "'/my notes/$HOME'" in rebuild(tmp_path)


def test_no_runs_is_said(capsys: Capture) -> None:
    assert main(["runs", "list"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "No runs are stored" in err
    assert main(["runs", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_help_does_not_tell_that_a_switch_is_off(capsys: Capture) -> None:
    main(["runs", "list", "--help"])
    out = capsys.readouterr().out
    assert "[default: 20]" in out
    assert "False" not in out
    main(["ask", "--help"])
    assert "memory" in capsys.readouterr().out


def test_errors_are_sleuths_own() -> None:
    with pytest.raises(SleuthError):
        settings.load(threads=10**30)
