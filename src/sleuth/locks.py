"""A lock on an open file that ends with the process that holds it, on every system."""

from __future__ import annotations

import errno
import os
import sys

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
