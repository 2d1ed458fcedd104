"""A tool that never ends holds up neither Ctrl-C nor the end of the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.homes import private

from sleuth.events import Closed
from sleuth.trace import read_trace

PROGRAM = """
import sys, time, sleuth

def never() -> str:
    "Take for ever."
    print("begun", flush=True)
    time.sleep(600)
    return ""

def flow(question):
    result = yield from sleuth.call("never")
    return sleuth.Answer(result.text, "answered", "final_answer")

tool = sleuth.tool(never, timeout=float(sys.argv[1]))
answer = sleuth.ask("When?", strategy=flow, model=sleuth.Script([]), library=sleuth.Shelf({}), tools=[tool])
print(answer.status, answer.note, flush=True)
"""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def start(timeout: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(timeout)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_reaches_a_run_that_waits_for_a_tool(home: Path) -> None:
    process = start(500)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert "KeyboardInterrupt" in err
    [trace] = (home / "runs").iterdir()
    body = read_trace(trace)[-1].body
    assert isinstance(body, Closed)
    assert body.answer.ended == "cancelled"


def test_a_program_ends_while_a_tool_that_was_given_up_still_works() -> None:
    process = start(0.3)
    out, err = process.communicate(timeout=20)
    assert out == "begun\nfailed The tool never took longer than 0.3 s.\n"
    assert (process.returncode, err) == (0, "")
