"""Ctrl-C: the run is cancelled within a second, the trace says so, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.homes import private
from tests.support.stub_server import Fault, StubServer, slow

from sleuth.events import Closed
from sleuth.trace import read_trace
from sleuth.types import Answer

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return private(monkeypatch, tmp_path)


def until(true: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def closing_answer(path: Path) -> Answer:
    body = read_trace(path)[-1].body
    assert isinstance(body, Closed)
    return body.answer


def start(*command: str) -> subprocess.Popen[str]:
    """A process that hears Ctrl-C, also where the tests themselves do not (a shell's background job ignores it)."""
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, heard)


def test_ctrl_c_in_a_script_cancels_waits_and_raises_and_the_next_ask_works(home: Path) -> None:
    process = start(str(ROOT / "tests" / "support" / "asking.py"), "wait")
    runs = home / "runs"
    until(lambda: runs.is_dir() and any("Started" in path.read_text() for path in runs.iterdir()))
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert out.split() == ["asking", "interrupted", "again", "soon"], err
    assert process.returncode == 130
    assert time.monotonic() - began < 5
    ended = sorted(closing_answer(path).ended for path in runs.iterdir())
    assert ended == ["cancelled", "final_answer"]


def test_ctrl_c_on_the_command_line_is_status_130_and_tells_where_the_trace_is(home: Path) -> None:
    with StubServer() as server:
        server.faults.append(slow(30))
        words = ("ask", "Who was it?", "--model", f"{server.url}#stub", "--strategy", "standard")
        process = start("-m", "sleuth", *words)
        until(lambda: server.posts)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        until(lambda: server.aborted, seconds=3)
        assert server.aborted[0] - began < 1.0
        out, err = process.communicate(timeout=20)
    [trace] = (home / "runs").iterdir()
    assert process.returncode == 130, err
    assert str(trace) in err
    assert "Cancelled." in err
    assert "Traceback" not in err
    assert out == ""
    assert closing_answer(trace).ended == "cancelled"


def test_ctrl_c_in_a_comparison_shows_what_is_finished_and_keeps_every_trace(home: Path) -> None:
    with StubServer(reply=" 1889") as server:
        server.faults.extend([Fault(), slow(30)])
        words = ("compare", "Who was it?", "--model", f"{server.url}#stub", "--strategies", "standard,standard,react")
        process = start("-m", "sleuth", *words)
        until(lambda: len(server.posts) == 2)
        process.send_signal(signal.SIGINT)
        until(lambda: server.aborted, seconds=3)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert out.count("  1889") == 1
    assert "failed, cancelled" in out
    assert "react\n  No answer.\n  waiting" in out
    assert "Interrupted; what there is so far:" in err
    assert "Traceback" not in err
    assert sorted(closing_answer(path).ended for path in (home / "runs").iterdir()) == ["cancelled", "final_answer"]


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m sleuth strategies list --json | head -c 1"
    told = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=30, check=False)
    assert told.stderr == ""
