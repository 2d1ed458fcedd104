"""From how a flow ended to an `Answer`: the one place that maps errors to statuses."""

from __future__ import annotations

from typing import TypeVar

from sleuth import errors as e
from sleuth.transcript import Transcript
from sleuth.types import Answer, Citation, Flow, Passage, Status, Why
from sleuth.verbs import note

T = TypeVar("T")

_WHY: tuple[tuple[type[e.SleuthError], Why], ...] = (
    (e.BadReply, "unparsable"),
    (e.BudgetExceeded, "budget"),
    (e.DeadlineExceeded, "deadline"),
    (e.Cancelled, "cancelled"),
    (e.SourceError, "source_error"),
    (e.ToolError, "source_error"),
    (e.LibraryFault, "source_error"),
    (e.EnvironmentFault, "model_error"),
)


def why(error: e.SleuthError) -> Why:
    """Why a run ended, from the error that ended it."""
    return next((name for kind, name in _WHY if isinstance(error, kind)), "model_error")


def failed(error: e.SleuthError, transcript: Transcript | None = None) -> Answer:
    """No answer, because of this error; the hops and the text so far are kept."""
    if transcript is None:
        return Answer("", "failed", why(error), note=str(error))
    return unanswered(transcript, why(error), status="failed", note=str(error))


def unanswered(transcript: Transcript, ended: Why, *, status: Status = "abstained", note: str = "") -> Answer:
    """No answer: what was found and said so far, and why it ended."""
    return Answer(
        "",
        status,
        ended,
        hops=tuple(transcript.hops),
        transcript=transcript.text(),
        note=note,
        citations=cited(transcript),
    )


def answered(
    transcript: Transcript,
    text: str,
    ended: Why = "final_answer",
    *,
    read: tuple[Passage, ...] = (),
    final: tuple[Citation, ...] = (),
    confidence: float | None = None,
    note: str = "",
) -> Answer:
    """An answer with its proof; an empty text is an abstention."""
    if not text:
        return unanswered(transcript, ended, note=note or "The model wrote an empty answer.")
    return Answer(
        text,
        "answered",
        ended,
        citations=cited(transcript, final),
        confidence=confidence,
        hops=tuple(transcript.hops),
        read=read,
        transcript=transcript.text(),
        note=note,
    )


def cited(transcript: Transcript, final: tuple[Citation, ...] = ()) -> tuple[Citation, ...]:
    """The hops' citations and the final ones, each quote once, in the order in which they were found."""
    found = [hop.citation for hop in transcript.hops if hop.citation] + list(final)
    return tuple({(c.passage, c.quote): c for c in found}.values())


def concluded(transcript: Transcript, flow: Flow[Answer]) -> Flow[Answer]:
    """Run the flow; a failure of model, source or budget becomes a failed `Answer` that keeps what was found.

    Wrong use and a replay's miss are the caller's to hear, and pass through.
    """
    try:
        return (yield from flow)
    except (e.BadReply, e.Ended, e.EnvironmentFault) as error:
        return failed(error, transcript)


def spared(flow: Flow[T]) -> Flow[T | None]:
    """What a call brings that the run can do without; None, and a note, where the model fails or the budget does not reach."""
    try:
        return (yield from flow)
    except e.BudgetExceeded as short:
        yield from note("budget", str(short))
    except e.ModelError as error:
        yield from note("model_error", str(error))
    return None
