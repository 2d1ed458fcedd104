"""One background thread with an event loop for the whole process, and jobs in it.

Blocking callers (scripts, notebook cells, other threads) and asynchronous ones hand their work to the same loop, so
the local model is loaded once. A forked child makes its own. Everything is closed when the process ends.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

import anyio

from sleuth.app.keep import CLOSING, Keep
from sleuth.errors import Cancelled, WrongUse

T = TypeVar("T")

PATIENCE = 5.0
"""Seconds a cancelled job has for writing its trace to the end; after that its models are killed."""


class Portal:
    """The background loop; `keep` holds the models that outlive a run. `submit` starts a job."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.keep = Keep()
        started: concurrent.futures.Future[asyncio.AbstractEventLoop] = concurrent.futures.Future()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), name="sleuth", daemon=True)
        self._thread.start()
        self._loop = started.result()

    async def _serve(self, started: concurrent.futures.Future[asyncio.AbstractEventLoop]) -> None:
        started.set_result(asyncio.get_running_loop())
        await self._stop.wait()

    @property
    def inside(self) -> bool:
        """Is the caller in the background loop itself?"""
        return threading.current_thread() is self._thread

    def submit(self, work: Callable[[Keep], Awaitable[T]]) -> Job[T]:
        """Start the work in the background loop. Raises `WrongUse` there, where waiting for it would never end."""
        if self.inside:
            raise WrongUse(
                "sleuth.ask was called from inside a run (a tool, a sink or a model).",
                hint="Use `fork` in a flow, or a sleuth.Engine of your own, for a question within a question.",
            )
        return Job(self, lambda: work(self.keep))

    def start(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start a coroutine in the loop; never blocks, even when the loop is stuck."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def soon(self, what: Callable[[], object]) -> None:
        """Call it in the loop, if that still runs; never blocks."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what)

    def close(self) -> None:
        """Free the models (their processes end) and stop the thread. May be called twice."""
        closing = self.keep.aclose()
        try:
            self.start(closing).result(CLOSING)
        except RuntimeError:
            closing.close()  # the loop is closed already
        except (TimeoutError, concurrent.futures.CancelledError):
            pass  # the loop is stuck; the models' processes end with this one
        self.soon(self._stop.set)
        self._thread.join(CLOSING)

    def abandon(self) -> None:
        """A job did not end in time: end what the models hold, and let the next caller make a new portal."""
        _forget(self)
        self.keep.kill()


class Job(Generic[T]):
    """Work in the background loop: wait for it from a thread (`result`) or a task (`outcome`), or cancel it."""

    def __init__(self, portal: Portal, what: Callable[[], Awaitable[T]]) -> None:
        self.future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self.future.set_running_or_notify_cancel()  # so that only `cancel` below can end it
        self._portal = portal
        self._scope: anyio.CancelScope | None = None
        self._stopping = False
        self._task = portal.start(self._work(what))

    async def _work(self, what: Callable[[], Awaitable[T]]) -> None:
        """Run in the loop; the future gets the value, the exception, or `Cancelled`."""
        try:
            with anyio.CancelScope() as self._scope:
                self._halt_if_asked()
                self.future.set_result(await what())
        except Exception as error:  # noqa: BLE001  whatever it is, the one who waits gets it
            self._fail(error)
        except BaseException:  # whatever it is, it is raised again
            self._fail(Cancelled("The run was cancelled: Sleuth is closing."))
            raise
        if not self.future.done():
            self.future.set_exception(Cancelled("The run was cancelled."))

    def cancel(self) -> None:
        """Ask the work to stop, from any thread."""
        self._stopping = True
        self._portal.soon(self._halt_if_asked)

    def result(self) -> T:
        """Wait in this thread. Ctrl-C cancels the work and waits for it: `PATIENCE` seconds, or until a second Ctrl-C."""
        try:
            while not concurrent.futures.wait((self.future,), timeout=0.5).done:
                pass  # a wait without end could not be interrupted on Windows
            return self.future.result()
        except KeyboardInterrupt:
            self.end()
            raise

    def end(self) -> None:
        """Cancel the work if it still runs, and wait for it in this thread: `PATIENCE` seconds, or until a Ctrl-C."""
        self.cancel()
        with contextlib.suppress(KeyboardInterrupt):
            concurrent.futures.wait((self.future,), timeout=PATIENCE)
        self._abandoned_if_late()

    async def outcome(self) -> T:
        """Wait in an asyncio task; when that is cancelled, the work is, and is waited for."""
        try:
            await self._told().wait()
        except asyncio.CancelledError:
            await self.stop()
            raise
        return self.future.result()

    async def stop(self) -> None:
        """Cancel the work if it still runs, and wait until it has ended (`PATIENCE` seconds at most)."""
        if self.future.done():
            return
        self.cancel()
        try:
            with anyio.CancelScope(shield=True), anyio.move_on_after(PATIENCE):
                await self._told().wait()
        finally:
            self._abandoned_if_late()

    def _told(self) -> asyncio.Event:
        """Set in the caller's loop once the work has ended."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def tell(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the caller's loop is closed: nobody waits any more
                loop.call_soon_threadsafe(ended.set)

        self.future.add_done_callback(tell)
        return ended

    def _halt_if_asked(self) -> None:
        if self._stopping and self._scope is not None:
            self._scope.cancel()

    def _fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def _abandoned_if_late(self) -> None:
        if not self.future.done():
            self._portal.abandon()


_lock = threading.Lock()
_current: Portal | None = None
_watching_forks = False


def portal() -> Portal:
    """The process's portal; made at first use, and anew in a forked child."""
    global _current, _watching_forks
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = Portal()
            atexit.register(_close, _current)
        if not _watching_forks and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_reborn)
            _watching_forks = True
        return _current


def _reborn() -> None:
    """In a forked child: the parent's thread is not here, and its lock may be held for ever."""
    global _current, _lock
    _current, _lock = None, threading.Lock()


def _forget(old: Portal) -> None:
    global _current
    with _lock:
        if _current is old:
            _current = None


def _close(old: Portal) -> None:
    if old.pid == os.getpid():
        _forget(old)
        old.close()
