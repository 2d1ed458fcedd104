"""Kill -9 in the middle of a whole bench, and the same command again: no finished call is made twice, and nothing is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.homes import private
from tests.support.stub_server import Body, StubServer, broken, slow

from sleuth.bench.folder import BenchFolder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")

PATIENCE = 60.0
"""Seconds in which a program must have come so far."""
AT_ONCE = 3
"""Calls that may be under way: CoT-SC's samples."""
QUESTIONS = [
    {"id": f"q{n}", "question": f"In what year was the tower number {n} completed?", "answers": [str(1880 + n)]}
    for n in range(7)
]
WORDS = ("--library", "sample", "--strategy", "link-then-read", "--strategy", "self-ask:paper")
WORDS += ("--strategy", "cot-sc:paper:n=3", "--strategy", "cot-sc-then-react:paper:n=3:steps=2:shots=6", "--yes")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    home = private(monkeypatch, tmp_path)
    Path("questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    return home


def reply(body: Body) -> str:
    """A year by the question's number, in whatever form is asked for; chains of thought disagree about odd ones."""
    prompt = body["prompt"].rstrip()
    number = int(re.findall(r"tower number (\d)", prompt)[-1])
    year = 1880 + number if number % 3 else 1900
    if prompt.endswith("Thought:"):
        return f" It is known. So the answer is {year if number % 2 == 0 else body.get('seed', 0)}."
    if re.search(r"Thought \d:$", prompt):
        return f" I know it.\nAction 1: Finish[{year}]"
    if prompt.endswith("Are follow up questions needed here:"):
        return f" No.\nSo the final answer is: {year}"
    return f" {year}"


def bench(server: StubServer, folder: str, *more: str) -> subprocess.Popen[str]:
    words = ["bench", "run", "questions.jsonl", "--model", f"{server.url}#stub", "--output", folder, *WORDS, *more]
    command = [sys.executable, "-m", "sleuth", *words, "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def finished(process: subprocess.Popen[str], status: int = 0) -> Any:
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, err
    return json.loads(out.splitlines()[0]) if out else None


def killed_when(process: subprocess.Popen[str], ready: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def timeless(told: Any) -> Any:
    """What was told, without folder and seconds."""
    rows = [{**row, "model": "", "costs": {**row["costs"], "seconds": 0}} for row in told["tasks"][0]["rows"]]
    return json.loads(json.dumps(rows))


def requests(server: StubServer) -> Counter[str]:
    return Counter(json.dumps(post.body, sort_keys=True) for post in server.posts)


@pytest.mark.parametrize("moments", [(1,), (9, 4), (25,), (3, 3, 3)])
def test_a_bench_killed_in_the_middle_makes_no_finished_call_again_and_ends_the_same(moments: tuple[int, ...]) -> None:
    with StubServer(reply=reply) as server:
        whole = finished(bench(server, "whole"))
        reference = requests(server)
        server.posts.clear()
        for moment in moments:
            server.faults.clear()
            before = len(server.posts)
            server.faults.extend([*[slow(0)] * (moment - 1), slow(30)])
            killed_when(bench(server, "killed"), lambda: len(server.posts) >= before + moment)  # noqa: B023
        server.faults.clear()
        again = finished(bench(server, "killed"))
        made = requests(server)
    assert timeless(again) == timeless(whole)
    assert made.keys() == reference.keys()
    lost = made.total() - reference.total()
    assert len(moments) <= lost <= AT_ONCE * len(moments)  # each kill lost the calls that were under way, and no other
    assert all(row["done"] == row["asked"] == len(QUESTIONS) for row in again["tasks"][0]["rows"])


def test_a_finished_bench_asks_nothing_again_and_another_method_asks_only_what_is_new() -> None:
    with StubServer(reply=reply) as server:
        first = finished(bench(server, "bench"))
        posts = len(server.posts)
        assert timeless(finished(bench(server, "bench"))) == timeless(first)
        assert len(server.posts) == posts
        more = finished(bench(server, "bench", "--strategy", "standard"))
        assert len(server.posts) == posts + len(QUESTIONS)
    assert [row["method"] for row in more["tasks"][0]["rows"]][-1] == "standard"
    assert timeless(more)[:-1] == timeless(first)


def test_a_model_that_dies_stops_the_bench_with_a_message_and_the_same_command_goes_on() -> None:
    with StubServer(reply=reply) as server:
        whole = finished(bench(server, "whole"))
        server.posts.clear()
        server.faults.extend([*[slow(0)] * 10, *[broken(400)] * 200])
        process = bench(server, "dying")
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 3, err
        assert "answers no more" in err
        assert "same command" in err
        assert len(server.posts) < 40
        server.faults.clear()
        again = finished(bench(server, "dying"))
    assert timeless(again) == timeless(whole)


def test_a_changed_plan_is_refused_and_names_the_difference() -> None:
    with StubServer(reply=reply) as server:
        finished(bench(server, "bench"))
        process = bench(server, "bench", "--calls", "2")
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert "budget" in err
    assert BenchFolder(Path("bench")).plan().about["budget"]["calls"] is None
