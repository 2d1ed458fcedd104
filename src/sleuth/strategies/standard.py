"""Standard prompting (the ReAct paper's baseline, section 3.2): the question, no thoughts, no look-ups.

The default is the reader's bare short-answer form. The paper's setting shows ReAct's worked trajectories less
thoughts, actions and observations: what is left are questions and answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from sleuth.errors import BadReply
from sleuth.guards.guarded import PAPER, extra_calls, guarded
from sleuth.guards.outcome import answered
from sleuth.strategies.reader import EXAMPLES, INSTRUCTIONS, Form, concluded_by, parse, read_answer
from sleuth.strategies.trajectories import HEADED, WORKED, Task, guards_for, rendered, verdict
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Completion, Flow, Guards, Strategy
from sleuth.verbs import generate

WORKED_INSTRUCTIONS: dict[Task, str] = {
    "question": "Answer each question in a few words.",
    "claim": "Determine if each claim is true: answer SUPPORTS, REFUTES or NOT ENOUGH INFO.",
}
STOP = ("\n", " Question:", " Claim:")


def head(question: str, task: Task = "question", shots: int = 6) -> str:
    """The first `shots` worked examples as questions and answers, and the question."""
    worked = rendered(WORKED[task][:shots], thoughts="none", actions=False)
    return f"{WORKED_INSTRUCTIONS[task]}\n\n{worked}\n\n{HEADED[task]}: {question}\nAnswer:"


def standard(
    question: str,
    *,
    task: Task = "question",
    worked: bool = False,
    shots: int = 6,
    examples: Sequence[tuple[str, str]] = EXAMPLES,
    instructions: str = INSTRUCTIONS,
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """One call, from the model's own knowledge. `examples` are (question, answer) pairs.

    `worked` shows the first `shots` worked trajectories' questions and answers in their place; a claim always has them.
    """
    guards = guards_for(task, guards)
    if worked or task == "claim":
        t = Transcript(head(question, task, shots))
        return (yield from guarded(question, t, _as_worked(t, task), guards))
    form = Form(examples, instructions)
    t = Transcript(form.head())

    def flow() -> Flow[Answer]:
        reading = yield from read_answer(question, (), form=form)
        return concluded_by(t, reading)

    return (yield from guarded(question, t, flow(), guards))


def _as_worked(t: Transcript, task: Task) -> Flow[Answer]:
    reply: Completion = yield from generate(t.messages(), stop=STOP, max_tokens=32, closing=True)
    t.wrote(reply.text)
    said = parse(reply.text)
    answer = verdict(said) if task == "claim" else said
    if not answer:
        raise BadReply("The model's short answer is empty, or no verdict.", reply=reply.text)
    return answered(t, answer)


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
    settings={
        "default": {},
        "paper": {"worked": True, "guards": PAPER},
        "claims": {"task": "claim", "guards": PAPER},
    },
    most_calls=lambda params: 1 + extra_calls(params, 0),
)
