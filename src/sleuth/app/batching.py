"""Many questions by one strategy, one model and one library, in a folder that can be gone on with.

    for outcome in batch(["Who designed it?", "When?"], library="notes", folder="answers"): ...

The library is opened once, a model is kept once, with one limiter. The same call goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from sleuth.app import compose, settings
from sleuth.app.batch import Again, Ask, Batch, Outcome, single
from sleuth.app.batch_folder import BatchFolder, Questions
from sleuth.app.compose import LibraryLike, ModelLike, Order, StrategyLike
from sleuth.app.keep import Keep
from sleuth.app.portal import portal
from sleuth.app.tools import ToolLike
from sleuth.codec import plain
from sleuth.errors import BadInput, ContextTooLong, EnvironmentFault, ModelError, SleuthError, SourceError
from sleuth.events import Event, Failed, Finished
from sleuth.ports import Source
from sleuth.types import Budget, Completion, Page, Similar

PATIENCE = 3
"""Questions running that may end while the model or the source (after its own retries) fails, before the rest is left."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a batch has come, in questions; `left` in seconds, None until something is known."""

    done: int
    total: int
    answered: int
    failed: int
    running: int
    left: float | None

    @property
    def waiting(self) -> int:
        """How many have not begun."""
        return self.total - self.done - self.running


class Batching:
    """A batch that has been checked: `perform` it in the background loop, look at it (`so_far`) from anywhere."""

    def __init__(
        self,
        questions: Questions,
        order: Callable[[str, str], Order],
        folder: BatchFolder,
        about: Mapping[str, Any],
        *,
        at_once: int,
        again: Again,
    ) -> None:
        self.folder, self.total = folder, len(questions)
        self._questions, self._order, self._about = questions, order, about
        self._at_once, self._again = at_once, again
        self._done = self._answered = self._failed = self._begun = self._ended = 0
        self._since = 0.0
        self._health = _Health()

    def so_far(self) -> Progress:
        """As it is now. What was finished before says nothing of how long the rest takes."""
        took = time.monotonic() - self._since
        left = took / self._ended * (self.total - self._done) if self._ended else None
        return Progress(self._done, self.total, self._answered, self._failed, max(0, self._begun - self._ended), left)

    async def perform(self, keep: Keep, each: Callable[[Outcome], None]) -> None:
        """Ask what is not done; every outcome, also of what was, is handed to `each` as it comes.

        Raises `NoLibrary`, `LibraryFault`, and `EnvironmentFault` when the model or the source answers no more.
        """
        first = self._order(*self._questions[0])
        source = await compose.source_of(first)
        try:
            asks = (self._ask(key, text, source) for key, text in self._questions)
            await Batch(asks, at_once=self._at_once, again=self._again, each=partial(self._count, each)).perform(keep)
        except BaseExceptionGroup as group:
            raise single(group) from None
        finally:
            if source is not first.library:
                with anyio.CancelScope(shield=True):
                    await source.aclose()

    def wait(self, each: Callable[[Outcome], None]) -> None:
        """Perform it in the background loop and wait in this thread. Ctrl-C stops it; what is done stays.

        Raises `BadInput` while another process works in the same folder.
        """
        with self.folder.held(self._about, self._questions):
            portal().submit(partial(self.perform, each=each)).result()

    def outcomes(self) -> Iterator[Outcome]:
        """Each outcome as it comes. Leaving the loop stops the batch; what is done stays."""
        told: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()
        with self.folder.held(self._about, self._questions):
            job = portal().submit(partial(self.perform, each=told.put))
            job.future.add_done_callback(lambda _: told.put(None))
            try:
                while (outcome := _next(told)) is not None:
                    yield outcome
            finally:
                job.end()
            job.result()

    def _ask(self, key: str, text: str, source: Source) -> Ask:
        def make() -> Order:
            self._begun += 1
            self._since = self._since or time.monotonic()
            order = self._order(key, text)
            return replace(order, library=source, sinks=(*order.sinks, self._health))

        return Ask(key, text, self.folder.trace(key), make)

    def _count(self, each: Callable[[Outcome], None], outcome: Outcome) -> None:
        answer = outcome.answer
        self._done += 1
        self._ended += not outcome.reused
        self._answered += answer is not None and answer.status == "answered"
        self._failed += answer is None or answer.status == "failed"
        each(outcome)
        if not outcome.reused:
            self._health.check(outcome.error)


class _Health:
    """A sink that sees whether the model and the source work, and ends a batch for which they no longer do."""

    def __init__(self) -> None:
        self._down: dict[type[SleuthError], SleuthError] = {}
        self._lost = 0

    def __call__(self, event: Event) -> None:
        match event.body:
            case Finished(value=Completion()) | Failed(error=ContextTooLong()):
                self._down.pop(ModelError, None)
            case Finished(value=tuple() | Page() | Similar()):
                self._down.pop(SourceError, None)
            case Failed(error=ModelError() as error):
                self._down[ModelError] = error
            case Failed(error=SourceError() as error):
                self._down[SourceError] = error

    def check(self, raised: Exception | None) -> None:
        """Called when a question has ended, with what it raised. Raises `EnvironmentFault` after `PATIENCE` lost ones."""
        fault = raised if isinstance(raised, OSError | EnvironmentFault) else next(iter(self._down.values()), None)
        self._lost = 0 if fault is None else self._lost + 1
        if self._lost >= PATIENCE:
            raise EnvironmentFault(
                f"The batch was stopped, since {PATIENCE} questions running failed: {fault}",
                hint="What is done is kept. Mend that, and give the same command again, with --again failed.",
            )


def arranged(
    questions: Questions,
    *,
    folder: Path | None = None,
    strategy: StrategyLike | None = None,
    model: ModelLike | None = None,
    library: LibraryLike | None = None,
    budget: Budget | None = None,
    setting: str | None = None,
    params: Mapping[str, Any] | None = None,
    tools: Iterable[ToolLike] | ToolLike = (),
    at_once: int = 1,
    again: Again = "interrupted",
    offline: bool | None = None,
    given: settings.Settings | None = None,
) -> Batching:
    """Check everything that was said; asks and writes nothing. Without a `folder`, one under the home folder, named by
    what is asked.

    Raises as `sleuth.app.compose.prepare` does, and `BadInput` where `folder` holds another batch.
    """
    if at_once < 1:
        raise BadInput(f"{at_once} questions at once are none.", hint="Give a number from 1 up.")
    if not questions:
        raise BadInput("There is no question to ask.", hint="Give a file with one question a line.")
    chosen = given or settings.load(offline=offline)

    def order(key: str, text: str) -> Order:
        made = compose.prepare(
            text,
            strategy=strategy,
            model=model,
            library=library,
            budget=budget,
            setting=setting,
            params=params,
            tools=tools,
            trace=False,
            given=chosen,
        )
        return replace(made, about={**made.about, "question_id": key})

    about = _about(order(*questions[0]))
    where = BatchFolder(folder or chosen.home / "batches" / _named(questions, about))
    where.check(about, questions)
    return Batching(questions, order, where, about, at_once=at_once, again=again)


def batch(
    questions: Iterable[str] | Mapping[str, str] | Path,
    *,
    folder: Path | str | None = None,
    strategy: StrategyLike | None = None,
    model: ModelLike | None = None,
    library: LibraryLike | None = None,
    budget: Budget | None = None,
    setting: str | None = None,
    tools: Iterable[ToolLike] | ToolLike = (),
    at_once: int = 1,
    again: Again = "interrupted",
    offline: bool | None = None,
    **params: Any,
) -> Iterator[Outcome]:
    """Ask many questions, and get each `Outcome` (key, answer, error, trace, reused) as it comes.

    `questions` are texts, texts by id, or a file (.jsonl, .csv, .txt); a text without an id gets one that is made from
    it. Each run's trace is kept in `folder` (without one, under the home folder, by what is asked), and the same
    call goes on where the last one stopped: no finished call of a model is made twice. `at_once` questions are asked at
    the same time, which helps with a server. ``again="failed"`` asks those that failed once more, ``"all"`` all of
    them. The rest is as for `ask`; `budget` is that of one question.

    An outcome has an `error` in place of its `answer` where the question or the strategy raised one; the others go on. Raises
    `WrongUse` and its kin before anything is asked, `EnvironmentFault` when the model or the source answers no more.
    """
    arranging = arranged(
        _pairs(questions),
        folder=None if folder is None else Path(folder),
        strategy=strategy,
        model=model,
        library=library,
        budget=budget,
        setting=setting,
        params=params,
        tools=tools,
        at_once=at_once,
        again=again,
        offline=offline,
    )
    return arranging.outcomes()


def _pairs(questions: Iterable[str] | Mapping[str, str] | Path) -> Questions:
    from sleuth.bench.tasks import named, read_questions

    if isinstance(questions, Path):
        return read_questions(questions)
    if isinstance(questions, str):
        raise BadInput(
            "One text was given, not several.", hint="Give a list of questions, or a pathlib.Path for a file."
        )
    return list(questions.items()) if isinstance(questions, Mapping) else named(questions)


def _about(order: Order) -> dict[str, Any]:
    """What must stay the same, as JSON has it."""
    told = {key: value for key, value in order.about.items() if key not in ("version", "question_id")}
    about: dict[str, Any] = json.loads(json.dumps(plain(told, other=repr)))
    return about


def _named(questions: Questions, about: Mapping[str, Any]) -> str:
    """A name by what is asked: the same command finds its folder again."""
    told = json.dumps([list(questions), about], sort_keys=True)
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def _next(told: queue.SimpleQueue[Outcome | None]) -> Outcome | None:
    """The next outcome; waits in short turns, since one without end could not be interrupted on Windows."""
    while True:
        try:
            return told.get(timeout=0.5)
        except queue.Empty:
            continue
