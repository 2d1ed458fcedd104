"""A bench on disk: what is asked, the questions with their gold, the model's calls, and a trace for each run.

    FOLDER/bench.json                            the plan: tasks, methods, models, seed, when it began
    FOLDER/tasks/TASK.jsonl                      its questions with gold, as they were chosen
    FOLDER/calls/                                model calls, answered from here when they come again
    FOLDER/runs/TASK/MODEL/METHOD/QUESTION.jsonl one trace a run
    FOLDER/lock                                  held by the process that asks

Everything but the runs' own making reads this and nothing else, so old runs are scored anew without their data sets.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sleuth.bench.questions import Question, Task, as_row, from_row
from sleuth.bench.record import Record, folded, load
from sleuth.errors import BadInput
from sleuth.locks import held
from sleuth.trace import salvage

VERSION = 1
"""Of the layout. A reader reads its own version and older ones."""
ANEW = "Begin a new bench in another folder."
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A task asked by one method with one model."""

    task: str
    model: str
    method: str


@dataclass(frozen=True, slots=True)
class Method:
    """What is compared: a strategy as `sleuth compare` names it ("react:paper:steps=7"), the same for every task or one for each.

    `name` is what tables call it.
    """

    name: str
    entries: Mapping[str, str]
    """Task name to strategy text."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A task of the plan, without its questions: what is to be known to ask and score it again."""

    name: str
    metrics: tuple[str, ...]
    library: str = ""
    labels: tuple[str, ...] = ()
    origin: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a bench asks. `about` holds what else is to be known: preset, seed, budget, version, when it began."""

    tasks: tuple[Asked, ...]
    methods: tuple[Method, ...]
    models: tuple[str, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    def cells(self) -> Iterator[Cell]:
        """Every cell, task by task, model by model, in the plan's order."""
        for task in self.tasks:
            for model in self.models:
                for method in self.methods:
                    if task.name in method.entries:
                        yield Cell(task.name, model, method.name)


@dataclass(frozen=True, slots=True)
class Run:
    """A question of a cell, and its record; None where there is no trace yet."""

    cell: Cell
    question: Question
    record: Record | None


class BenchFolder:
    """A bench's folder. Nothing is cached: what is read is what is there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def calls(self) -> Path:
        """Where the model's calls are kept."""
        return self.folder / "calls"

    @property
    def exists(self) -> bool:
        """Is there a bench in this folder?"""
        return (self.folder / "bench.json").is_file()

    def begin(self, plan: Plan, tasks: Mapping[str, Task]) -> None:
        """Write the plan and the questions of its tasks. The plan comes last: with it the bench is there."""
        (self.folder / "tasks").mkdir(parents=True, exist_ok=True)
        for name, task in tasks.items():
            lines = [json.dumps(as_row(question), ensure_ascii=False) + "\n" for question in task.questions]
            _write(self._questions(name), "".join(lines))
        _write(self.folder / "bench.json", json.dumps(_plan_row(plan), ensure_ascii=False, indent=1) + "\n")

    def plan(self) -> Plan:
        """Raises `BadInput` where there is no bench, or one that cannot be read."""
        file = self.folder / "bench.json"
        try:
            row = json.loads(file.read_text(encoding="utf-8"))
            if row["version"] > VERSION:
                raise BadInput(f"{file} was written by a newer Sleuth.", hint="Update Sleuth to read it.")
            return _plan(row)
        except OSError as fault:
            raise BadInput(
                f"There is no bench in {self.folder}.", hint="Make one: sleuth bench run QUESTIONS.jsonl"
            ) from fault
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
            raise BadInput(f"{file} is damaged: {fault}.", hint=ANEW) from fault

    def questions(self, task: str) -> tuple[Question, ...]:
        """A task's questions in order. Raises `BadInput`, naming file and line."""
        file, found = self._questions(task), []
        try:
            lines = file.read_text(encoding="utf-8").split("\n")  # a question may hold other ends of lines
        except (OSError, UnicodeError) as fault:
            why = getattr(fault, "strerror", None) or fault
            raise BadInput(f"The questions in {file} cannot be read: {why}.", hint=ANEW) from fault
        for number, line in enumerate(lines[:-1] if lines[-1] == "" else lines, 1):
            try:
                found.append(from_row(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
                raise BadInput(f"Line {number} of {file} is no question: {fault}.", hint=ANEW) from fault
        return tuple(found)

    def trace(self, cell: Cell, question: str) -> Path:
        """Where the trace of that question (its id) is or will be."""
        folder = self.folder / "runs" / slug(cell.task) / slug(cell.model) / slug(cell.method)
        return folder / f"{own_name(question)}.jsonl"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from asking here. Raises `BadInput` while one does, `EnvironmentFault` where it cannot be written."""
        with held(
            self.folder / "lock", f"is asking the bench in {self.folder}", "Name another folder: --output FOLDER"
        ):
            yield

    def runs(self, cell: Cell) -> Iterator[Run]:
        """The cell's questions in order, each with the record of its trace; a damaged one is as far as it can be read. Raises `BadInput`."""
        for question in self.questions(cell.task):
            trace = self.trace(cell, question.id)
            record = _read(trace) if trace.exists() else None
            if record is not None and record.about.get("question_id", question.id) != question.id:
                record = None  # another question's: a file that was put there
            yield Run(cell, question, record)

    def _questions(self, task: str) -> Path:
        return self.folder / "tasks" / f"{slug(task)}.jsonl"


def _read(trace: Path) -> Record:
    """The record; of a damaged trace what can be read, without an answer. Raises `BadInput` for one that a newer Sleuth wrote."""
    try:
        return load(trace)
    except BadInput as fault:
        if fault.details.get("newer") or isinstance(fault.__cause__, OSError):
            raise
        return replace(folded(salvage(trace)), trace=trace, answer=None)


def slug(name: str) -> str:
    """A file name for any text: its letters and digits, and where that is not all of it (or too long), a digest."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:80].strip("._") or "_"
    if safe == name:
        return safe
    return f"{safe}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"


def own_name(name: str) -> str:
    """As `slug`, for many names side by side: none is another's, also where case does not count, and none a device's."""
    safe = slug(name)
    if safe == name == name.lower() and not _DEVICE.fullmatch(name):
        return safe
    return f"{safe[:80]}-{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"


def _write(file: Path, text: str) -> None:
    """All of it or nothing."""
    half = file.with_name(file.name + ".half")
    half.write_text(text, encoding="utf-8")
    half.replace(file)


def _plan_row(plan: Plan) -> dict[str, Any]:
    tasks = [
        {
            "name": task.name,
            "metrics": list(task.metrics),
            "library": task.library,
            "labels": list(task.labels),
            "origin": task.origin,
            "licence": task.licence,
        }
        for task in plan.tasks
    ]
    methods = [{"name": method.name, "entries": dict(method.entries)} for method in plan.methods]
    return {
        "version": VERSION,
        "tasks": tasks,
        "methods": methods,
        "models": list(plan.models),
        "about": dict(plan.about),
    }


def _plan(row: Mapping[str, Any]) -> Plan:
    tasks = tuple(
        Asked(
            t["name"],
            tuple(t["metrics"]),
            t.get("library", ""),
            tuple(t.get("labels", ())),
            t.get("origin", ""),
            t.get("licence", ""),
        )
        for t in row["tasks"]
    )
    methods = tuple(Method(m["name"], dict(m["entries"])) for m in row["methods"])
    return Plan(tasks, methods, tuple(row["models"]), dict(row.get("about", {})))
