"""The requests as functions: ``completion = yield from generate(...)`` inside a flow.

Each returns a one-step flow, so a forgotten ``yield from`` is a type error wherever the result is used
(for `note` and `cancel`, whose result is not used, a test reads the strategies' syntax trees).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from sleuth import types as t

T = TypeVar("T")


def generate(
    messages: Iterable[t.Message],
    *,
    role: t.Role = "plan",
    stop: tuple[str, ...] = (),
    max_tokens: int = 256,
    temperature: float = 0.0,
    sample: int = 0,
    shape: t.Shape | None = None,
    tools: tuple[t.ToolSpec, ...] = (),
    closing: bool = False,
    logprob: bool = False,
) -> t.Flow[t.Completion]:
    """One model call. Raises `ModelError` and its kin, `BudgetExceeded`."""
    request = t.Generate(tuple(messages), role, stop, max_tokens, temperature, sample, shape, tools, closing, logprob)
    return cast(t.Completion, (yield request))


def listen(request: t.Generate) -> t.Flow[t.Listening]:
    """Start a model call to be read while it is written. Raises `BudgetExceeded`."""
    return cast(t.Listening, (yield t.Listen(request)))


def read(listening: t.Listening, until: str | None = None) -> t.Flow[str | t.Completion]:
    """The next piece of a listened reply; the `Completion` at its end. Raises `ModelError`."""
    return cast("str | t.Completion", (yield t.Read(listening, until)))


def count(text: str, role: t.Role = "plan") -> t.Flow[int]:
    """Tokens of the text."""
    return cast(int, (yield t.Count(text, role)))


def search(
    query: str, k: int = 5, *, together: bool = False, exclude: Iterable[str] = (), when: str = ""
) -> t.Flow[tuple[t.Passage, ...]]:
    """Passages for a query; () when nothing is found. Raises `SourceError` and its kin."""
    return cast("tuple[t.Passage, ...]", (yield t.Search(query, k, together, tuple(exclude), when)))


def open_page(title: str) -> t.Flow[t.Page | t.Similar]:
    """A page by its title, or the nearest titles. Raises `SourceError` and its kin."""
    return cast("t.Page | t.Similar", (yield t.Open(title)))


def call(tool: str, arguments: str = "{}") -> t.Flow[t.ToolResult]:
    """Any other tool, its arguments as JSON text. Raises `ToolError`."""
    return cast(t.ToolResult, (yield t.Call(tool, arguments)))


def note(kind: str, text: str = "", **data: Any) -> t.Flow[None]:
    """Say what should be seen in the trace."""
    yield t.Note(kind, text, cast("Mapping[str, Any]", data))


def fork(flow: t.Flow[T]) -> t.Flow[t.Task[T]]:
    """Start a flow beside this one."""
    return cast("t.Task[T]", (yield t.Fork(flow)))


def join(task: t.Task[T]) -> t.Flow[T]:
    """A task's value; raises its failure as a fresh exception."""
    return cast(T, (yield t.Join(task)))


def next_of(tasks: Iterable[t.Task[T]]) -> t.Flow[t.Task[T]]:
    """Whichever task ends first."""
    return cast("t.Task[T]", (yield t.Next(tuple(tasks))))


def cancel(task: t.Task[Any]) -> t.Flow[None]:
    """Give a task up."""
    yield t.Cancel(task)
