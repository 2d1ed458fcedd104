"""A bench: every method on every question of every task with every model, into one folder that can be gone on with.

    benching = arranged(tasks, ["react", "self-ask:paper"], models=["local"], folder=Path("bench-notes"))
    wait_for(benching, most=PILOT); benching.price(); wait_for(benching)

What is done stays: stopped at any moment, the same call goes on. A method's failure is its score, and stops no other.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path

import anyio
import anyio.to_thread

from sleuth import __version__
from sleuth.app import compose, corpora, settings, strategies
from sleuth.app.batch import Ask, Batch, Outcome, single
from sleuth.app.comparing import Entry, entry
from sleuth.app.keep import Keep
from sleuth.app.libraries import SAMPLE, existing, open_source
from sleuth.app.portal import portal
from sleuth.app.watched import InTurn, Watched
from sleuth.bench import presets
from sleuth.bench.folder import Asked, BenchFolder, Cell, Method, Plan
from sleuth.bench.joining import joined
from sleuth.bench.power import Price, price
from sleuth.bench.questions import Question, Task
from sleuth.bench.record import Record
from sleuth.errors import BadInput, EnvironmentFault
from sleuth.events import Closed, Event, Opened
from sleuth.models.cache import Cached
from sleuth.ports import Model, Source
from sleuth.trace import salvage
from sleuth.types import Answer

PILOT = 5
"""Questions a cell that are asked before the price of the rest is told."""
CLOSED_BOOK = "standard"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the whole matrix has come. `left` is in seconds, None until something is known; `cell` is asked now."""

    done: int
    total: int
    failed: int
    cell: Cell | None
    left: float | None


def arranged(
    tasks: Sequence[Task],
    named: Iterable[str] = (),
    *,
    folder: Path,
    preset: str = "",
    numbers: Mapping[str, str] | None = None,
    models: Iterable[str] = (),
    libraries: Mapping[str, str] | None = None,
    baselines: bool = False,
    at_once: int = 1,
    seed: int = 0,
    given: settings.Settings | None = None,
) -> Benching:
    """Check everything that was said; asks and writes nothing but the libraries of the tasks' passages.

    Strategies are `named` as for `compare`; `numbers` are the preset's ("samples": "5"). `libraries` (by task) serve in
    place of a task's own passages. `baselines` adds the closed book where no method is that already. Budgets and guards are the
    settings', a run's own. Raises `WrongUse` and its kin, also where `folder` holds another bench.
    """
    chosen = given or settings.load()
    if at_once < 1:
        raise BadInput(f"{at_once} questions at once are none.", hint="Give a number from 1 up.")
    if not tasks or not all(task.questions for task in tasks):
        raise BadInput("There is no question to ask.", hint="Give a file of questions: sleuth bench run FILE.jsonl")
    _alone("task", [task.name for task in tasks])
    wanted = tuple(dict.fromkeys(models)) or (chosen.model,)
    compose.check_models(wanted, chosen)
    methods = _methods(tasks, list(named), preset, numbers or {}, baselines)
    asked = tuple(_asked(task, (libraries or {}).get(task.name), chosen) for task in tasks)
    about = {
        "preset": preset,
        "set": dict(numbers or {}),
        "seed": seed,
        "budget": asdict(chosen.budget),
        "guards": dict(chosen.guards),
        "version": __version__,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    where = BenchFolder(folder)
    plan, kept = joined(where, Plan(asked, methods, wanted, about), {task.name: task for task in tasks})
    return Benching(where, plan, kept, chosen, at_once)


class Benching:
    """A bench that has been checked: `perform` it in the background loop, look at it (`so_far`) from anywhere."""

    def __init__(
        self, folder: BenchFolder, plan: Plan, tasks: Mapping[str, Task], chosen: settings.Settings, at_once: int
    ) -> None:
        self.folder, self.plan, self.at_once = folder, plan, at_once
        self.dead: dict[str, EnvironmentFault] = {}
        """The models that answer no more, and what they said last."""
        self.refused: dict[str, Exception] = {}
        """The runs that could not even begin (a question that is too long, a strategy that is none), by key."""
        self._tasks, self._settings = tasks, chosen
        self._seconds: dict[Cell, list[float]] = defaultdict(list)
        self._left: dict[Cell, int] = {}
        self._done = self._total = self._failed = 0
        self._cell: Cell | None = None

    def questions(self, task: str) -> tuple[Question, ...]:
        """A task's questions, also of one that was there already."""
        return self._tasks[task].questions if task in self._tasks else self.folder.questions(task)

    def runs(self) -> int:
        """How many runs the whole bench has."""
        return sum(len(self.questions(cell.task)) for cell in self.plan.cells())

    def price(self) -> Price | None:
        """What the rest costs at most, from what is done (answers from the cache are free); None where nothing is left.

        A cell of which nothing is done is left out.
        """
        found: Price | None = None
        for cell in self.plan.cells():
            runs = list(self.folder.runs(cell))
            kept = [run.record for run in runs if run.record and not _is_lost(run.record)]
            done = [record.answer.usage for record in kept if record.answer]
            if done and len(done) < len(runs):
                if took := self._seconds.get(cell):  # by the clock: calls at the same time wait for each other
                    done = [replace(usage, seconds=each) for usage, each in zip(done, cycle(took), strict=False)]
                more = price(done, len(runs) - len(done), self.at_once)
                found = more if found is None else found + more
        return found

    def so_far(self) -> Progress:
        """How far it has come, as it is now."""
        every = [seconds for cell in list(self._seconds) for seconds in self._seconds[cell]]
        if not every:
            return Progress(self._done, self._total, self._failed, self._cell, None)
        usual, left = sum(every) / len(every), 0.0
        for cell, count in list(self._left.items()):
            took = self._seconds.get(cell) or [usual]
            left += count * sum(took) / len(took)
        return Progress(self._done, self._total, self._failed, self._cell, left / self.at_once)

    async def perform(self, keep: Keep, most: int | None = None) -> None:
        """Make the runs that are missing (of the first `most` questions a cell), model by model.

        A model that answers no more is left (`dead`), and the next one is asked. What a run raises is in its trace.
        Raises `NoLibrary`, `LibraryFault`, `EnvironmentFault` where the folder cannot be written, and `BadInput` while
        another process asks there.
        """
        with self.folder.held():
            try:
                await self._perform(keep, most)
            except BaseExceptionGroup as group:
                raise single(group) from None

    async def _perform(self, keep: Keep, most: int | None) -> None:
        ours = replace(self.plan, tasks=tuple(task for task in self.plan.tasks if task.name in self._tasks))
        self.plan, self._tasks = joined(self.folder, ours, self._tasks)  # another process may have added to it
        self.folder.begin(self.plan, self._tasks)
        missing = await anyio.to_thread.run_sync(self._missing, most)
        sources: dict[str, Source] = {}
        try:
            for name in self.plan.models:
                cells = {cell: asked for cell, asked in missing.items() if cell.model == name and asked}
                for task in {cell.task for cell in cells} - sources.keys():
                    sources[task] = await self._opened(task)
                if cells and name not in self.dead:
                    await self._ask(name, cells, sources, keep)
        finally:
            with anyio.CancelScope(shield=True):
                for source in sources.values():
                    await source.aclose()

    async def _ask(
        self, name: str, cells: Mapping[Cell, Sequence[Question]], sources: Mapping[str, Source], keep: Keep
    ) -> None:
        with anyio.CancelScope() as scope:

            def give_up(error: EnvironmentFault) -> None:
                self.dead[name] = error
                scope.cancel()

            model: Model = Cached(Watched(compose.opened(name, self._settings, keep), give_up), self.folder.calls)
            if compose.is_local(name, self._settings):
                model = InTurn(model)
            asks = [
                self._one(cell, question, model, sources[cell.task])
                for cell, asked in cells.items()
                for question in asked
            ]
            batch = Batch(asks, at_once=self.at_once, again="all", each=self._ended)
            await batch.perform(keep)  # begun anew: `Cached` tells their seconds

    def _ended(self, outcome: Outcome) -> None:
        """Raises `EnvironmentFault` where the run is not in its trace: more would only be asked in vain."""
        events = salvage(outcome.trace)
        if events and isinstance(events[-1].body, Closed):
            return
        error = outcome.error
        if error is None or isinstance(error, OSError | EnvironmentFault):
            raise EnvironmentFault(
                f"The bench was stopped, since its runs cannot be kept: {error or 'a trace ends too early.'}",
                hint="What is done is kept. Make room there, and give the same command again.",
            ) from error
        self.refused[outcome.key] = error

    def _one(self, cell: Cell, question: Question, model: Model, source: Source) -> Ask:
        trace = self.folder.trace(cell, question.id)
        trace.parent.mkdir(parents=True, exist_ok=True)
        key = "/".join((cell.task, cell.model, cell.method, question.id))
        return Ask(key, question.text, trace, partial(self._order, cell, question, model, source, trace))

    def _order(self, cell: Cell, question: Question, model: Model, source: Source, trace: Path) -> compose.Order:
        asked = next(task for task in self.plan.tasks if task.name == cell.task)
        method = next(method for method in self.plan.methods if method.name == cell.method)
        told = entry(method.entries[cell.task])
        order = compose.prepare(
            question.text,
            strategy=told.strategy,
            model=model,
            library=source,
            setting=told.setting,
            params=told.params,
            sinks=(_Noting(self, cell),),
            trace=trace,
            given=self._settings,
        )
        about = {
            **order.about,
            "named": told.name,
            "model": cell.model,
            "library": asked.library,
            "task": cell.task,
            "method": cell.method,
            "question_id": question.id,
        }
        return replace(order, about=about)

    def _missing(self, most: int | None) -> dict[Cell, list[Question]]:
        """The questions of each cell that have no answer yet, or lost it.

        An interrupted run begins anew: its finished calls come from the bench's calls, with what they took.
        """
        found: dict[Cell, list[Question]] = {}
        self._done = self._total = self._failed = 0
        for cell in self.plan.cells():
            found[cell] = []
            for run in list(self.folder.runs(cell))[:most]:
                self._total += 1
                if run.record is None or run.record.answer is None or _is_lost(run.record):
                    found[cell].append(run.question)
                else:
                    self.count(cell, run.record.answer)
            self._left[cell] = len(found[cell])
        return found

    def count(self, cell: Cell, answer: Answer, seconds: float | None = None) -> None:
        """A run of this cell has ended; `seconds` is what it took now, None where it was there before."""
        self._done += 1
        self._failed += answer.status == "failed"
        if seconds is not None:
            self._seconds[cell].append(seconds)
            self._left[cell] = max(0, self._left[cell] - 1)

    def begun(self, cell: Cell) -> None:
        """A run of this cell has begun."""
        self._cell = cell

    async def _opened(self, task: str) -> Source:
        asked = next(each for each in self.plan.tasks if each.name == task)
        folder = await anyio.to_thread.run_sync(existing, asked.library, self._settings)
        return await anyio.to_thread.run_sync(open_source, folder)


class _Noting:
    """A sink that tells the bench of a run's beginning and end."""

    def __init__(self, benching: Benching, cell: Cell) -> None:
        self._benching, self._cell, self._began = benching, cell, time.monotonic()

    def __call__(self, event: Event) -> None:
        match event.body:
            case Opened():
                self._began = time.monotonic()
                self._benching.begun(self._cell)
            case Closed(answer=answer):
                self._benching.count(self._cell, answer, time.monotonic() - self._began)


def wait_for(benching: Benching, most: int | None = None) -> None:
    """Perform it in the background loop and wait in this thread. Ctrl-C stops it; what is done stays."""
    portal().submit(partial(benching.perform, most=most)).result()


def _is_lost(record: Record) -> bool:
    """Is it asked again when the bench is? Also a run that its strategy's bug ended."""
    answer = record.answer
    return record.is_lost or (answer is not None and answer.status == "failed" and answer.ended == "cancelled")


def _asked(task: Task, named: str | None, chosen: settings.Settings) -> Asked:
    if named is None and task.corpus is not None:
        where = corpora.built(task, chosen)
    elif named is None and chosen.library == SAMPLE:
        raise BadInput(
            f"The task '{task.name}' has no passages of its own.",
            hint="Say where to look things up: --library NAME (sleuth library list; sleuth index makes one).",
        )
    else:
        where = named or chosen.library
        existing(where, chosen)
    return Asked(task.name, task.metrics, where, task.labels, task.origin, task.licence)


def _methods(
    tasks: Sequence[Task], named: Sequence[str], preset: str, numbers: Mapping[str, str], baselines: bool
) -> tuple[Method, ...]:
    """The preset's methods, then those named. Raises `BadInput`, `UnknownName`, before anything is asked."""
    if numbers and not preset:
        raise BadInput("--set is for a preset's numbers.", hint="Write a strategy's own with it: cot-sc:n=5")
    found = list(presets.methods(presets.find(preset), tasks, numbers)) if preset else []
    found += [_method(text, tasks) for text in named]
    if not found and not baselines:
        raise BadInput("There is no method to measure.", hint="Name some: --strategy react --strategy link-then-read")
    if baselines and not any(_reads_nothing(each) for each in found):
        found.append(_method(CLOSED_BOOK, tasks))
    _alone("method", [method.name for method in found])
    for method in found:
        for text in method.entries.values():
            told = entry(text)
            strategies.parameters(told.strategy, told.setting, told.params)
    return tuple(found)


def _reads_nothing(method: Method) -> bool:
    return all(entry(text).strategy.card.name == CLOSED_BOOK for text in method.entries.values())


def _method(text: str, tasks: Iterable[Task]) -> Method:
    """A strategy on every task; on claims it is told that they are. Raises `BadInput` where it knows no claims."""
    told = entry(text)
    return Method(told.name, {task.name: _fitting(told, task) for task in tasks})


def _fitting(told: Entry, task: Task) -> str:
    if task.kind != "claim" or "task" in told.params:
        return told.name
    if "task" not in strategies.accepted(told.strategy):
        able = [name for name, each in strategies.table().items() if "task" in strategies.accepted(each)]
        raise BadInput(
            f"The strategy '{told.strategy.card.name}' judges no claims, and '{task.name}' holds claims.",
            hint=f"Strategies that do: {', '.join(able)}.",
        )
    return f"{told.name}:task=claim"


def _alone(what: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"The {what} '{name}' is given twice.", hint="Give each once, or another name.")
