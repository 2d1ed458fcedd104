"""A lock on an open file that ends with the process that holds it, on every system."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from sleuth.errors import BadInput, EnvironmentFault

_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


def try_lock(descriptor: int) -> bool:
    """Take the lock if nobody has it. Raises OSError where the file system knows no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 100, os.SEEK_SET)  # beyond what the holder writes, which others must be able to read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as failure:
        if failure.errno in _HELD:
            return False
        raise
    return True


@contextlib.contextmanager
def held(file: Path, doing: str, hint: str) -> Iterator[None]:
    """Hold the lock file, made with its folder. Raises `BadInput` while another process does; `doing` says what it does then.

    Raises `EnvironmentFault` where it cannot be made.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = file.open("a+b")
    except OSError as fault:
        raise EnvironmentFault(
            f"The folder {file.parent} cannot be written: {fault.strerror or fault}.", hint=hint
        ) from fault
    with lock:
        if not try_lock(lock.fileno()):
            holder = os.pread(lock.fileno(), 20, 0).decode("ascii", "replace").strip() if hasattr(os, "pread") else ""
            raise BadInput(
                f"Another process{f' ({holder})' if holder.isdigit() else ''} {doing}.",
                hint=f"Wait until it has finished. {hint}",
            )
        os.ftruncate(lock.fileno(), 0)
        os.write(lock.fileno(), str(os.getpid()).encode())
        yield
