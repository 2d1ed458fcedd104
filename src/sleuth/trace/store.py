"""The folder of stored runs: ``RUN.jsonl`` each."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sleuth.codec import restore
from sleuth.errors import BadInput, SleuthError, UnknownName
from sleuth.events import Opened
from sleuth.trace.files import check_header, parse
from sleuth.trace.lines import Unpacker

_SUFFIX = ".jsonl"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_BLOCK = 64 * 1024


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a list of runs shows of one.

    `status` is the answer's, or ``interrupted`` (there is no `Closed`: the run was killed, or still goes on) or
    ``damaged`` (no trace that can be read). `when` is its beginning in seconds since the epoch, `size` in bytes,
    `resumes` the run that it goes on from.
    """

    run: str
    path: Path
    question: str = ""
    strategy: str = ""
    status: str = "interrupted"
    ended: str = ""
    answer: str = ""
    when: float = 0.0
    size: int = 0
    resumes: str = ""


class RunStore:
    """The runs in a folder, which need not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, run: str) -> Path:
        """Where the run's trace is or will be. Raises `BadInput` for an id that is no plain file name."""
        if not _NAME.fullmatch(run):
            raise BadInput(f"{run!r} cannot name a run: letters, digits, '.', '_' and '-' can.")
        return self.folder / f"{run}{_SUFFIX}"

    def runs(self) -> list[StoredRun]:
        """All runs, newest first. Reads only the beginning and the last line of each."""
        found = [summary for path in self._paths() if (summary := _summary(path)) is not None]
        return sorted(found, key=lambda run: (run.when, run.run), reverse=True)

    def find(self, prefix: str) -> StoredRun:
        """The run whose id is, or alone begins with, `prefix`. Raises `UnknownName`; `BadInput` when several do."""
        ids = sorted(path.name.removesuffix(_SUFFIX) for path in self._paths())
        found = [prefix] if prefix in ids else [run for run in ids if run.startswith(prefix)]
        if len(found) > 1:
            some = ", ".join(found[:10]) + (f" and {len(found) - 10} more" if len(found) > 10 else "")
            raise BadInput(f"{len(found)} runs begin with {prefix!r}: {some}.", hint="Give more of the id.")
        summary = _summary(self.path(found[0])) if found else None
        if summary is None:
            raise UnknownName(f"No run begins with {prefix!r} in {self.folder}.", hint="See `sleuth runs list`.")
        return summary

    def delete(self, prefix: str) -> StoredRun:
        """Delete that run's trace, and say what it was. Raises as `find` does."""
        run = self.find(prefix)
        run.path.unlink(missing_ok=True)
        return run

    def size(self) -> int:
        """Bytes of all traces."""
        return sum(run.stat().st_size for run in self._paths())

    def _paths(self) -> list[Path]:
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries if entry.is_file() and entry.name.endswith(_SUFFIX)]
        except FileNotFoundError:
            return []
        return [self.folder / name for name in names if _NAME.fullmatch(name.removesuffix(_SUFFIX))]


def _summary(path: Path) -> StoredRun | None:
    """None when the file has gone."""
    run = path.name.removesuffix(_SUFFIX)
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            header, first = file.readline(), file.readline()
            if not first.endswith(b"\n"):
                return StoredRun(run, path, size=size, when=os.fstat(file.fileno()).st_mtime)
            check_header(path, header)
            event = Unpacker().unpack(parse(first))
            last = _last_event(file, size)
    except FileNotFoundError:
        return None
    except (SleuthError, OSError, LookupError, TypeError, ValueError, AttributeError):
        return StoredRun(run, path, status="damaged")
    opened = event.body if isinstance(event.body, Opened) else Opened("")
    about = {key: value for key, value in opened.about.items() if isinstance(value, str)}
    names = {"strategy": about.get("strategy", ""), "resumes": about.get("resumes", "")}
    return StoredRun(run, path, opened.question, when=event.at, size=size, **names, **_ending(last))


def _ending(last: Any) -> dict[str, str]:
    """Status, ended and text of the answer in the `Closed` line, which holds them as they are."""
    try:
        body = last["body"]
        if body["~"] != "Closed":
            return {}
        answer = body["answer"]
        return {"status": answer["status"], "ended": answer["ended"], "answer": restore(answer["text"])}
    except (KeyError, TypeError):
        return {}


def _last_event(file: BinaryIO, size: int) -> Any:
    """The last whole line, found from the end."""
    data, position = b"", size
    while position > 0 and data.count(b"\n") < 2:
        step = min(_BLOCK, position)
        position -= step
        file.seek(position)
        data = file.read(step) + data
    *_, last, torn = data.split(b"\n")
    return parse(torn) or parse(last)
