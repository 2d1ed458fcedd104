"""An answer on stdout: for people, and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sleuth.cli.screen import put, put_json, stdout
from sleuth.cli.text import one_line
from sleuth.types import Answer, Citation, Hop, Usage

ANSWERED, NO_ANSWER, ENVIRONMENT = 0, 1, 3


def exit_status(answer: Answer) -> int:
    """0 answered, 3 when there is none because the model or a source failed, else 1."""
    if answer.status == "answered":
        return ANSWERED
    return ENVIRONMENT if answer.ended in ("model_error", "source_error") else NO_ANSWER


def put_answer(answer: Answer, *, trace: Path | None, seconds: float | None = None) -> None:
    """The answer, its citations, how it ended, what it cost, and where the trace is.

    `seconds` is the time the user waited; without it the requests' own times are told.
    """
    console = stdout()
    put(console, (answer.text, "bold green") if answer.status == "answered" else ("No answer.", "bold yellow"))
    for number, citation in enumerate(answer.citations, start=1):
        mark = "" if citation.verified else "  (not verified)"
        quote = one_line(citation.quote)
        put(console, (f"  [{number}] ", "dim"), (one_line(citation.title), "bold"), f': "{quote}"', (mark, "yellow"))
    note = f": {one_line(answer.note)}" if answer.note else ""
    put(console, ("status   ", "dim"), f"{answer.status}, {answer.ended.replace('_', ' ')}{note}")
    if sure := confidence(answer):
        put(console, ("confidence ", "dim"), sure)
    put(console, ("cost     ", "dim"), cost(answer.usage, seconds))
    if trace is not None:
        put(console, ("trace    ", "dim"), str(trace))


def confidence(answer: Answer) -> str:
    """The answer's confidence and where it is from: "0.83 (log-probability)"; "" where there is none."""
    if answer.confidence is None or not answer.text:
        return ""
    named = {"logprob": "log-probability", "asked": "as the model says"}.get(answer.confidence_by, answer.confidence_by)
    return f"{answer.confidence:.2f}" + (f" ({named})" if named else "")


def cost(usage: Usage, seconds: float | None = None) -> str:
    """What was spent, in one line."""
    parts = [
        many(usage.calls, "call"),
        many(usage.searches, "search", "searches"),
        f"read {usage.read:,} new and {usage.cached:,} cached tokens",
        f"wrote {usage.written:,}",
        *([f"${usage.usd:.4f}"] if usage.usd else []),
        f"{usage.seconds if seconds is None else seconds:.1f} s",
    ]
    return ", ".join(parts)


def put_answer_json(answer: Answer, *, trace: Path | None, about: Mapping[str, Any] | None = None, **more: Any) -> None:
    """The same as one JSON object, with what the run was made of."""
    made = {key: value for key, value in (about or {}).items() if key != "budget"}
    put_json({**more, **made, **as_json(answer), "trace": str(trace) if trace else None})


def as_json(answer: Answer) -> dict[str, Any]:
    """The answer as plain values."""
    return {
        "answer": answer.text,
        "status": answer.status,
        "ended": answer.ended,
        "note": answer.note,
        "confidence": answer.confidence,
        "confidence_by": answer.confidence_by,
        "citations": [_citation(each) for each in answer.citations],
        "hops": [_hop(each) for each in answer.hops],
        "usage": {name: getattr(answer.usage, name) for name in Usage.__slots__},
        "run": answer.run,
    }


def _citation(citation: Citation) -> dict[str, Any]:
    return {name: getattr(citation, name) for name in Citation.__slots__}


def _hop(hop: Hop) -> dict[str, Any]:
    return {
        "question": hop.question,
        "query": hop.query,
        "answer": hop.answer,
        "outcome": hop.outcome,
        "grounded": hop.grounded,
        "passages": [{"id": p.id, "title": p.title, "why": p.why} for p in hop.evidence],
        "citation": _citation(hop.citation) if hop.citation else None,
    }


def many(count: int, one: str, more: str = "") -> str:
    """A count with its noun."""
    return f"{count} {one if count == 1 else more or one + 's'}"
