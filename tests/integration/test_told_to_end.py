"""SIGTERM and SIGHUP end a command as Ctrl-C does: the run is cancelled and its trace written to the end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.homes import private
from tests.support.stub_server import StubServer, slow

from sleuth.events import Closed
from sleuth.trace import read_trace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without asking it")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_the_run_is_cancelled_and_its_trace_says_so(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, number = private(monkeypatch, tmp_path), getattr(signal, name)
    before = signal.signal(number, signal.SIG_DFL)  # under nohup it is ignored, and the command would inherit that
    with StubServer() as server:
        server.faults.append(slow(30))
        command = (
            sys.executable,
            "-m",
            "sleuth",
            "ask",
            "Who?",
            "--model",
            f"{server.url}#stub",
            "--strategy",
            "standard",
        )
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                while not server.posts:
                    assert process.poll() is None
                    time.sleep(0.05)
                process.send_signal(number)
                _, err = process.communicate(timeout=20)
            finally:
                process.kill()
                signal.signal(number, before)
    [trace] = (home / "runs").iterdir()
    body = read_trace(trace)[-1].body
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    assert isinstance(body, Closed)
    assert body.answer.ended == "cancelled"
