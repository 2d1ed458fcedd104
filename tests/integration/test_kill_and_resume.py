"""Kill -9 during `ask`: the trace is readable to its last line, and `runs resume` repeats no finished call."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.homes import private
from tests.support.stub_server import Body, StubServer, slow

from sleuth.cli import main
from sleuth.events import Closed, Finished
from sleuth.trace import read_trace
from sleuth.types import Completion

REPLIES = (
    " Yes.\nFollow up: When was the Eiffel Tower completed?",
    " Follow up: Who was US president in 1889?",
    " So the final answer is: Benjamin Harrison",
)
QUESTION = "Who was US president when the Eiffel Tower was completed?"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def planned(body: Body) -> str:
    """The reply that a prompt of so many hops gets."""
    return REPLIES[body["prompt"].rsplit("Question:", 1)[1].count("Intermediate answer:")]


def finished_calls(trace: Path) -> int:
    """Model calls whose reply stands in the trace."""
    bodies = [event.body for event in read_trace(trace)]
    return sum(isinstance(body, Finished) and isinstance(body.value, Completion) for body in bodies)


def sleuth(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sleuth", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


@pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")
@pytest.mark.parametrize("call", [1, 2, 3])
def test_killed_during_a_call_and_resumed(home: Path, call: int) -> None:
    with StubServer(reply=planned) as server:
        server.posts.clear()
        words = ("--model", f"{server.url}#stub", "--strategy", "self-ask", "--setting", "paper")
        whole = [slow(0)] * (call - 1)
        server.faults.extend([*whole, slow(30)])
        process = sleuth("ask", QUESTION, *words)
        end = time.monotonic() + 30
        while len(server.posts) < call and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.02)
        process.kill()
        process.communicate()
        [trace] = (home / "runs").iterdir()
        finished = [
            e for e in read_trace(trace) if isinstance(e.body, Finished) and isinstance(e.body.value, Completion)
        ]
        assert len(finished) == call - 1
        server.posts.clear()
        process = sleuth("runs", "resume", trace.stem, "--json")
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        told = json.loads(out)
        assert (told["answer"], told["resumes"]) == ("Benjamin Harrison", trace.stem)
        assert len(server.posts) == len(REPLIES) - (call - 1)
    process = sleuth("runs", "replay", told["run"])
    out, err = process.communicate(timeout=60)
    assert "the same answer, byte for byte" in out, err


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")
@pytest.mark.parametrize("seed", range(20))
def test_killed_at_a_random_moment_and_resumed(home: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    with StubServer(reply=planned) as server:
        server.faults.extend([slow(0.15)] * 3)
        process = sleuth(
            "ask", QUESTION, "--model", f"{server.url}#stub", "--strategy", "self-ask", "--setting", "paper"
        )
        while not server.posts and process.poll() is None:
            time.sleep(0.005)
        time.sleep(random.Random(seed).uniform(0, 0.6))
        process.kill()
        process.communicate()
        [trace] = (home / "runs").iterdir()
        events, before = read_trace(trace), finished_calls(trace)
        if isinstance(events[-1].body, Closed):
            assert events[-1].body.answer.text == "Benjamin Harrison"
            return
        server.posts.clear()
        server.faults.clear()
        assert main(["runs", "resume", trace.stem, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["answer"] == "Benjamin Harrison"
        assert len(server.posts) == len(REPLIES) - before
