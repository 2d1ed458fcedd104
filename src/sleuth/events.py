"""What happened, as one flat stream. Only the engine emits; everything else (command line, trace, bench, tests) reads.

Nesting is by `Span`: the branch path and the call's number in that branch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sleuth.errors import SleuthError
from sleuth.types import Answer, Request, Usage


@dataclass(frozen=True, slots=True)
class Span:
    """Where an event belongs: branch path ("" is the run itself, "0.2" the third fork of its first) and request number there."""

    branch: str
    number: int


@dataclass(frozen=True, slots=True)
class Opened:
    """The run began. `about` holds the strategy, parameters, model, source, version."""

    question: str
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    """A request is being performed; `digest` and `ordinal` with the span's branch are its identity."""

    request: Request[Any]
    digest: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something on the way: ``retry``, ``wait``, ``cache``, ``repair``, ``load``, ``download``, ``fault``, ``overrun`` (of a reservation)."""

    kind: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply while it is written; for live readers, not kept in traces."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A request was performed: what is sent back, and what it cost."""

    value: Any
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Failed:
    """A request failed; the error is raised in the flow at that request. `usage` is what is charged for it."""

    error: SleuthError
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Noted:
    """A flow's `Note`."""

    kind: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Closed:
    """The run ended, with its answer; nothing follows."""

    answer: Answer


Body: TypeAlias = Opened | Started | Attempt | Delta | Finished | Failed | Noted | Closed


@dataclass(frozen=True, slots=True)
class Event:
    """`seq` counts from 0 within the run; `at` is seconds since the epoch."""

    run: str
    seq: int
    at: float
    span: Span
    body: Body


Sink: TypeAlias = Callable[[Event], None]
"""Any callable that takes an `Event`. It must not raise, and must be quick: the run waits for it."""
