"""A run as the bench reads it: folded once from the events of its trace, then scored, classified and drawn as often as wanted.

Nothing here asks anything. What was answered from a cache counts as if it had been asked: its tokens and its seconds
are those of the call that was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sleuth.errors import ContextTooLong
from sleuth.events import Attempt, Closed, Event, Failed, Finished, Noted, Opened, Span, Started
from sleuth.trace import read_trace
from sleuth.types import Answer, Call, Completion, Generate, Listen, Listening, Open, Page, Passage, Read, Search, Usage

OUTSIDE = ("model_error", "source_error")
"""Why a run failed that says nothing of its method."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Something asked of a source or a tool: a search's query, a page's title, a tool's arguments.

    `passages` are a search's results or a page's passages, best first; `error` says why it failed, "" when it did not.
    """

    kind: Literal["search", "open", "call"]
    asked: str
    span: Span
    passages: tuple[Passage, ...] = ()
    page: Page | None = None
    text: str = ""
    error: str = ""

    @property
    def is_empty(self) -> bool:
        """Nothing came back, or it failed."""
        return bool(self.error) or not (self.passages or self.page or self.text)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model call and how it ended. `sample` of the request says which draw it was."""

    request: Generate
    span: Span
    completion: Completion | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One run: what it was (`about`), what it looked up, called and noted, in order, and its answer (None: interrupted).

    `seconds` are those of all requests one after the other, without the loading of the model and
    without waiting for its turn.
    """

    run: str = ""
    question: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    answer: Answer | None = None
    lookups: tuple[Lookup, ...] = ()
    replies: tuple[Reply, ...] = ()
    notes: tuple[Noted, ...] = ()
    usage: Usage = Usage()
    trace: Path | None = None
    is_lost: bool = False
    """Did it fail because the model or a source was gone? That says nothing of its method; a prompt too long for the model does."""

    @property
    def text(self) -> str:
        """The answer's text; "" where there is none."""
        return self.answer.text if self.answer else ""

    @property
    def is_answered(self) -> bool:
        """Did it end with an answer?"""
        return self.answer is not None and self.answer.status == "answered"

    @property
    def seen(self) -> tuple[Passage, ...]:
        """Every passage that came back from a source, each once, in the order in which it came."""
        found = (passage for lookup in self.lookups for passage in lookup.passages)
        return tuple({passage.id: passage for passage in found}.values())


def load(trace: Path) -> Record:
    """The record of a trace file. Raises `BadInput` for what is no trace."""
    return replace(folded(read_trace(trace)), trace=trace)


def folded(events: Iterable[Event]) -> Record:
    """The record of a run's events, in their order."""
    begun: dict[Span, Any] = {}
    listened: dict[str, Generate] = {}
    lookups: list[Lookup] = []
    replies: list[Reply] = []
    notes: list[Noted] = []
    told = Record()
    usage, reused = Usage(), 0.0
    fault: Exception | None = None
    for event in events:
        match event.body:
            case Opened(question=question, about=about):
                told = replace(told, run=event.run, question=question, about=about)
            case Started(request=request):
                begun[event.span] = request
            case Attempt(kind="cache", data=data):
                reused += float(data.get("seconds", 0.0))
            case Attempt(kind="load" | "queue", data=data):
                reused -= float(data.get("seconds", 0.0))
            case Finished() | Failed():
                usage += event.body.usage
                fault = event.body.error if isinstance(event.body, Failed) else fault
                _keep(begun.get(event.span), event, lookups, replies, listened)
            case Noted():
                notes.append(event.body)
            case Closed(answer=answer):
                lost = answer.status == "failed" and answer.ended in OUTSIDE and not isinstance(fault, ContextTooLong)
                told = replace(told, answer=answer, is_lost=lost)
    return replace(
        told,
        lookups=tuple(lookups),
        replies=tuple(replies),
        notes=tuple(notes),
        usage=replace(usage, seconds=max(0.0, usage.seconds + reused)),
    )


def _keep(
    request: Any, event: Event, lookups: list[Lookup], replies: list[Reply], listened: dict[str, Generate]
) -> None:
    """Add what this request was, and how it ended, to the lookups or the replies."""
    body = event.body
    error = str(body.error) if isinstance(body, Failed) else ""
    value = body.value if isinstance(body, Finished) else None
    match request:
        case Generate():
            replies.append(Reply(request, event.span, value, error))
        case Listen(generate=generate) if isinstance(value, Listening):
            listened[value.id] = generate
        case Read(listening=Listening(id=handle)) if error or isinstance(value, Completion):
            replies.append(Reply(listened[handle], event.span, value, error))
        case Search(query=query):
            lookups.append(Lookup("search", query, event.span, value or (), error=error))
        case Open(title=title) if isinstance(value, Page):
            lookups.append(Lookup("open", title, event.span, value.passages, page=value))
        case Open(title=title):
            titles = "; ".join(value.titles) if value is not None else ""
            lookups.append(Lookup("open", title, event.span, error=error, text=titles))
        case Call(tool=tool, arguments=arguments):
            text = "" if value is None else value.text
            lookups.append(Lookup("call", f"{tool}({arguments})", event.span, text=text, error=error))
