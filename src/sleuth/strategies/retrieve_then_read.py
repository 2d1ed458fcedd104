"""Retrieve-then-read: one search, one answer. The yardstick that every way of planning must beat."""

from __future__ import annotations

from collections.abc import Sequence

from sleuth.guards.evidence import recorded
from sleuth.guards.guarded import PAPER, extra_calls, guarded
from sleuth.guards.outcome import unanswered
from sleuth.guards.searching import look_up
from sleuth.strategies.reader import EXAMPLES, INSTRUCTIONS, Form, concluded_by, read_answer
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Flow, Guards, Hop, Strategy


def retrieve_then_read(
    question: str,
    *,
    k: int = 4,
    examples: Sequence[tuple[str, str]] = EXAMPLES,
    instructions: str = INSTRUCTIONS,
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """One plain search for `k` passages, one short-answer call over them."""
    form = Form(examples, instructions)
    t = Transcript(form.head())

    def flow() -> Flow[Answer]:
        looked = yield from look_up(question, k)
        yield from recorded(t, Hop(question, question, "", looked.outcome, looked.passages))
        if not looked.passages:
            return unanswered(t, looked.ended(), note=looked.told())
        reading = yield from read_answer(question, looked.passages, form=form)
        return concluded_by(t, reading)

    return (yield from guarded(question, t, flow(), guards))


STRATEGY = Strategy(
    Card(
        name="retrieve-then-read",
        summary="Searches once with the question itself and reads the answer from what comes back.",
        paper="Chen et al. 2017, Reading Wikipedia to Answer Open-Domain Questions (the retriever-reader pair)",
        when=("single facts", "as a yardstick for every strategy that plans"),
        avoid=("questions whose parts stand in passages that the question does not name",),
        loop=False,
        parallel=False,
        branch=False,
        person_in_the_loop=False,
        autonomy="low",
        cost="low",
        latency="low",
        calls="1",
        aliases=("rtr", "rag"),
    ),
    retrieve_then_read,
    settings={"default": {}, "paper": {"k": 5, "guards": PAPER}},
    most_calls=lambda params: 1 + extra_calls(params, searches=1),
)
