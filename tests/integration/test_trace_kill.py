"""A writer killed at any moment leaves a trace that is readable to its last whole line."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sleuth.events import Noted
from sleuth.trace import Cassette, RunStore, read_trace

WRITER = """
import sys
from pathlib import Path
from sleuth.events import Event, Noted, Opened, Span
from sleuth.trace import TraceWriter

writer = TraceWriter(Path(sys.argv[1]))
writer(Event("r", 0, 0.0, Span("", 0), Opened("who?")))
print("begun", flush=True)
seq = 0
while True:
    seq += 1
    writer(Event("r", seq, 0.0, Span("", 0), Noted("漢字", f"{seq} " * 400)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is POSIX")
def test_a_killed_writer_leaves_a_readable_trace(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    moments = random.Random(7)
    for number in range(5):
        path = store.path(f"run{number}")
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(moments.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
        events = read_trace(path)
        assert [event.seq for event in events] == list(range(len(events)))
        assert all(isinstance(event.body, Noted) for event in events[1:])
        assert len(Cassette.read(path).events) == len(events)
    assert {run.status for run in store.runs()} == {"interrupted"}
