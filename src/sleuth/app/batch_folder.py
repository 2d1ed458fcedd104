"""A batch on disk: what is asked and how, the questions, and a trace for each.

FOLDER/batch.json             strategy, parameters, model, library, budget: what must stay the same
FOLDER/questions.jsonl        every question asked so far: id, question
FOLDER/runs/QUESTION.jsonl    its trace
FOLDER/results.jsonl          a line a question (see `sleuth.cli.batch`)
FOLDER/lock                   held by the process that asks
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sleuth.bench.folder import own_name
from sleuth.errors import BadInput
from sleuth.locks import held

VERSION = 1
ELSEWHERE = "Name another folder: --output FOLDER"
SHOWN = 100
"""Characters of a value that an error shows."""

Questions = Sequence[tuple[str, str]]
"""Ids and texts, in order; ids are unique."""


class BatchFolder:
    """The folder of a batch: new, or one that the same settings go on with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def trace(self, key: str) -> Path:
        """Where the trace of that question is or will be."""
        return self.folder / "runs" / f"{own_name(key)}.jsonl"

    @property
    def results(self) -> Path:
        """The answers, a line each."""
        return self.folder / "results.jsonl"

    def check(self, about: Mapping[str, Any], questions: Questions) -> dict[str, str]:
        """Every question asked here so far, with these. Raises `BadInput` where the folder holds another batch, saying how."""
        kept = self._about()
        if kept is not None and (differs := difference(kept, about)):
            raise BadInput(f"The batch in {self.folder} was asked otherwise: {differs}.", hint=ELSEWHERE)
        asked = self._questions()
        for key, text in questions:
            if asked.setdefault(key, text) != text:
                raise BadInput(
                    f"The question '{key}' of the batch in {self.folder} reads otherwise: {_cut(asked[key])}, now {_cut(text)}.",
                    hint=ELSEWHERE,
                )
        return asked

    @contextlib.contextmanager
    def held(self, about: Mapping[str, Any], questions: Questions) -> Iterator[None]:
        """Keep what is asked in the folder, and other processes out of it. Raises `BadInput`, `EnvironmentFault`."""
        with held(self.folder / "lock", f"is asking the questions in {self.folder}", ELSEWHERE):
            (self.folder / "runs").mkdir(exist_ok=True)
            asked = self.check(about, questions)
            rows = [json.dumps({"id": key, "question": text}, ensure_ascii=False) for key, text in asked.items()]
            _write(self.folder / "questions.jsonl", rows)
            _write(self.folder / "batch.json", [json.dumps({"version": VERSION, "about": about}, ensure_ascii=False)])
            yield

    def _about(self) -> Mapping[str, Any] | None:
        """What the folder was begun with; None where nothing was."""
        file = self.folder / "batch.json"
        try:
            told = json.loads(file.read_text(encoding="utf-8"))
            if told["version"] > VERSION:
                raise BadInput(f"{file} was written by a newer Sleuth.", hint="Use that one.")
            about = told["about"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as fault:
            raise BadInput(f"{file} is damaged: {fault}.", hint=ELSEWHERE) from fault
        if not isinstance(about, Mapping):
            raise BadInput(f"{file} is damaged.", hint=ELSEWHERE)
        return about

    def _questions(self) -> dict[str, str]:
        file = self.folder / "questions.jsonl"
        try:
            rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
            return {str(row["id"]): str(row["question"]) for row in rows}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as fault:
            raise BadInput(f"{file} is damaged: {fault}.", hint=ELSEWHERE) from fault


def difference(there: Any, now: Any, name: str = "") -> str:
    """The first thing that differs, by its name: "params.k was 3, now 5"; "" where nothing does."""
    if isinstance(there, Mapping) and isinstance(now, Mapping):
        for key in sorted({*there, *now}):
            if found := difference(there.get(key), now.get(key), f"{name}.{key}" if name else str(key)):
                return found
        return ""
    return "" if there == now else f"{name} was {_cut(there)}, now {_cut(now)}"


def _cut(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _write(file: Path, rows: Sequence[str]) -> None:
    """All of it or nothing."""
    half = file.with_name(file.name + ".half")
    half.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    half.replace(file)
