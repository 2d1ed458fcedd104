"""What people say of runs: FOLDER/labels.jsonl, one line a verdict, the last of a person about a run counting."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TypeAlias

from sleuth.bench.errors.rules import MEANING, Kind
from sleuth.bench.folder import BenchFolder, Cell, Run

Key: TypeAlias = tuple[Cell, str]
"""A cell and a question's id."""


SEEN = "after the rules"
"""Note of a label that was given when the rules' verdict had been shown: a correction, which no agreement counts."""


@dataclass(frozen=True, slots=True)
class Label:
    """A person's verdict on a run; `kind` "" takes an earlier one back. `note` "" says that it was given blind."""

    task: str
    model: str
    method: str
    question: str
    kind: Kind | str
    by: str
    note: str = ""

    @property
    def key(self) -> Key:
        """The run it is about."""
        return Cell(self.task, self.model, self.method), self.question


def put_label(folder: BenchFolder, label: Label) -> None:
    """Add it to the file, and see it on the disk. A line that was cut off before it stays a line of its own."""
    with _file(folder).open("a+b") as file:
        if file.seek(0, os.SEEK_END) and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
            file.write(b"\n")
        file.write(json.dumps(asdict(label), ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def take_back(folder: BenchFolder, run: Run, by: str) -> None:
    """Forget what that person said of that run."""
    cell = run.cell
    put_label(folder, Label(cell.task, cell.model, cell.method, run.question.id, "", by))


def labels(folder: BenchFolder, *, corrected: bool = False) -> Mapping[str, Mapping[Key, Label]]:
    """Each person's labels: those given blind, or with `corrected` the last of all. A torn or foreign line is passed over."""
    found: dict[str, dict[Key, Label]] = {}
    path = _file(folder)
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        label = _label(line)
        if label is None or (label.note == SEEN and not corrected):
            continue
        mine = found.setdefault(label.by, {})
        if label.kind:
            mine[label.key] = label
        else:
            mine.pop(label.key, None)
    return {name: mine for name, mine in found.items() if mine}


def _label(line: bytes) -> Label | None:
    """The label of a line; None where it is none."""
    try:
        row = json.loads(line)
        label = Label(**row)
    except (ValueError, TypeError, RecursionError):
        return None
    fine = all(isinstance(getattr(label, field.name), str) for field in fields(label))
    return label if fine and (not label.kind or label.kind in MEANING) else None


def _file(folder: BenchFolder) -> Path:
    return folder.folder / "labels.jsonl"
