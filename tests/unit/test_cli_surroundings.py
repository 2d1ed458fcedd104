"""Wrong use and bad surroundings, seen from the shell: one clear paragraph and the right exit status."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.homes import private
from tests.support.stub_server import StubServer, html

from sleuth.cli import main
from sleuth.cli.screen import put, stdout
from sleuth.library import store
from sleuth.models.files import CATALOGUE

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def refused(capsys: Capture, *words: str) -> tuple[int, str]:
    """The exit status, and the one paragraph on stderr."""
    status = main(words)
    err = [line for line in capsys.readouterr().err.strip().splitlines() if line.startswith("Error: ")]
    assert len(err) == 1, err
    return status, err[0]


def test_a_library_without_a_document_is_status_2_and_says_what_to_run(capsys: Capture, home: Path) -> None:
    with store.writing(home / "libraries" / "bare", []):
        pass
    with StubServer() as server:
        words = ("--model", f"{server.url}#m", "--strategy", "retrieve-then-read", "--library", "bare")
        status, said = refused(capsys, "ask", "Who was it?", *words)
    assert status == 2
    assert "holds nothing" in said
    assert "sleuth index" in said


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"\x00\x01\x02\xff" * 200, "binary"), (b"caf\xe9 is not UTF-8", "UTF-8")],
)
def test_a_file_that_cannot_be_read_is_status_2_with_the_reason(capsys: Capture, content: bytes, reason: str) -> None:
    Path("a.txt").write_bytes(content)
    status, said = refused(capsys, "index", "a.txt", "--library", "notes")
    assert status == 2
    assert "a.txt" in said
    assert reason in said


def test_a_model_file_that_is_missing_is_status_2_and_named(capsys: Capture) -> None:
    status, said = refused(capsys, "ask", "Who?", "--model", "local:missing.gguf")
    assert status == 2
    assert "missing.gguf" in said


def test_a_server_that_answers_html_is_status_3_and_the_path_is_doubted(capsys: Capture) -> None:
    with StubServer() as server:
        server.faults.extend([html()] * 10)
        status = main(["ask", "Who?", "--model", f"{server.url}#m", "--strategy", "standard", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (status, told["ended"], told["answer"]) == (3, "model_error", "")
    assert "answered HTML, not JSON" in told["note"]


def test_a_model_file_of_the_wrong_checksum_is_status_3_and_says_how_to_fetch_it_again(
    capsys: Capture, home: Path
) -> None:
    file = CATALOGUE["smollm2-135m"]
    (home / "models").mkdir(parents=True)
    with open(home / "models" / file.file, "wb") as hollow:
        hollow.truncate(file.size)
    status = main(["ask", "Who?", "--model", "local:smollm2-135m", "--strategy", "standard", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (status, told["ended"]) == (3, "model_error")
    assert "wrong checksum" in told["note"]
    assert "sleuth models pull" in told["note"]


def test_no_room_for_a_model_is_status_3_and_says_how_much_it_takes(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=9, used=8, free=1))
    status, said = refused(capsys, "models", "pull", "smollm2-135m")
    assert status == 3
    assert "Not enough disk space" in said


def test_offline_never_fetches_and_says_which_command_would(capsys: Capture) -> None:
    status, said = refused(capsys, "ask", "Who?", "--offline")
    assert status == 3
    assert "sleuth models pull" in said


@pytest.mark.parametrize("value", ["-1", "nan", "much"])
def test_dollars_that_are_none_are_status_2(capsys: Capture, value: str) -> None:
    status, said = refused(capsys, "ask", "Who?", "--model", "http://127.0.0.1:9/v1#m", "--usd", value)
    assert status == 2
    assert "usd" in said


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("plain", [True, False])
def test_no_color_keeps_a_terminal_free_of_colours(monkeypatch: pytest.MonkeyPatch, plain: bool) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    put(stdout(), ("No answer.", "bold yellow"))
    assert "No answer." in shown.getvalue()
    assert ("33m" in shown.getvalue()) is not plain


def test_a_reader_that_leaves_before_the_answer_is_status_141(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    with StubServer() as server, os.fdopen(os.dup(theirs), "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        words = ("--model", f"{server.url}#stub", "--strategy", "standard", "--quiet")
        assert main(["ask", "Who was it?", *words]) == 141
    os.close(theirs)
