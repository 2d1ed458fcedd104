"""ReAct, and where it returns no answer in time, the majority of sampled chains of thought (Yao et al. 2023, section 3.2).

"When ReAct fails to return an answer within given steps, back off to CoT-SC": 7 steps for questions, 5 for claims.
The paper's setting is that. In the default setting ReAct's loop only finds passages and a reading over them always
answers, so its confidence is the condition: under `sure`, the samples are asked, and the surer answer counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sleuth.guards.guarded import PAPER
from sleuth.strategies import cot_sc as voting
from sleuth.strategies import react as acting
from sleuth.strategies.backoff import back_off, checked_by, no_answer, surer, unsure
from sleuth.strategies.cot_sc import cot_sc
from sleuth.strategies.react import react
from sleuth.strategies.trajectories import Task
from sleuth.types import Answer, Card, Flow, Guards, Strategy

STEPS: Mapping[Task, int] = {"question": 7, "claim": 5}
"""Steps in which ReAct must answer (ReAct, section 3.2)."""
SURE = 0.6
"""The reading's confidence under which the default setting asks the samples, too (seen on six development questions: a start)."""


def react_then_cot_sc(
    question: str,
    *,
    steps: int | None = None,
    n: int = 21,
    temperature: float = 0.7,
    reader: bool = True,
    sure: float = SURE,
    task: Task = "question",
    shots: int = 3,
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """ReAct with `steps` steps (7; 5 for a claim), then CoT-SC with `n` samples where it has no answer.

    `reader` lets a reading answer (see `react`): then a confidence under `sure` is a reason to back off, too.
    """
    first = react(question, steps=steps or STEPS[task], reader=reader, task=task, shots=shots, guards=guards)
    answer = yield from back_off(
        first,
        unsure(sure) if reader else no_answer,
        lambda found: cot_sc(question, n=n, temperature=temperature, task=task, guards=guards),
        names=("react", "cot-sc"),
        chosen=surer,
    )
    return (yield from checked_by(question, answer, task, guards))


def most_calls(params: Mapping[str, Any]) -> int:
    """Those of ReAct and of the samples, in whichever order."""
    steps = params.get("steps") or STEPS[params.get("task", "question")]
    return acting.STRATEGY.most_calls({**params, "steps": steps}) + voting.STRATEGY.most_calls(params)


STRATEGY = Strategy(
    Card(
        name="react-then-cot-sc",
        summary="Looks up as ReAct does; where that brings no answer, takes what most sampled chains of thought say.",
        paper="Yao et al. 2023, ReAct, section 3.2 (ReAct -> CoT-SC)",
        when=("the model knows much by itself, and look-ups may fail",),
        avoid=("answers that must have a citation: a vote has none", "small models, which know little by themselves"),
        loop=True,
        parallel=True,
        branch=True,
        person_in_the_loop=False,
        autonomy="high",
        cost="high",
        latency="high",
        calls="those of react; where it fails, one a sample besides",
    ),
    react_then_cot_sc,
    settings={
        "default": {"n": 5},
        "paper": {"reader": False, "guards": PAPER},
        "claims": {"n": 5, "task": "claim", "reader": False},
    },
    most_calls=most_calls,
)
