"""A model whose calls are kept in a file and not made twice.

One line a call: ``{"call": "MODEL DIGEST", "reply": Completion, "seconds": 1.5}``. The digest is that of the whole request
(messages, temperature, which draw of the sample it is, stops, shape, tools), but for `closing`, which changes no reply.
Lines are only ever appended, each in one write that begins and ends with a line's end, so that a torn line spoils no
other and several processes may share the file.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary

import anyio

from sleuth.codec import digest, plain, restore
from sleuth.errors import BadInput
from sleuth.ports import Model, Pieces, Report
from sleuth.types import Completion, Generate, Message

NOTHING = 0.01
"""Seconds that are no waiting."""


class Cached:
    """Answers a call that was made before from the file, and tells what it took then; every other is made and kept.

    `place` is the file (.jsonl), or a folder for it. A hit is told as ``report("cache", ..., seconds=S)``, S being what
    the call took, retries and waits with it. Calls that fail are not kept. The same call made twice at once is made once; what the
    second waited is told (``queue``). A file that cannot be written or read is told once (``fault``): calls are then made.
    """

    def __init__(self, model: Model, place: Path) -> None:
        self._model = model
        self._calls = _Calls(place if place.suffix == ".jsonl" else place / "calls.jsonl")
        self._going: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        """The kept reply (its text in one piece), or the model's. Raises what the model raises."""
        key = f"{self.name} {digest(replace(request, closing=False))}"
        began = time.monotonic()
        async with self._going.setdefault(key, anyio.Lock()):
            if (waited := time.monotonic() - began) > NOTHING:
                report("queue", f"Waited {waited:.1f} s for the same call.", seconds=waited)
            if (kept := self._calls.find(key, report)) is not None:
                reply, seconds = kept
                report("cache", "Answered from the calls that are kept.", seconds=seconds)
                if pieces is not None and reply.text:
                    pieces(reply.text)
                return reply
            began = time.monotonic()
            reply = await self._model.generate(request, report=report, pieces=pieces)
            self._calls.keep(key, reply, time.monotonic() - began, report)
            return reply

    async def count(self, messages: Sequence[Message]) -> int:
        """The model's."""
        return await self._model.count(messages)

    def price(self, read: int, written: int) -> float:
        """The model's."""
        return self._model.price(read, written)

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


class _Calls:
    """The file: where each call's line stands is held, what it says is read when it is wanted."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._at: dict[str, tuple[int, int]] = {}
        self._read = 0
        self._faulty = False

    def find(self, key: str, report: Report) -> tuple[Completion, float] | None:
        """The reply and what it took in seconds; None where there is none that can be read."""
        if key not in self._at:
            self._catch_up(report)
        if key not in self._at:
            return None
        start, length = self._at[key]
        try:
            with self._file.open("rb") as lines:
                lines.seek(start)
                row = json.loads(lines.read(length))
            reply, seconds = restore(row["reply"]), float(row["seconds"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError, BadInput):  # damaged: it is asked again
            del self._at[key]
            return None
        sound = isinstance(reply, Completion) and isinstance(reply.text, str) and 0 <= seconds < math.inf
        return (reply, seconds) if sound else None

    def keep(self, key: str, reply: Completion, seconds: float, report: Report) -> None:
        """Add a call."""
        row = {"call": key, "reply": plain(reply), "seconds": round(seconds, 3)}
        data = f"\n{json.dumps(row, ensure_ascii=False)}\n".encode()
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab", buffering=0) as lines:
                lines.write(data)
        except OSError as fault:
            self._tell(fault, report)

    def _catch_up(self, report: Report) -> None:
        """Read the lines that are new, whoever wrote them, up to the last whole one."""
        try:
            with self._file.open("rb") as lines:
                lines.seek(self._read)
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    if (key := _key(line)) is not None:
                        self._at[key] = (self._read, len(line))
                    self._read += len(line)
        except FileNotFoundError:
            return
        except OSError as fault:
            self._tell(fault, report)

    def _tell(self, fault: OSError, report: Report) -> None:
        if not self._faulty:
            self._faulty = True
            report("fault", f"Model calls cannot be kept in {self._file}: {fault.strerror or fault}.")


def _key(line: bytes) -> str | None:
    """The call that a line holds; None where it is torn or something else."""
    try:
        key = json.loads(line)["call"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return key if isinstance(key, str) else None
