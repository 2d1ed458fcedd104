"""Standard prompting (the ReAct paper's baseline, section 3.2): the question, no thoughts, no look-ups."""

from __future__ import annotations

from collections.abc import Sequence

from sleuth.guards.outcome import concluded
from sleuth.strategies.reader import EXAMPLES, INSTRUCTIONS, Form, concluded_by, read_answer
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Flow, Strategy


def standard(
    question: str, *, examples: Sequence[tuple[str, str]] = EXAMPLES, instructions: str = INSTRUCTIONS
) -> Flow[Answer]:
    """One call, from the model's own knowledge. `examples` are (question, answer) pairs."""
    form = Form(examples, instructions)
    t = Transcript(form.head())

    def flow() -> Flow[Answer]:
        reading = yield from read_answer(question, (), form=form)
        return concluded_by(t, reading)

    return (yield from concluded(t, flow()))


STRATEGY = Strategy(
    Card(
        name="standard",
        summary="Asks the model outright, with nothing looked up: the floor that every look-up must beat.",
        paper="Yao et al. 2023, ReAct, section 3.2 (Standard)",
        when=("as a yardstick: what the model knows by itself",),
        avoid=("any question whose answer must be true or shown",),
        loop=False,
        parallel=False,
        branch=False,
        person_in_the_loop=False,
        autonomy="low",
        cost="low",
        latency="low",
        calls="1",
        aliases=("closed-book",),
    ),
    standard,
    settings={"default": {}, "paper": {}},
    most_calls=lambda params: 1,
)
