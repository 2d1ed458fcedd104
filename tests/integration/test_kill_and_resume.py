"""Kill -9 during `ask`: the trace is readable to its last line, and `runs resume` repeats no finished call."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.homes import private
from tests.support.runs import ended_for_good, outside
from tests.support.stub_server import Body, StubServer, slow

from sleuth.cli import main
from sleuth.events import Closed, Finished, Started
from sleuth.strategies import TABLE
from sleuth.trace import read_trace
from sleuth.types import Cancel, Completion

REPLIES = (
    " Yes.\nFollow up: When was the Eiffel Tower completed?",
    " Follow up: Who was US president in 1889?",
    " So the final answer is: Benjamin Harrison",
)
QUESTION = "Who was US president when the Eiffel Tower was completed?"
PATIENCE = 60.0
"""Seconds in which a program must have come so far."""


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
        trace = killed(server, home, call, "ask", QUESTION, *words)
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


# --- every strategy -------------------------------------------------------------------------------------------------

PLAN = """ {"steps": [{"id": "s1", "query": "When was the Eiffel Tower completed?", "depends_on": []},
{"id": "s2", "query": "Who was Gustave Eiffel?", "depends_on": []},
{"id": "s3", "query": "Who was US president on {s1.date}?", "depends_on": ["s1"]}]}"""
FOLLOW_UPS = "Follow up: When was the Eiffel Tower completed?", "Follow up: Who was US president in 1889?"
ENDINGS = {
    r"Plan:": PLAN,
    r"Thought (\d+):": " I look.\nAction NUMBER: ACTION\n",
    r"Action (\d+):": " ACTION\n",
    r"Thought:": " It was completed in 1889, and he was president then.\nAnswer: Benjamin Harrison",
    r"Question: When was the Eiffel Tower completed\?\nAnswer:": " 31 March 1889",
    r"(?:A|a)nswer(?: is)?:": " Benjamin Harrison",
    r"1889\.\nPassage.*\nReasoning:": " Benjamin Harrison was president in 1889, so the answer is: Benjamin Harrison",
    r"Reasoning:": " The Eiffel Tower was completed on 31 March 1889.",
    r"ask all\nfollow-up.*Follow up:": " When was the Eiffel Tower completed?\nFollow up: Who was US president on {1}?\n",
    r"Follow up:": FOLLOW_UPS[0].removeprefix("Follow up:"),
}
"""What a prompt ends with, and the reply to it, the first that fits."""


def by_the_end(body: Body) -> str:
    """The reply by what the prompt ends with; Self-Ask's next line where it ends with none of these."""
    prompt = body["prompt"].rstrip()
    for ending, reply in ENDINGS.items():
        if found := re.search(f"(?s:{ending})$", prompt):
            number = found[1] if found.lastindex else ""
            action = "Search[Eiffel Tower]" if number == "1" else "Finish[Benjamin Harrison]"
            return reply.replace("NUMBER", number).replace("ACTION", action)
    hops = prompt.rsplit("Question:", 1)[1].count("Intermediate answer:")
    return FOLLOW_UPS[1] if hops == 1 else "So the final answer is:"


@pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")
@pytest.mark.parametrize("strategy", [*TABLE, "plan-and-solve --param streaming=true"])
def test_any_strategy_killed_half_way_goes_on_without_repeating_a_finished_call(
    home: Path, capsys: pytest.CaptureFixture[str], strategy: str
) -> None:
    with StubServer(reply=by_the_end) as server:
        words = ("ask", QUESTION, "--model", f"{server.url}#stub", "--strategy", *strategy.split())
        assert main([*words, "--json"]) == 0
        whole, calls = json.loads(capsys.readouterr().out), len(server.posts)
        [reference] = (home / "runs").iterdir()
        server.posts.clear()
        half = (calls + 1) // 2
        server.faults.extend([*[slow(0)] * (half - 1), *[slow(30)] * calls])
        trace = killed(server, home, half, *words)
        done, finished = ended_for_good(read_trace(trace)), finished_calls(trace)
        server.posts.clear()
        server.faults.clear()
        assert main(["runs", "resume", trace.stem, "--json"]) == 0
        told, posts = json.loads(capsys.readouterr().out), len(server.posts)
    asked = outside(read_trace(home / "runs" / f"{told['run']}.jsonl"))
    assert told["answer"] == "Benjamin Harrison"
    assert (told["status"], told["ended"]) == (whole["status"], whole["ended"])
    assert not any(asked[identity] for identity in asked.keys() & done)
    gives_up = any(isinstance(e.body, Started) and isinstance(e.body.request, Cancel) for e in read_trace(reference))
    assert posts <= len(asked.keys() - done) if gives_up else posts == calls - finished


def killed(server: StubServer, home: Path, call: int, *words: str) -> Path:
    """Kill -9 a run while its call of that number waits for its reply and those before have theirs; its trace."""
    before, end = set((home / "runs").glob("*")), time.monotonic() + PATIENCE
    process = sleuth(*words)
    while process.poll() is None:
        new = set((home / "runs").glob("*")) - before
        if len(server.posts) >= call and max(map(finished_calls, new), default=0) >= call - 1:
            break
        assert time.monotonic() < end
        time.sleep(0.02)
    process.kill()
    _, err = process.communicate()
    assert process.returncode == -signal.SIGKILL, err
    [trace] = set((home / "runs").iterdir()) - before
    return trace


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
