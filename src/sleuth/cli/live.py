"""A run as it goes on, on stderr: each hop with its query, its passages and its intermediate answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.status import Status
from rich.text import Text

from sleuth.cli.screen import put
from sleuth.cli.text import one_line
from sleuth.events import Attempt, Closed, Event, Noted, Started
from sleuth.types import Call, Generate, Listen, Open, Request, Search

OUTCOMES = {
    "nothing": "nothing found",
    "failed": "the search failed",
    "timeout": "the search took too long",
    "rate_limited": "the source said: later",
    "memory": "from the model's memory",
}
SAID = {"refused": "refused, as it asks no more than before"}
"""Notes whose kind alone would puzzle a reader."""
QUIET_NOTES = frozenset({"read"})
"""Noted for readers of the trace; a person sees the same in the answer."""


class Tenths:
    """Says when another tenth is done: progress in lines, where no bar can be drawn."""

    def __init__(self) -> None:
        self._told = 0

    def another(self, done: int, total: int) -> bool:
        """Has another tenth been done since the last call that was true?"""
        tenth = 10 * done // max(total, 1)
        more = tenth > self._told
        self._told = max(tenth, self._told)
        return more


class Live:
    """A sink that shows events to a person, in plain lines where there is no terminal; nothing when `quiet`.

    `spin` False is for a run that is over.
    """

    def __init__(self, console: Console, *, quiet: bool = False, spin: bool = True) -> None:
        self._console = console
        self._quiet = quiet
        self._hops = 0
        self._tenths = Tenths() if spin else None
        self._status: Status | None = None
        if spin and console.is_terminal and not quiet:
            self._status = console.status("starting …", spinner="dots", refresh_per_second=4)

    def __enter__(self) -> Live:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, event: Event) -> None:
        body = event.body
        if self._quiet:
            return
        if isinstance(body, Attempt):
            self._attempt(body)
        elif isinstance(body, Started):
            self._doing(doing(body.request))
        elif isinstance(body, Noted):
            self._noted(body)
        elif isinstance(body, Closed):
            self._doing("done")

    def _doing(self, what: str) -> None:
        if self._status is not None and what:
            self._status.update(Text(one_line(what, max(20, self._console.width - 4))))

    def _attempt(self, body: Attempt) -> None:
        if body.kind == "download" and "what" in body.data:
            self._doing(body.text)
            in_lines = self._tenths if self._status is None else None
            if in_lines is None or not in_lines.another(body.data["done"], body.data["total"]):
                return
        put(self._console, (f"  {body.kind}: {one_line(body.text)}", "dim"))

    def _noted(self, body: Noted) -> None:
        if body.kind == "hop":
            self._hops += 1
            self._hop(body.text, body.data)
        elif body.kind == "thought":
            put(self._console, ("  thought: ", "dim"), one_line(body.text))
        elif body.kind not in QUIET_NOTES:
            put(self._console, (f"  {SAID.get(body.kind, body.kind.replace('_', ' '))}: ", "dim"), one_line(body.text))

    def _hop(self, question: str, data: Mapping[str, Any]) -> None:
        question = question or str(data.get("question", ""))
        query, answer = str(data.get("query", "")), str(data.get("answer", ""))
        outcome = str(data.get("outcome", "found"))
        put(self._console, (f"{self._hops}. ", "bold cyan"), (one_line(question), "bold"))
        if query and query != question:
            put(self._console, ("   query    ", "dim"), one_line(query))
        for passage in data.get("passages", ()):
            put(self._console, ("   passage  ", "dim"), *_passage(passage))
        if outcome in OUTCOMES:
            put(self._console, ("   outcome  ", "dim"), (OUTCOMES[outcome], "yellow"))
        if answer:
            put(self._console, ("   answer   ", "dim"), (one_line(answer, 300), "green"))


def doing(request: Request[Any]) -> str:
    """What a request does, in a few words; "" for what takes no time."""
    match request:
        case Generate(role=role):
            return {"plan": "planning …", "read": "reading …", "judge": "judging …"}[role]
        case Listen():
            return "planning …"
        case Search(query=query):
            return f"searching: {query}"
        case Open(title=title):
            return f"opening: {title}"
        case Call(tool=tool):
            return f"calling {tool} …"
        case _:
            return ""


def _passage(passage: object) -> tuple[str | tuple[str, str], ...]:
    if not isinstance(passage, Mapping):
        return (one_line(str(passage)),)
    why = one_line(str(passage.get("why", "")))
    return (one_line(str(passage.get("title", ""))), (f"  ({why})" if why else "", "dim"))
