"""How a run's end is put into words: which answer a failure becomes, which failures are raised instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sleuth.errors import (
    BadReply,
    BudgetExceeded,
    Cancelled,
    CassetteMiss,
    DeadlineExceeded,
    EnvironmentFault,
    ModelError,
    SleuthError,
    SourceError,
    ToolError,
    WrongUse,
)
from sleuth.types import Answer, Call, Open, Request, Search, Usage, Why

WHY: tuple[tuple[type[SleuthError], Why], ...] = (
    (BadReply, "unparsable"),
    (BudgetExceeded, "budget"),
    (DeadlineExceeded, "deadline"),
    (Cancelled, "cancelled"),
    (ModelError, "model_error"),
    (EnvironmentFault, "source_error"),
)


def failure_of(error: Exception) -> bool:
    """Whether the error becomes a failed answer; the others (wrong use, a miss, a bug) are raised."""
    return isinstance(error, SleuthError) and not isinstance(error, WrongUse | CassetteMiss)


def answer_of(value: Any, error: Exception | None, usage: Usage, run: str) -> Answer:
    """The answer that a run closes with. What is no `Answer` is one by its text."""
    if error is not None:
        note = str(error) if failure_of(error) else f"{type(error).__name__}: {error}"
        return Answer("", "failed", why(error), note=note, usage=usage, run=run)
    answer = value if isinstance(value, Answer) else Answer(str(value), "answered", "final_answer")
    return replace(answer, usage=usage, run=run)


def why(error: Exception) -> Why:
    """The reason that stands in the answer; ``cancelled`` for what stopped the run without a reason of its own."""
    return next((name for kind, name in WHY if isinstance(error, kind)), "cancelled")


def fault_of(request: Request[Any], error: BaseException) -> SleuthError:
    """What is told of a request that was stopped by what is no `SleuthError`: a bug in its port, or the run's abort."""
    if not isinstance(error, Exception):
        return Cancelled("The run was stopped.")
    kind = SourceError if isinstance(request, Search | Open) else ToolError if isinstance(request, Call) else ModelError
    return kind(f"{type(error).__name__}: {error}")
