"""What people say of runs: FOLDER/labels.jsonl, one line a verdict, the last of a person about a run counting."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from sleuth.bench.errors.rules import MEANING, Kind
from sleuth.bench.folder import BenchFolder, Cell, Run

Key: TypeAlias = tuple[Cell, str]
"""A cell and a question's id."""


@dataclass(frozen=True, slots=True)
class Label:
    """A person's verdict on a run; `kind` "" takes an earlier one back."""

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
    """Add it to the file, and see it on the disk."""
    with _file(folder).open("ab") as file:
        file.write(json.dumps(asdict(label), ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def take_back(folder: BenchFolder, run: Run, by: str) -> None:
    """Forget what that person said of that run."""
    cell = run.cell
    put_label(folder, Label(cell.task, cell.model, cell.method, run.question.id, "", by))


def labels(folder: BenchFolder) -> Mapping[str, Mapping[Key, Label]]:
    """Each person's labels. A torn or foreign line is passed over."""
    found: dict[str, dict[Key, Label]] = {}
    path = _file(folder)
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            label = Label(**json.loads(line))
        except (ValueError, TypeError):
            continue
        if label.kind in MEANING:
            found.setdefault(label.by, {})[label.key] = label
        else:
            found.get(label.by, {}).pop(label.key, None)
    return found


def _file(folder: BenchFolder) -> Path:
    return folder.folder / "labels.jsonl"
