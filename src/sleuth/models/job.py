"""Work in a thread of its own that tells how far it is and can be told to stop; and a lock between processes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import anyio

from sleuth.locks import try_lock

T = TypeVar("T")

LOOK_SECONDS = 0.1
LEAVE_SECONDS = 5.0


class NotThere(Exception):
    """What was to be fetched cannot be had from there."""


class Stopped(Exception):
    """The work was told to stop."""


class Job:
    """What the thread and its watcher share."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.state = (0, 0, "")

    def tell(self, done: int, total: int, what: str) -> None:
        """Say how far the work is. Raises `Stopped` when it is no longer wanted."""
        self.check()
        self.state = (done, total, what)

    def check(self) -> None:
        if self.stop.is_set():
            raise Stopped

    def pause(self, seconds: float) -> None:
        """Sleep, unless told to stop."""
        self.stop.wait(seconds)
        self.check()


async def aside(work: Callable[[Job], T], progress: Callable[[int, int, str], None]) -> T:
    """Run the work in a daemon thread, pass on its progress from here, and stop it when this task is cancelled.

    A daemon thread, since leaving Python must not wait for a network that does not answer.
    """
    job, results, faults = Job(), [], []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work(job))
        except BaseException as error:  # noqa: BLE001 - raised again by the watcher, in its own task
            faults.append(error)
        done.set()

    threading.Thread(target=run, daemon=True).start()
    shown = job.state
    try:
        while not done.is_set() or job.state != shown:
            if job.state != shown:
                shown = job.state
                progress(*shown)
            if not done.is_set():
                await anyio.sleep(LOOK_SECONDS)
    finally:
        job.stop.set()
        with anyio.move_on_after(LEAVE_SECONDS, shield=True):
            while not done.is_set():  # noqa: ASYNC110 - set by a thread
                await anyio.sleep(LOOK_SECONDS / 10)
    if faults:
        raise faults[0]
    return results[0]


class Lock:
    """A file locked for as long as the ``with`` lasts; the system frees it when the process dies."""

    def __init__(self, job: Job, path: Path) -> None:
        self._job = job
        self._path = path

    def __enter__(self) -> None:
        self._file = self._path.open("ab")
        try:
            while not try_lock(self._file.fileno()):
                self._job.tell(*self._job.state[:2], "waiting for another process that fetches it")
                self._job.pause(LOOK_SECONDS)
        except BaseException:  # whatever it is, it is raised again
            self._file.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
