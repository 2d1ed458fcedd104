"""The trace file: a header line, then one JSON line an event."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from sleuth.errors import BadInput, EnvironmentFault, SleuthError
from sleuth.events import Closed, Delta, Event
from sleuth.trace.lines import Packer, Unpacker

VERSION = 1
"""Of the format. A reader reads its own version and older ones."""

_HEADER = b'{"trace":"sleuth","version":%d}\n' % VERSION


class TraceWriter:
    """A sink that writes a trace file, each event handed to the operating system before the next.

    Makes the folder; the file is for its owner alone (mode 0600). Raises `BadInput` when the file exists and
    `EnvironmentFault` when it cannot be made. `Delta` is not kept. `Closed` closes the file.

    A sink must not raise, so when the disk fills up the run goes on without its trace: `fault` then holds the error,
    `on_fault` was called with it once (without one it is logged), and the file ends with the last whole event.
    """

    def __init__(self, path: Path, *, on_fault: Callable[[EnvironmentFault], None] | None = None) -> None:
        self.path = path
        self.fault: EnvironmentFault | None = None
        self._on_fault = on_fault or _log
        self._packer = Packer()
        self._size = 0
        self._file: BinaryIO | None = _create(path)
        try:
            self._append(self._file, _HEADER)
        except OSError as fault:
            self.close()
            path.unlink(missing_ok=True)
            raise _unwritable(path, fault) from fault

    def __call__(self, event: Event) -> None:
        """Write the event."""
        if self._file is None or isinstance(event.body, Delta):
            return
        try:
            self._append(self._file, dump(self._packer.pack(event)))
        except OSError as fault:
            self._give_up(_unwritable(self.path, fault))
        except Exception as fault:  # noqa: BLE001 - a sink must not raise, and a value's own repr or hash may
            text = (
                f"Event {event.seq} ({type(event.body).__name__}) cannot be stored in the trace {self.path}: {fault!r}."
            )
            self._give_up(EnvironmentFault(text, hint="The run goes on without its trace."))
        if isinstance(event.body, Closed):
            self.close()

    def close(self) -> None:
        """Close the file; later events are dropped. May be called twice."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # what could be written is written
                file.close()

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, file: BinaryIO, data: bytes) -> None:
        """Write all of it or, as far as the system allows, nothing."""
        view = memoryview(data)
        try:
            while view:
                view = view[file.write(view) :]
        except OSError:
            os.ftruncate(file.fileno(), self._size)
            raise
        self._size += len(data)

    def _give_up(self, fault: EnvironmentFault) -> None:
        self.fault = fault
        self.close()
        self._on_fault(fault)


def _create(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as fault:
        if isinstance(fault, FileExistsError) and path.exists():
            raise BadInput(f"The trace {path} exists already.", hint="Name another file, or delete it.") from fault
        raise _unwritable(path, fault) from fault
    return open(descriptor, "wb", buffering=0)


def _unwritable(path: Path, fault: OSError) -> EnvironmentFault:
    return EnvironmentFault(
        f"The trace {path} cannot be written: {fault.strerror or fault}.",
        hint="Free some space or name a trace file elsewhere; a run that has begun goes on without its trace.",
        errno=fault.errno,
    )


def _log(fault: EnvironmentFault) -> None:
    logging.getLogger("sleuth.trace").error("%s", fault)


def dump(value: Any) -> bytes:
    """A line of the file."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


# --- reading ----------------------------------------------------------------------------------------------------


def read_trace(path: Path) -> list[Event]:
    """The events of a trace file, up to its last whole line: a torn last line (the writer was killed) is left out.

    Raises `BadInput`, naming file and line, when the file is missing, is no trace, is damaged, or was written by a
    newer version.
    """
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise BadInput(f"The trace {path} cannot be read: {fault.strerror or fault}.") from fault
    return list(_events(path, data))


def salvage(path: Path) -> list[Event]:
    """The events of a trace up to the first line that is damaged (the power was cut); none of a file that is no trace."""
    found: list[Event] = []
    with contextlib.suppress(BadInput, OSError):
        for event in _events(path, path.read_bytes()):
            found.append(event)
    return found


def _events(path: Path, data: bytes) -> Iterator[Event]:
    lines = data.split(b"\n")
    torn = lines.pop()  # b"" after the last whole line
    if not lines and _HEADER.startswith(torn):
        return
    if not lines or isinstance(parse(torn), dict):  # only the line's end is missing
        lines.append(torn)
    check_header(path, lines[0])
    unpacker, last = Unpacker(), -1
    for number, line in enumerate(lines[1:], start=2):
        event = _event(path, number, line, unpacker)
        if event.seq <= last:
            raise _damaged(path, number, f"event {event.seq} comes after event {last}")
        last = event.seq
        yield event


def check_header(path: Path, line: bytes) -> None:
    """Raise `BadInput` unless this is the first line of a trace that can be read."""
    header = parse(line)
    if not isinstance(header, dict) or header.get("trace") != "sleuth" or type(header.get("version")) is not int:
        raise BadInput(
            f"{path} is not a trace (its first line should be {_HEADER.decode().strip()}).",
            hint="`sleuth runs list` shows the stored runs.",
        )
    if header["version"] > VERSION:
        raise BadInput(
            f"{path} was written by a newer Sleuth (trace format {header['version']}; this one reads up to {VERSION}).",
            hint="Upgrade it: pip install --upgrade sleuth-qa",
            newer=True,
        )


def _event(path: Path, number: int, line: bytes, unpacker: Unpacker) -> Event:
    value = parse(line)
    if not isinstance(value, dict):
        raise _damaged(path, number, "it is not a JSON object")
    try:
        return unpacker.unpack(value)
    except SleuthError as fault:
        raise _damaged(path, number, str(fault)) from fault
    except KeyError as fault:
        raise _damaged(path, number, f"there is no {fault}") from fault
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as fault:
        raise _damaged(path, number, str(fault)) from fault


def _damaged(path: Path, number: int, what: str) -> BadInput:
    text = f"The trace {path} is damaged at line {number}: {what.rstrip('.')}."
    return BadInput(text, hint="The lines before it can be kept: cut the file there.", file=str(path), line=number)


def parse(line: bytes) -> Any:
    """The line's JSON value; None for anything else."""
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
