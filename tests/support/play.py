"""Run a flow over a scripted model and a shelf, and look at what it did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sleuth.engine import Engine
from sleuth.events import Event, Noted
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.types import Answer, Budget, Flow, Generate, Open, Search
from tests.support.runs import in_loop


@dataclass
class Play:
    """What came of a run: the answer, the model's requests, the source's, and the events."""

    answer: Answer
    requests: list[Generate]
    looked: list[Search | Open]
    events: list[Event]

    @property
    def prompts(self) -> list[str]:
        """Each call's prompt, as a raw-text model reads it."""
        return ["".join(m.content for m in request.messages) for request in self.requests]

    @property
    def queries(self) -> list[str]:
        return [request.query for request in self.looked if isinstance(request, Search)]

    def notes(self, kind: str) -> list[Noted]:
        return [e.body for e in self.events if isinstance(e.body, Noted) and e.body.kind == kind]


def play(
    flow: Flow[Answer],
    replies: Iterable[Any],
    answers: Mapping[str, Any],
    pages: Mapping[str, str] | None = None,
    budget: Budget = Budget(),
) -> Play:
    """Drive the flow to its answer; replies come in order, searches from `answers`, pages from `pages`."""
    script, shelf = Script(list(replies)), Shelf(answers=answers, pages=pages or {})
    events: list[Event] = []
    answer = in_loop(Engine(script, shelf, sinks=[events.append], budget=budget).run(flow))
    return Play(answer, script.requests, shelf.requests, events)
