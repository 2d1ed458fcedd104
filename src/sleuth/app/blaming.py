"""Blame over a bench: each failed run with its own model, source and flow; verdicts are kept in FOLDER/blame.jsonl as they come."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from sleuth.app import compose, settings, strategies
from sleuth.app.comparing import entry
from sleuth.app.keep import Keep
from sleuth.app.libraries import existing, open_source
from sleuth.app.portal import portal
from sleuth.bench.blame import Blamed, Share, as_row, blame, gold_of, read_rows, shares
from sleuth.bench.folder import BenchFolder, Cell, Run
from sleuth.bench.metrics import exact_match, f1
from sleuth.bench.metrics.answers import right_label
from sleuth.errors import BadInput
from sleuth.ports import Source
from sleuth.types import Answer

CALLS = 12
"""Most live model calls a question."""
ROWS = "blame.jsonl"


@dataclass(frozen=True, slots=True)
class Blaming:
    """What is to be blamed: failed runs without a verdict, and how many calls that takes at most."""

    folder: BenchFolder
    waiting: tuple[Run, ...]
    settings: settings.Settings
    calls: int = CALLS

    @property
    def most_calls(self) -> int:
        """Live model calls at most, over all waiting runs."""
        return self.calls * len(self.waiting)

    async def perform(self, keep: Keep, told: Callable[[Run, Blamed], None] | None = None) -> None:
        """Blame them one after the other, and keep each verdict. Raises `EnvironmentFault` where model or source are down."""
        sources: dict[str, Source] = {}
        try:
            for run in self.waiting:
                if run.cell.task not in sources:
                    sources[run.cell.task] = await self._opened(run.cell)
                blamed = await self._one(run, sources[run.cell.task], keep)
                _append(self.folder.folder / ROWS, as_row(run, blamed))
                if told is not None:
                    told(run, blamed)
        finally:
            with anyio.CancelScope(shield=True):
                for source in sources.values():
                    await source.aclose()

    async def _one(self, run: Run, source: Source, keep: Keep) -> Blamed:
        asked, method = _asked(self.folder, run.cell)
        named = entry(method)
        record = run.record
        known = strategies.accepted(named.strategy)
        told = record.about.get("params", {}) if record is not None else {}
        params = {key: value for key, value in dict(told).items() if key in known}
        return await blame(
            run,
            model=compose.opened(run.cell.model, self.settings, keep),
            source=source,
            gold=await gold_of(run.question, source),
            flow=lambda: named.strategy.flow(run.question.text, **params),
            right=partial(_is_right, run, asked[:1] == ("label",)),
            calls=self.calls,
        )

    async def _opened(self, cell: Cell) -> Source:
        asked = next(task for task in self.folder.plan().tasks if task.name == cell.task)
        folder = await anyio.to_thread.run_sync(existing, asked.library, self.settings)
        return await anyio.to_thread.run_sync(open_source, folder)


def arranged(
    folder: Path, *, methods: Iterable[str] = (), most: int | None = None, given: settings.Settings | None = None
) -> Blaming:
    """The failed runs of a bench that have no verdict yet (at most `most`), of these methods or all. Raises `BadInput`."""
    bench = BenchFolder(folder)
    plan, wanted = bench.plan(), tuple(methods)
    names = [method.name for method in plan.methods]
    for name in wanted:
        if name not in names:
            raise BadInput(f"The bench has no method '{name}'.", hint=f"It has: {', '.join(names)}.")
    rows = read_rows(folder / ROWS)
    done = {(row["task"], row["model"], row["method"], row["question"]) for row in rows}
    cells = [cell for cell in plan.cells() if not wanted or cell.method in wanted]
    waiting = [run for cell in cells for run in bench.runs(cell) if _failed(run) and _key(run) not in done]
    return Blaming(bench, tuple(waiting[:most]), given or settings.load())


def wait_for(blaming: Blaming, told: Callable[[Run, Blamed], None] | None = None) -> None:
    """Perform it in the background loop and wait in this thread. Ctrl-C stops it; verdicts so far are kept."""
    portal().submit(partial(blaming.perform, told=told)).result()


def summed(folder: Path, methods: Iterable[str] = ()) -> dict[Cell, tuple[Share, ...]]:
    """Each cell's shares from the verdicts that are kept. What failed and has no verdict yet is not among them."""
    bench, wanted, rows = BenchFolder(folder), tuple(methods), read_rows(folder / ROWS)
    found = {}
    for cell in bench.plan().cells():
        own = [
            row for row in rows if (row["task"], row["model"], row["method"]) == (cell.task, cell.model, cell.method)
        ]
        if own and (not wanted or cell.method in wanted):
            runs = [run for run in bench.runs(cell) if run.record is not None and run.record.answer is not None]
            found[cell] = shares(own, {run.question.id: _scores(run) for run in runs})
    return found


def _scores(run: Run) -> tuple[float, float]:
    text, answers = run.record.text if run.record else "", run.question.answers
    return exact_match(text, answers), f1(text, answers)


def _failed(run: Run) -> bool:
    if run.record is None or run.record.answer is None or not run.question.answers:
        return False
    return not _is_right(run, False, run.record.answer)


def _is_right(run: Run, label: bool, answer: Answer) -> bool:
    rule = right_label if label or run.question.kind == "claim" else exact_match
    return rule(answer.text, run.question.answers) == 1.0


def _asked(folder: BenchFolder, cell: Cell) -> tuple[tuple[str, ...], str]:
    """The task's metrics, and the strategy text of the cell."""
    plan = folder.plan()
    task = next(task for task in plan.tasks if task.name == cell.task)
    method = next(method for method in plan.methods if method.name == cell.method)
    return task.metrics, method.entries[cell.task]


def _key(run: Run) -> tuple[str, str, str, str]:
    return (run.cell.task, run.cell.model, run.cell.method, run.question.id)


def _append(file: Path, row: dict[str, Any]) -> None:
    """One more line, on a line of its own also behind a torn one."""
    with file.open("ab+") as lines:
        size = lines.seek(0, os.SEEK_END)
        if size:
            lines.seek(size - 1)
        torn = bool(size) and lines.read(1) != b"\n"
        lines.write((b"\n" if torn else b"") + json.dumps(row, ensure_ascii=False).encode() + b"\n")
