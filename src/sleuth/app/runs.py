"""Stored runs: driven again from their trace (`replay`), or finished where they were interrupted (`resume`)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from sleuth.app import settings, strategies
from sleuth.app.asking import wait_for
from sleuth.app.compose import Order, prepare
from sleuth.app.tools import ToolLike, again
from sleuth.codec import plain
from sleuth.errors import BadInput, ModelError, SourceError
from sleuth.events import Closed, Event, Opened, Sink
from sleuth.trace import Cassette, RunStore, read_trace
from sleuth.types import Answer, Budget


@dataclass(frozen=True, slots=True)
class Replayed:
    """A replay's answer beside the recorded one; `same` when they are equal but for the time taken."""

    answer: Answer
    recorded: Answer | None
    same: bool


def locate(run: str, chosen: settings.Settings) -> Path:
    """The trace of a run: a file, or the (beginning of the) id of a stored one. Raises `UnknownName`, `BadInput`."""
    if os.sep in run or run.endswith(".jsonl"):
        return Path(run).expanduser()
    return RunStore(chosen.runs).find(run).path


def opened(events: Sequence[Event], path: Path) -> Opened:
    """How the run began. Raises `BadInput` when it was killed before that was written."""
    body = events[0].body if events else None
    if not isinstance(body, Opened):
        raise BadInput(f"The trace {path} ends before the run began.", hint="Ask the question again.")
    return body


def called(path: Path) -> str:
    """How a command names that trace: by its run's id when it is a stored one, else by its file, quoted for a shell."""
    return path.stem if path.parent == settings.load().runs else shlex.quote(str(path))


def recorded_answer(events: Sequence[Event]) -> Answer | None:
    """The answer the run ended with; None when it was interrupted."""
    body = events[-1].body if events else None
    return body.answer if isinstance(body, Closed) else None


def replay(path: Path, sinks: tuple[Sink, ...] = ()) -> Replayed:
    """Drive the run again from its trace alone: no model and no source is touched, nothing is written.

    Raises `CassetteMiss` when the strategy now asks for something else than it did, `BadInput` for a run that did
    not end.
    """
    events = read_trace(path)
    begun, recorded = opened(events, path), recorded_answer(events)
    if recorded is None:
        raise BadInput(
            f"The run in {path} did not end, so it cannot be replayed.", hint=f"Try: sleuth runs resume {called(path)}"
        )
    order = _order(begun, settings.load(), model=Untouchable(), library=Untouchable(), trace=False, sinks=sinks)
    answer = wait_for(replace(order, recording=Cassette(events, strict=True), run=events[0].run))
    return Replayed(answer, recorded, _timeless(answer) == _timeless(recorded))


def resumed(path: Path, sinks: tuple[Sink, ...] = (), tools: Iterable[ToolLike] | ToolLike = ()) -> Order:
    """The order that finishes an interrupted run, as a new run: finished calls are taken from the trace, not repeated.

    The run's own functions must be given again as `tools`. Raises `BadInput` without them, and for a run that has ended.
    """
    events = read_trace(path)
    begun = opened(events, path)
    if recorded_answer(events) is not None:
        raise BadInput(
            f"The run in {path} has ended; there is nothing to resume.", hint=f"Try: sleuth runs show {called(path)}"
        )
    about = begun.about
    order = _order(
        begun,
        settings.load(),
        model=about.get("model"),
        library=about.get("library"),
        tools=[each.tool for each in again(_mapping(about, "tools"), tools)],
        trace=True,
        sinks=sinks,
    )
    return replace(
        order,
        models=_mapping(about, "models"),
        about={**order.about, "models": _mapping(about, "models"), "resumes": events[0].run},
        recording=Cassette(events, strict=False),
    )


def _order(begun: Opened, chosen: settings.Settings, **more: Any) -> Order:
    about = begun.about
    if not isinstance(about.get("strategy"), str):
        raise BadInput(
            "The run's trace does not name its strategy.", hint="It was made by an Engine of its own: run it there."
        )
    budget = about.get("budget")
    found = strategies.find(about["strategy"])
    known = strategies.accepted(found)
    params = {key: value for key, value in _mapping(about, "params").items() if key in known}
    return prepare(
        begun.question,
        strategy=found,
        setting=about.get("setting", "default"),
        params=params,
        budget=budget if isinstance(budget, Budget) else Budget(),
        given=chosen.model_copy(update={"guards": {}}),  # the run's own are among its parameters
        **more,
    )


def _mapping(about: Mapping[str, Any], key: str) -> dict[Any, Any]:
    """What a trace tells there; nothing where an edited one holds something else."""
    told = about.get(key)
    return dict(told) if isinstance(told, Mapping) else {}


def _timeless(answer: Answer) -> Any:
    return plain(replace(answer, run="", usage=replace(answer.usage, seconds=0.0)))


class Untouchable:
    """A model and a source that a replay must never reach."""

    name = "replay"

    async def generate(self, request: object, *, report: object, pieces: object = None) -> NoReturn:
        raise ModelError("A replay reached for the model.")

    async def count(self, messages: object) -> NoReturn:
        raise ModelError("A replay reached for the model.")

    def price(self, read: int, written: int) -> float:
        return 0.0

    async def search(self, request: object, *, report: object) -> NoReturn:
        raise SourceError("A replay reached for the source.")

    async def open(self, request: object, *, report: object) -> NoReturn:
        raise SourceError("A replay reached for the source.")

    async def aclose(self) -> None:
        """Nothing is held."""


def about_lines(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a run was made of, for people."""
    told = _mapping(about, "params").items()
    params = ", ".join(f"{key}={value!r}" for key, value in told if key != "tools")
    return [
        (
            "strategy",
            f"{about.get('strategy', '?')} ({about.get('setting', 'default')}){': ' + params if params else ''}",
        ),
        ("model", str(about.get("model", "?"))),
        ("library", str(about.get("library", "?"))),
        *([("tools", ", ".join(_tools(about)))] if "tools" in about else []),
        *([("resumes", str(about["resumes"]))] if "resumes" in about else []),
    ]


def _tools(about: Mapping[str, Any]) -> list[str]:
    """The run's tools, and where each is from."""
    told = _mapping(about, "tools").items()
    return [f"{name} ({each.get('from', '?')})" if isinstance(each, Mapping) else str(name) for name, each in told]
