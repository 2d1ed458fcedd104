"""Kill -9 at any moment of a batch, again and again: the same command makes no finished call twice, and ends the same."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support.homes import private
from tests.support.stub_server import Body, StubServer, slow

from sleuth.events import Finished
from sleuth.trace import salvage
from sleuth.types import Completion

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")

PATIENCE = 60.0
"""Seconds in which a program must have come so far."""
COUNT = 12
QUESTIONS = [{"id": f"q/{n}", "question": f"In what year was the tower number {n} completed?"} for n in range(COUNT)]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    home = private(monkeypatch, tmp_path)
    Path("questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    return home


def reply(body: Body) -> str:
    """Three calls of Self-Ask: two follow-ups, then the year by the question's number."""
    asked = body["prompt"].rsplit("Question:", 1)[1]
    number = int(re.findall(r"tower number (\d+)", asked)[-1])
    hops = asked.count("Intermediate answer:")
    if hops == 0:
        return f" Yes.\nFollow up: Where does the tower {number} stand?"
    return f" Follow up: When was it built, in {number}?" if hops == 1 else f" So the final answer is: {1880 + number}"


def batch(server: StubServer, folder: str, *more: str, at_once: int = 1) -> subprocess.Popen[str]:
    words = ["ask", "--file", "questions.jsonl", "--model", f"{server.url}#stub", "--strategy", "self-ask", "--setting"]
    words += ["paper", "--output", folder, "--at-once", str(at_once), "--json", *more]
    command = [sys.executable, "-m", "sleuth", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def finished(process: subprocess.Popen[str], status: int = 0) -> list[dict[str, Any]]:
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, err
    return [json.loads(line) for line in out.splitlines()]


def timeless(rows: list[dict[str, Any]]) -> Any:
    """The rows without what differs from run to run."""
    return [{**row, "run": "", "trace": "", "usage": {**row["usage"], "seconds": 0}} for row in rows]


def unpaid(rows: list[dict[str, Any]]) -> Any:
    """The rows without their costs: a call that Ctrl-C cancelled is paid for, and made again."""
    return [{**row, "usage": {}} for row in timeless(rows)]


def requests(server: StubServer) -> Counter[str]:
    return Counter(json.dumps(post.body, sort_keys=True) for post in server.posts)


def kept_calls(folder: str) -> int:
    """Model calls whose reply stands in a trace, each question's in the fullest."""
    fullest: Counter[str] = Counter()
    for trace in Path(folder, "runs").glob("*"):
        values = [event.body.value for event in salvage(trace) if isinstance(event.body, Finished)]
        name = trace.name.removesuffix(".half")
        fullest[name] = max(fullest[name], sum(isinstance(value, Completion) for value in values))
    return fullest.total()


def until(server: StubServer, posts: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while len(server.posts) < posts and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.parametrize(("seed", "at_once"), [(1, 1), (2, 3), pytest.param(3, 1, marks=pytest.mark.slow)])
def test_a_batch_killed_at_random_moments_makes_no_finished_call_again_and_ends_the_same(
    seed: int, at_once: int
) -> None:
    chance = random.Random(seed)
    with StubServer(reply=reply) as server:
        whole = finished(batch(server, "whole", at_once=at_once))
        reference = requests(server)
        server.posts.clear()
        server.faults.extend([slow(0.02)] * 10_000)
        kills = kept = 0
        while kills < 5:
            before = len(server.posts)
            process = batch(server, "killed", at_once=at_once)
            until(server, before + chance.randint(1, 7), process)
            time.sleep(chance.uniform(0, 0.04))
            if process.poll() is not None:
                break
            process.kill()
            process.communicate()
            assert process.returncode == -signal.SIGKILL
            kills += 1
            assert kept_calls("killed") >= kept, "a kill lost calls that an earlier one had left"
            kept = kept_calls("killed")
            assert len(server.posts) - kept <= kills * at_once, "more was lost than was under way"
        server.faults.clear()
        posts = len(server.posts)
        again = finished(batch(server, "killed", at_once=at_once))
        assert len(server.posts) - posts == reference.total() - kept
    assert kills >= 3
    assert timeless(again) == timeless(whole)
    assert requests(server).keys() == reference.keys()
    assert len(list(Path("killed/runs").iterdir())) == COUNT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_stop_it_cleanly_and_the_same_command_goes_on(number: signal.Signals) -> None:
    with StubServer(reply=reply) as server:
        whole = finished(batch(server, "whole"))
        total, before = len(server.posts), len(server.posts)
        server.faults.extend([*[slow(0)] * 10, slow(30)])
        process = batch(server, "stopped")
        until(server, before + 11, process)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + number, err
        assert "3 of 12 questions" in err
        assert "same command goes on" in err
        rows = [json.loads(line) for line in Path("stopped/results.jsonl").read_text().splitlines()]
        assert timeless(rows) == timeless(whole[:3])
        server.faults.clear()
        posts = len(server.posts)
        again = finished(batch(server, "stopped"))
        assert len(server.posts) - posts == total - 10
    assert unpaid(again) == unpaid(whole)
    assert sum(row["usage"]["calls"] for row in again) == total + 1


def test_a_second_process_is_refused_while_the_first_lives_and_not_when_it_was_killed() -> None:
    with StubServer(reply=reply) as server:
        server.faults.append(slow(30))
        first = batch(server, "both")
        until(server, 1, first)
        second = batch(server, "both")
        _, err = second.communicate(timeout=PATIENCE)
        assert second.returncode == 2
        assert f"Another process ({first.pid})" in err
        assert len(server.posts) == 1
        first.kill()
        first.communicate()
        assert len(finished(batch(server, "both"))) == COUNT
