"""The worked trajectories that ReAct is shown, once; every ablation's examples are made of them by deleting parts.

Standard, chain-of-thought and Act are ReAct less thoughts, actions and observations (Yao et al. 2023, section 3.2):
`rendered` deletes, so no example is written twice. Every name is made up: none can be what a question is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sleuth.types import Guards

Kind: TypeAlias = Literal["decompose", "commonsense", "extract", "track", "exception", ""]
"""What a thought is for (ReAct, section 2): taking the goal apart, knowing how things are, drawing from an observation
what matters, keeping track of what is done and what is next, going another way when something failed."""
Thoughts: TypeAlias = Literal["dense", "sparse", "none"]
"""A thought before each action; thoughts as actions where they are most needed; none at all (ReAct, sections 2 and 4)."""
Task: TypeAlias = Literal["question", "claim"]

KEPT: frozenset[Kind] = frozenset(("decompose", "commonsense", "exception"))
"""The kinds that stay in the sparse form: what an action does not show by itself."""
VERDICTS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
"""What can be said of a claim (FEVER, Thorne et al. 2018)."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One step: a thought, an action ("Search[...]"), what came back ("" for the last), and the thought's kind."""

    thought: str
    action: str
    observation: str = ""
    kind: Kind = ""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A question (or claim, by its `label`) and the steps that answered it; the last action is Finish[...]."""

    question: str
    turns: tuple[Turn, ...]
    label: Literal["Question", "Claim"] = "Question"

    @property
    def answer(self) -> str:
        """What its Finish[...] gives."""
        return self.turns[-1].action.removeprefix("Finish[").removesuffix("]")


QUESTION_ANSWERING: tuple[Trajectory, ...] = (
    Trajectory(
        "How deep is the lake that the western arm of the Ostrel canal runs into?",
        (
            Turn(
                "I need to search Ostrel canal, find the lake that its western arm runs into, then find how deep that lake is.",
                "Search[Ostrel canal]",
                "The Ostrel canal is a waterway in the province of Tarn Hollow. It was dug to carry timber and salt.",
                "decompose",
            ),
            Turn(
                "It does not mention the western arm. So I need to look up western arm.",
                "Lookup[western arm]",
                "(Result 1 / 1) The western arm runs into Lake Mirrow, where the barges were unloaded.",
                "exception",
            ),
            Turn(
                "The western arm runs into Lake Mirrow. So I need to search Lake Mirrow and find how deep it is.",
                "Search[Lake Mirrow]",
                "Lake Mirrow is a lake in the province of Tarn Hollow. It is 38 metres deep and frozen for four months of the year.",
                "extract",
            ),
            Turn("Lake Mirrow is 38 metres deep. So the answer is 38 metres.", "Finish[38 metres]", kind="extract"),
        ),
    ),
    Trajectory(
        "Which instrument did the founder of the Quillon choir play?",
        (
            Turn(
                "I need to search Quillon choir, find its founder, then find which instrument the founder played.",
                "Search[Quillon choir]",
                "Could not find [Quillon choir]. Similar: ['Quillon Singers', 'Quillon (village)', 'Choir of Saint Orsa']",
                "decompose",
            ),
            Turn(
                "The Quillon choir may be called Quillon Singers. I need to search Quillon Singers instead.",
                "Search[Quillon Singers]",
                "The Quillon Singers are a choir from the village of Quillon. They were founded by Bettan Ruhl and sing without a conductor.",
                "exception",
            ),
            Turn(
                "The founder is Bettan Ruhl. I need to search Bettan Ruhl and find the instrument.",
                "Search[Bettan Ruhl]",
                "Bettan Ruhl was a teacher and a player of the viola who founded the Quillon Singers.",
                "extract",
            ),
            Turn("Bettan Ruhl played the viola. So the answer is viola.", "Finish[viola]", kind="extract"),
        ),
    ),
    Trajectory(
        "Were the potter Ansa Veldering and the weaver Jorun Thale born in the same town?",
        (
            Turn(
                "I need to search Ansa Veldering and Jorun Thale, and find where each was born.",
                "Search[Ansa Veldering]",
                "Ansa Veldering was a potter. She was born in Norrbeck and worked with red clay.",
                "decompose",
            ),
            Turn(
                "Ansa Veldering was born in Norrbeck. I need to search Jorun Thale next and find where Thale was born.",
                "Search[Jorun Thale]",
                "Jorun Thale is a weaver, born in Osterby, whose cloths hang in many town halls.",
                "track",
            ),
            Turn(
                "Jorun Thale was born in Osterby. Norrbeck and Osterby are not the same town. So the answer is no.",
                "Finish[no]",
                kind="commonsense",
            ),
        ),
    ),
    Trajectory(
        "In which year was the school where the botanist Pella Morgrave taught founded?",
        (
            Turn(
                "I need to search Pella Morgrave, find the school, then find when the school was founded.",
                "Search[Pella Morgrave]",
                "Pella Morgrave was a botanist who taught at the Fenwold School of Gardening. She described eleven mosses.",
                "decompose",
            ),
            Turn(
                "Pella Morgrave taught at the Fenwold School of Gardening. I need to search it and find when it was founded.",
                "Search[Fenwold School of Gardening]",
                "The Fenwold School of Gardening teaches the care of orchards. It has a walled garden and a seed house.",
                "extract",
            ),
            Turn(
                "It does not say when the school was founded. So I need to look up founded.",
                "Lookup[founded]",
                "(Result 1 / 1) The school was founded in 1874 by a guild of seed merchants.",
                "exception",
            ),
            Turn("The school was founded in 1874. So the answer is 1874.", "Finish[1874]", kind="extract"),
        ),
    ),
    Trajectory(
        "Which has more steps, the Grelm tower or the Ivarness lighthouse?",
        (
            Turn(
                "I need to search the Grelm tower and the Ivarness lighthouse, and find how many steps each has.",
                "Search[Grelm tower]",
                "The Grelm tower is a watchtower above a salt works. Its 187 steps are cut from one kind of stone.",
                "decompose",
            ),
            Turn(
                "The Grelm tower has 187 steps. I need to search the Ivarness lighthouse next and find how many it has.",
                "Search[Ivarness lighthouse]",
                "The Ivarness lighthouse stands on a reef. It is painted white, and 214 steps lead to its lamp.",
                "track",
            ),
            Turn(
                "The Ivarness lighthouse has 214 steps, more than 187. So the answer is the Ivarness lighthouse.",
                "Finish[the Ivarness lighthouse]",
                kind="commonsense",
            ),
        ),
    ),
    Trajectory(
        "Does the Varnholt ferry run in the season of the Sellby wool fair?",
        (
            Turn(
                "I need to search the Sellby wool fair, find its season, then find whether the Varnholt ferry runs in that season.",
                "Search[Sellby wool fair]",
                "The Sellby wool fair is a market for sheep and wool. It is held each summer on the village green.",
                "decompose",
            ),
            Turn(
                "The Sellby wool fair is held in summer. I need to search the Varnholt ferry and find when it runs.",
                "Search[Varnholt ferry]",
                "The Varnholt ferry crosses a narrow sound. It runs all year but in winter, when the sound is frozen.",
                "extract",
            ),
            Turn(
                "The Varnholt ferry rests only in winter, and summer is another season. So the answer is yes.",
                "Finish[yes]",
                kind="commonsense",
            ),
        ),
    ),
)

CLAIMS: tuple[Trajectory, ...] = (
    Trajectory(
        "The painter Odrun Felk died in the town where she was born.",
        (
            Turn(
                "I need to search Odrun Felk, and find where she was born and where she died.",
                "Search[Odrun Felk]",
                "Odrun Felk was a painter of harbours. She was born in Mossvik. She travelled for ten years, and died in her studio in Mossvik.",
                "decompose",
            ),
            Turn(
                "Odrun Felk was born in Mossvik and died in Mossvik. So the claim is supported.",
                "Finish[SUPPORTS]",
                kind="extract",
            ),
        ),
        "Claim",
    ),
    Trajectory(
        "The Tarrow viaduct was completed before the Lundel tunnel was opened.",
        (
            Turn(
                "I need to search the Tarrow viaduct and the Lundel tunnel, and find the year of each.",
                "Search[Tarrow viaduct]",
                "The Tarrow viaduct carries a railway over a marsh. It has nineteen arches and was completed in 1911.",
                "decompose",
            ),
            Turn(
                "The Tarrow viaduct was completed in 1911. I need to search the Lundel tunnel next and find its year.",
                "Search[Lundel tunnel]",
                "The Lundel tunnel is a tunnel of the same railway. It was opened in 1898.",
                "track",
            ),
            Turn(
                "The Lundel tunnel was opened in 1898, before 1911. So the claim is refuted.",
                "Finish[REFUTES]",
                kind="commonsense",
            ),
        ),
        "Claim",
    ),
    Trajectory(
        "The clockmaker Ruvik Amsel owned a vineyard.",
        (
            Turn(
                "I need to search Ruvik Amsel, and find whether he owned a vineyard.",
                "Search[Ruvik Amsel]",
                "Ruvik Amsel was a clockmaker. He made the clock of the corn exchange in Norrbeck and taught four apprentices.",
                "decompose",
            ),
            Turn(
                "It does not mention a vineyard. So I need to look up vineyard.",
                "Lookup[vineyard]",
                "No more results.",
                "exception",
            ),
            Turn(
                "Nothing is said of a vineyard of Ruvik Amsel. So there is not enough information.",
                "Finish[NOT ENOUGH INFO]",
                kind="extract",
            ),
        ),
        "Claim",
    ),
)

WORKED: dict[Task, tuple[Trajectory, ...]] = {"question": QUESTION_ANSWERING, "claim": CLAIMS}
HEADED: dict[Task, str] = {"question": "Question", "claim": "Claim"}


_PLANNED = re.compile(r"(?:So )?I need to (?:search|look up)\b[^.]*\.\s*")
"""A sentence that plans an action: it goes where the actions go, and so does a thought about one that failed."""


def rendered(trajectories: Sequence[Trajectory], *, thoughts: Thoughts = "dense", actions: bool = True) -> str:
    """The trajectories as a strategy shows them, with what it lacks deleted.

    ReAct: all. Sparse ReAct: a kept thought is an action ``Think[...]`` that nothing answers. Act: no `thoughts`. Chain
    of thought: no `actions` (and so no observations, and no words that plan an action or say that one failed).
    Standard: neither; both end in the answer that Finish gives.
    """
    return "\n\n".join("\n".join(_lines(one, thoughts, actions)) for one in trajectories)


def _lines(trajectory: Trajectory, thoughts: Thoughts, actions: bool) -> Iterator[str]:
    yield f"{trajectory.label}: {trajectory.question}"
    if not actions:
        kept = [turn.thought for turn in trajectory.turns if _keeps(turn, thoughts) and turn.kind != "exception"]
        if told := _PLANNED.sub("", " ".join(kept)).strip():
            yield f"Thought: {told}"
        yield f"Answer: {trajectory.answer}"
        return
    n = 0
    for turn in trajectory.turns:
        n += 1
        if _keeps(turn, thoughts) and thoughts == "dense":
            yield f"Thought {n}: {turn.thought}"
        elif _keeps(turn, thoughts):
            yield f"Action {n}: Think[{turn.thought}]"
            n += 1
        yield f"Action {n}: {turn.action}"
        if turn.observation:
            yield f"Observation {n}: {turn.observation}"


def _keeps(turn: Turn, thoughts: Thoughts) -> bool:
    return thoughts == "dense" or (thoughts == "sparse" and turn.kind in KEPT)


def verdict(text: str) -> str:
    """The label that a text gives to a claim ("refuted", "Not enough information."); "" where it gives none, or several."""
    said = {name for name, pattern in _VERDICTS.items() if pattern.search(text)}
    return said.pop() if len(said) == 1 else ""


_VERDICTS = {
    "SUPPORTS": re.compile(r"(?<!not )\bsupport(?:s|ed)?\b", re.IGNORECASE),
    "REFUTES": re.compile(r"(?<!not )\brefute[sd]?\b", re.IGNORECASE),
    "NOT ENOUGH INFO": re.compile(r"\bnot[\s_-]+enough[\s_-]+info(?:rmation)?\b", re.IGNORECASE),
}
_FAILED = re.compile(r"\b(?:instead|does not (?:say|mention)|could not find|no (?:more )?results?)\b", re.IGNORECASE)
_GOAL = re.compile(r"\bI need to\b.*\b(?:then|and find|each)\b", re.IGNORECASE)
_NEXT = re.compile(r"\bI need to\b.*\bnext\b", re.IGNORECASE)


def kind_of(thought: str, *, first: bool = False) -> Kind:
    """A thought's kind, where its words tell it by rule; "" where they do not. `first`: the run's first thought."""
    if _FAILED.search(thought):
        return "exception"
    if first:
        return "decompose" if _GOAL.search(thought) else ""
    return "track" if _NEXT.search(thought) else ""


def guards_for(task: Task, guards: Guards) -> Guards:
    """The guards without the check of the citations for a claim: its label stands in no passage."""
    return replace(guards, citations="off") if task == "claim" else guards


def pairs(trajectories: Sequence[Trajectory]) -> tuple[tuple[str, str], ...]:
    """(question, answer) of each: Standard's examples as the reader's form takes them."""
    return tuple((trajectory.question, trajectory.answer) for trajectory in trajectories)
