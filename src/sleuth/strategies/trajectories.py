"""The worked trajectories that ReAct is shown. Every name in them is made up: none can be what a question is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """One step: a thought, an action ("Search[...]"), and what came back ("" for the last)."""

    thought: str
    action: str
    observation: str = ""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A question and the steps that answered it; the last action is Finish[...]."""

    question: str
    turns: tuple[Turn, ...]


QUESTION_ANSWERING: tuple[Trajectory, ...] = (
    Trajectory(
        "How deep is the lake that the western arm of the Ostrel canal runs into?",
        (
            Turn(
                "I need to search Ostrel canal, find the lake that its western arm runs into, then find how deep that lake is.",
                "Search[Ostrel canal]",
                "The Ostrel canal is a waterway in the province of Tarn Hollow. It was dug to carry timber and salt.",
            ),
            Turn(
                "It does not mention the western arm. So I need to look up western arm.",
                "Lookup[western arm]",
                "(Result 1 / 1) The western arm runs into Lake Mirrow, where the barges were unloaded.",
            ),
            Turn(
                "The western arm runs into Lake Mirrow. So I need to search Lake Mirrow and find how deep it is.",
                "Search[Lake Mirrow]",
                "Lake Mirrow is a lake in the province of Tarn Hollow. It is 38 metres deep and frozen for four months of the year.",
            ),
            Turn("Lake Mirrow is 38 metres deep. So the answer is 38 metres.", "Finish[38 metres]"),
        ),
    ),
    Trajectory(
        "Which instrument did the founder of the Quillon choir play?",
        (
            Turn(
                "I need to search Quillon choir, find its founder, then find which instrument the founder played.",
                "Search[Quillon choir]",
                "Could not find [Quillon choir]. Similar: ['Quillon Singers', 'Quillon (village)', 'Choir of Saint Orsa']",
            ),
            Turn(
                "The Quillon choir may be called Quillon Singers. I need to search Quillon Singers instead.",
                "Search[Quillon Singers]",
                "The Quillon Singers are a choir from the village of Quillon. They were founded by Bettan Ruhl and sing without a conductor.",
            ),
            Turn(
                "The founder is Bettan Ruhl. I need to search Bettan Ruhl and find the instrument.",
                "Search[Bettan Ruhl]",
                "Bettan Ruhl was a teacher and a player of the viola who founded the Quillon Singers.",
            ),
            Turn("Bettan Ruhl played the viola. So the answer is viola.", "Finish[viola]"),
        ),
    ),
    Trajectory(
        "Were the potter Ansa Veldering and the weaver Jorun Thale born in the same town?",
        (
            Turn(
                "I need to search Ansa Veldering and Jorun Thale, and find where each was born.",
                "Search[Ansa Veldering]",
                "Ansa Veldering was a potter. She was born in Norrbeck and worked with red clay.",
            ),
            Turn(
                "Ansa Veldering was born in Norrbeck. I need to search Jorun Thale next and find where Thale was born.",
                "Search[Jorun Thale]",
                "Jorun Thale is a weaver, born in Osterby, whose cloths hang in many town halls.",
            ),
            Turn("Norrbeck and Osterby are not the same town. So the answer is no.", "Finish[no]"),
        ),
    ),
)


def rendered(trajectories: Sequence[Trajectory]) -> str:
    """The trajectories as ReAct shows them: numbered thoughts, actions and observations."""
    return "\n\n".join(_one(trajectory) for trajectory in trajectories)


def _one(trajectory: Trajectory) -> str:
    lines = [f"Question: {trajectory.question}"]
    for n, turn in enumerate(trajectory.turns, 1):
        lines += [f"Thought {n}: {turn.thought}", f"Action {n}: {turn.action}"]
        lines += [f"Observation {n}: {turn.observation}"] if turn.observation else []
    return "\n".join(lines)
