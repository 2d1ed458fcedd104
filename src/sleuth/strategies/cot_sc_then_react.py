"""The majority of sampled chains of thought, and where it is thin, ReAct (Yao et al. 2023, section 3.2).

"When the majority answer among n CoT-SC samples occurs less than n/2 times (i.e. internal knowledge might not support
the task confidently), back off to ReAct": look-ups are paid for only where the model's own answers disagree.
"""

from __future__ import annotations

from sleuth.guards.guarded import PAPER
from sleuth.strategies.backoff import back_off, checked_by, unsure
from sleuth.strategies.cot_sc import cot_sc
from sleuth.strategies.react import react
from sleuth.strategies.react_then_cot_sc import STEPS, most_calls
from sleuth.strategies.trajectories import Task
from sleuth.types import Answer, Card, Flow, Guards, Strategy

HALF = 0.5
"""The share of the samples that the majority must have (ReAct, section 3.2)."""


def cot_sc_then_react(
    question: str,
    *,
    n: int = 21,
    temperature: float = 0.7,
    share: float = HALF,
    steps: int | None = None,
    reader: bool = True,
    task: Task = "question",
    shots: int = 3,
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """CoT-SC with `n` samples; where the majority has less than `share` of them, ReAct (`steps`: 7, 5 for a claim).

    Where ReAct has no answer, the majority stands, however thin. Samples end as soon as that share is reached or out of reach.
    """
    first = cot_sc(question, n=n, temperature=temperature, share=share, task=task, guards=guards)
    answer = yield from back_off(
        first,
        unsure(share),
        lambda found: react(question, steps=steps or STEPS[task], reader=reader, task=task, shots=shots, guards=guards),
        names=("cot-sc", "react"),
    )
    return (yield from checked_by(question, answer, task, guards))


STRATEGY = Strategy(
    Card(
        name="cot-sc-then-react",
        summary="Asks the model several times by itself; looks up as ReAct does only where its answers disagree.",
        paper="Yao et al. 2023, ReAct, section 3.2 (CoT-SC -> ReAct)",
        when=("look-ups cost more than samples, and the model knows much by itself",),
        avoid=("answers that must have a citation: a vote has none", "small models that agree on what is wrong"),
        loop=True,
        parallel=True,
        branch=True,
        person_in_the_loop=False,
        autonomy="high",
        cost="high",
        latency="high",
        calls="one a sample; where they disagree, those of react besides",
    ),
    cot_sc_then_react,
    settings={
        "default": {"n": 5},
        "paper": {"reader": False, "guards": PAPER},
        "claims": {"n": 5, "task": "claim", "reader": False},
    },
    most_calls=most_calls,
)
