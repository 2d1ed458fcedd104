"""One question by several strategies: a row for each, folded from its run's events alone, and where their hops part.

Nothing here asks anything: a live run and its trace file, read years later, give the same row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from sleuth.bench.differences import FIELDS, Difference, difference
from sleuth.errors import SleuthError
from sleuth.events import Attempt, Closed, Event, Failed, Finished, Noted, Opened, Started
from sleuth.types import Answer, Count, Fork, Hop, Join, Next, Note, Passage, Request, Usage

__all__ = ["FIELDS", "Comparison", "Difference", "Row", "after", "compared", "difference", "folded"]


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy's run, as far as it has come.

    `name` is the strategy with its setting and parameters, where they were named ("react:paper"). `answer` is None
    while the run goes on, and for good when it was killed or never began. `error` is what the run raised (a bug of its
    strategy, say); it is in no trace, and does not count when rows are compared.
    `hops` are the answer's, or those told so far. `usage` is the total of what has ended; `seconds` is the time from
    the run's beginning to its last event, without the loading of the model. `doing` is the request being performed.
    """

    name: str
    run: str = ""
    answer: Answer | None = None
    hops: tuple[Hop, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    doing: Request[Any] | None = None
    error: Exception | None = field(default=None, compare=False)
    trace: Path | None = None
    began: float | None = None
    loading: float = 0.0

    @property
    def status(self) -> str:
        """The answer's status; ``running``, ``waiting`` (not begun) or ``failed`` (see `error`) where there is none."""
        if self.answer is not None:
            return self.answer.status
        if self.error is not None:
            return "failed"
        return "waiting" if self.began is None else "running"

    @property
    def ended(self) -> str:
        """Why the run ended; "" when it did not."""
        return self.answer.ended if self.answer else ""

    @property
    def text(self) -> str:
        """The answer's text; "" where there is none."""
        return self.answer.text if self.answer else ""

    @property
    def note(self) -> str:
        """What else is to be said: the answer's note, or what was raised in its place."""
        if self.answer is not None:
            return self.answer.note
        if self.error is None or isinstance(self.error, SleuthError):
            return str(self.error or "")
        return f"{type(self.error).__name__}: {self.error}"

    @property
    def verified(self) -> int:
        """How many citations were found word for word in their passage."""
        return sum(citation.verified for citation in self.answer.citations) if self.answer else 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question by several strategies: a row for each in the order they were named, and where they part.

    `differences` holds, for each row after the first, where its hops part from the first row's (None: nowhere).
    `first_difference` is over all rows that looked something up; None where they did the same, or fewer than two did.
    """

    question: str
    rows: tuple[Row, ...]
    differences: tuple[Difference | None, ...] = ()

    @property
    def first_difference(self) -> Difference | None:
        """The first hop that is not the same in every run that looked something up."""
        looked = [number for number, row in enumerate(self.rows) if row.hops]
        return difference(self.rows, looked) if len(looked) > 1 else None


def compared(question: str, rows: Iterable[Row]) -> Comparison:
    """The comparison of these rows."""
    table = tuple(rows)
    return Comparison(question, table, tuple(difference(table, (0, other)) for other in range(1, len(table))))


# --- the fold ---------------------------------------------------------------------------------------------------


def folded(events: Iterable[Event], *, trace: Path | None = None) -> Row:
    """A run's row from its events, in their order; `trace` is the file they were read from, if any."""
    return reduce(after, events, Row("", trace=trace))


def after(row: Row, event: Event) -> Row:
    """The row once this event has happened too."""
    row = _timed(row, event)
    match event.body:
        case Opened(about=about):
            return replace(row, name=_named(about), run=event.run)
        case Started(request=request) if not isinstance(request, Note | Count | Fork | Join | Next):
            return replace(row, doing=request)
        case Finished(usage=usage) | Failed(usage=usage):
            return replace(row, usage=row.usage + usage)
        case Noted(kind="hop", text=text, data=data):
            return replace(row, hops=(*row.hops, _hop(text, data)))
        case Closed(answer=answer):
            return replace(row, answer=answer, doing=None, hops=answer.hops or row.hops)
    return row


def _timed(row: Row, event: Event) -> Row:
    began = event.at if row.began is None else row.began
    loading = row.loading
    if isinstance(event.body, Attempt) and event.body.kind == "load":
        loading += float(event.body.data.get("seconds", 0.0))
    return replace(row, began=began, loading=loading, seconds=max(0.0, event.at - began - loading))


def _named(about: Mapping[str, Any]) -> str:
    """As the comparison called it; the strategy with its setting for a run that was asked otherwise."""
    if isinstance(named := about.get("named"), str):
        return named
    setting = about.get("setting", "default")
    name = str(about.get("strategy", ""))
    return name if setting == "default" else f"{name}:{setting}"


def _hop(text: str, data: Mapping[str, Any]) -> Hop:
    """A hop as it was noted, its passages without their texts."""
    told = [each for each in data.get("passages", ()) if isinstance(each, Mapping)]
    passages = tuple(
        Passage(str(each.get("id", "")), "", str(each.get("title", "")), "", why=str(each.get("why", "")))
        for each in told
    )
    return Hop(
        text,
        str(data.get("query", "")),
        str(data.get("answer", "")),
        data.get("outcome", "found"),
        passages,
        grounded=bool(data.get("grounded", False)),
    )
