"""The process that holds the embedded model, seen from outside: started, awaited, killed.

Not bound to an event loop: a plain `subprocess.Popen` whose output is read by daemon threads, so that one model
serves successive runs, and cancelling a run never waits for a load.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import re
import secrets
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from pathlib import Path
from typing import IO, Any, cast

import anyio

from sleuth.errors import BadInput, ModelError
from sleuth.models.machine import free_memory

INSTALL = "pip install 'sleuth-qa[local]'"
LOG_LINES = 200
POLL_SECONDS = 0.02
_NO_MEMORY = re.compile(
    r"alloc\w* .{0,60}fail|fail\w* to .{0,20}alloc|(unable|cannot|could not|can't) .{0,20}alloc|bad_?alloc"
    r"|(out of|not enough|insufficient) memory",
    re.IGNORECASE,
)

_children: weakref.WeakSet[Child] = weakref.WeakSet()
_watching = False


def check_file(path: Path) -> None:
    """Raise `BadInput` unless this is a GGUF file that can be read, `ModelError` when memory cannot hold it."""
    hint = "See `sleuth models list`, or fetch one with `sleuth models pull`."
    if not path.is_file():
        raise BadInput(f"There is no model file {path}.", hint=hint)
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise BadInput(f"The model file {path} cannot be read: {error.strerror}.", hint=hint) from error
    if magic != b"GGUF":
        raise BadInput(f"{path} is not a GGUF model file: it does not begin with 'GGUF'.", hint=hint)
    need, free = path.stat().st_size * 6 // 5, free_memory()  # the weights are copied into another layout
    if free is not None and free < need:
        raise ModelError(
            f"Not enough memory for {path.name}: it needs about {need >> 20:,} MB and {free >> 20:,} MB are free.",
            hint="Close other programs, or choose a smaller model.",
        )


class Child:
    """One process with one model loaded. `log` is the last of what llama.cpp said, `closed` whether we ended it.

    `window` is the tokens a prompt and its reply may have, `opening` the tokens that every prompt begins with; both
    are learnt from the process once it is `loaded`.
    """

    def __init__(self, path: Path, *, threads: int, context: int, slots: int, batch: int) -> None:
        spec = importlib.util.find_spec("xllamacpp")
        if spec is None or spec.origin is None:
            raise BadInput(
                "The embedded model needs the package xllamacpp, which is not installed.", hint=f"Install it: {INSTALL}"
            )
        self.key = secrets.token_urlsafe(32)
        self.address = ""
        self.closed = False
        self.loaded = False
        self.window = context
        self.opening: tuple[int, ...] = ()
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self._path = path
        self._owner = os.getpid()
        self._told: dict[str, Any] | None = None
        settings = {
            "path": str(path.resolve()),
            "key": self.key,
            "threads": threads,
            "context": context,
            "slots": slots,
            "batch": batch,
            "import_from": [str(Path(spec.origin).parent.parent)],
        }
        self._start(json.dumps(settings).encode() + b"\n")

    def _start(self, settings: bytes) -> None:
        own_group: dict[str, Any] = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}
        self._process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - our own file, by our own interpreter
            [sys.executable, "-P", str(Path(__file__).with_name("local_child.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # no locks that a fork could copy in their locked state
            env={"OMP_WAIT_POLICY": "passive", **os.environ},
            **own_group,
        )
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, self._stdout, self._stderr = cast("tuple[IO[bytes], IO[bytes], IO[bytes]]", pipes)
        _watch(self)
        for target in (self._hear, self._keep_log):
            threading.Thread(target=target, daemon=True).start()
        with contextlib.suppress(OSError):  # it ended at once: `ready` says why
            self._stdin.write(settings)

    def _hear(self) -> None:
        with self._stdout as pipe:
            line = pipe.readline()
        self._told = json.loads(line) if line.endswith(b"\n") else {}

    def _keep_log(self) -> None:
        rest = b""
        with self._stderr as pipe:
            while block := pipe.read(1 << 16):
                *lines, rest = (rest + block).split(b"\n")
                self.log.extend(line.decode("utf-8", "replace").rstrip() for line in lines)
                rest = rest[-1000:]

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    @property
    def alive(self) -> bool:
        """Whether it runs, and is ours: in a forked process it is not."""
        return self._owner == os.getpid() and self._process.poll() is None

    async def ready(self) -> None:
        """Wait until the model is loaded. Raises `ModelError` when it cannot be."""
        while self._told is None:  # noqa: ASYNC110 - told by a thread, to whichever event loops wait
            await anyio.sleep(POLL_SECONDS)
        if self._told.get("address"):
            self.address = self._told["address"]
            return
        await anyio.sleep(POLL_SECONDS)  # its last words are still being read
        self.kill()
        raise ModelError(
            self._why_not_loaded(), hint="Check the file with `sleuth models pull`, or choose another model."
        )

    def _why_not_loaded(self) -> str:
        words = " ".join(self.log)
        told = (self._told or {}).get("error", "")
        failed = f"The model {self._path.name} could not be loaded"
        if _NO_MEMORY.search(words) or "memory" in told.lower():
            return f"{failed}: there is not enough memory. {self.last_words()}".strip()
        if self.ended_by() == "signal 9":
            free = free_memory()
            left = f" ({free >> 20:,} MB are free now)" if free is not None else ""
            return f"{failed}: its process was killed, by someone or by the system for want of memory{left}."
        return f"{failed}: {told or self.ended_by()}. {self.last_words()}".strip()

    def ended_by(self) -> str:
        """How the process ended: "signal 9", "exit status 1"; "" while it runs."""
        code = self._process.poll()
        if code is None:
            return ""
        return f"signal {-code}" if code < 0 else f"exit status {code}"

    def last_words(self) -> str:
        """The last errors of the log, for an error's text."""
        lines = [line for line in self.log if " E " in line or "error" in line.lower() or "failed" in line.lower()]
        return "It said: " + " / ".join(line[:200] for line in lines[-3:]) if lines else ""

    async def settle(self, seconds: float = 1.0) -> bool:
        """Whether the process has ended, giving it a moment when it has just hung up."""
        end = time.monotonic() + seconds
        while self.alive and time.monotonic() < end:  # noqa: ASYNC110 - a process has no event to wait for
            await anyio.sleep(POLL_SECONDS)
        return not self.alive

    def kill(self) -> None:
        """End it at once. In a forked process this only forgets it."""
        if self._owner != os.getpid():
            self.forget()
            return
        self.closed = self._process.poll() is None
        self._process.kill()
        self._process.wait()
        self._stdin.close()

    def forget(self) -> None:
        """In a forked process: close our copies of its pipes, so that it still sees its parent end."""
        self._process.returncode = 0
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()


def _watch(child: Child) -> None:
    global _watching  # once a process, and only when there is a child
    if not _watching:
        _watching = True
        atexit.register(_kill_all)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forget_all)
    _children.add(child)


def _kill_all() -> None:
    for child in list(_children):
        child.kill()


def _forget_all() -> None:
    for child in list(_children):
        child.forget()
    _children.clear()
