"""Act: ReAct without its thoughts (Yao et al. 2023, section 3.2, the baseline Act): its examples and loop less what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sleuth.guards.guarded import PAPER
from sleuth.strategies import react as with_thoughts
from sleuth.strategies.trajectories import Task
from sleuth.types import Answer, Card, Flow, Guards, Strategy, ToolSpec


def act(
    question: str,
    *,
    steps: int = 7,
    reader: bool = True,
    k: int = 3,
    task: Task = "question",
    tools: tuple[ToolSpec, ...] = (),
    known: str = "",
    shots: int = 3,
    examples: str = "",
    instructions: str = "",
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """Act over pages: `react` with no thoughts; parameters as there."""
    return (
        yield from with_thoughts.react(
            question,
            steps=steps,
            reader=reader,
            k=k,
            task=task,
            thoughts="none",
            tools=tools,
            known=known,
            shots=shots,
            examples=examples,
            instructions=instructions,
            guards=guards,
        )
    )


def _most_calls(params: Mapping[str, Any]) -> int:
    return with_thoughts.STRATEGY.most_calls({**params, "thoughts": "none"})


STRATEGY = Strategy(
    Card(
        name="act",
        summary="Acts (search, lookup, finish) and observes without writing a thought, until it finishes.",
        paper="Yao et al. 2023, ReAct, section 3.2 (Act)",
        when=("as a yardstick: what ReAct's thoughts bring", "fewer tokens written than ReAct"),
        avoid=("questions whose next look-up must be reasoned out",),
        loop=True,
        parallel=False,
        branch=True,
        person_in_the_loop=False,
        autonomy="high",
        cost="medium",
        latency="medium",
        calls="one a step (at most 7), one more where an action is missing, a reading after each, and one for the answer",
        aliases=("act-only",),
    ),
    act,
    settings={
        "default": {},
        "paper": {"reader": False, "shots": 6, "guards": PAPER},
        "claims": {"reader": False, "task": "claim", "steps": 5, "guards": PAPER},
    },
    most_calls=_most_calls,
)
