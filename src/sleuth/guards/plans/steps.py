"""What a plan is: steps, what they refer to, and the order in which they can be run.

Used through `sleuth.guards.plans`. References are ReWOO's and LLMCompiler's idea (Xu et al. 2023, section 2; Kim et
al. 2024, section 3): a step may name an earlier step's answer, ``{s1}``, or a field of it, ``{s1.date}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ANSWER = "answer"
"""The field that ``{s1}`` stands for."""
MOST_INSERTED = 200
"""Characters of an answer that are put into a query, at most: a longer one is no short answer."""

_REFERENCE = re.compile(r"\{\s*([\w-]+)(?:\.([^\W\d]\w*))?\s*\}")


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step: what to look up, and the steps whose answers it needs.

    `tool` names a tool to call instead of searching; a `synthesis` step is not searched, it stands for the answer.
    """

    id: str
    query: str
    depends_on: tuple[str, ...] = ()
    tool: str = ""
    synthesis: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order in which they were written."""

    steps: tuple[PlanStep, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a plan: a short code, the step it is about, a sentence. `fatal`: it cannot be run so."""

    code: str
    step: str
    text: str
    fatal: bool


def references(query: str) -> tuple[tuple[str, str], ...]:
    """The (step, field) pairs that the query names, each once, in order; the field is "" for a bare ``{s1}``."""
    return tuple(dict.fromkeys((found[1], found[2] or "") for found in _REFERENCE.finditer(query)))


def fields_named(steps: Iterable[PlanStep]) -> dict[str, tuple[str, ...]]:
    """For each step id, the fields of it that any step names, but for its answer itself."""
    named: dict[str, dict[str, None]] = {}
    for step in steps:
        for other, name in references(step.query):
            if name and name.lower() != ANSWER:
                named.setdefault(other, {})[name] = None
    return {other: tuple(names) for other, names in named.items()}


def resolved(step: PlanStep, answers: Mapping[str, Mapping[str, str]]) -> str:
    """The step's query with the answers of other steps in it.

    `answers` maps a step's id to its fields; ``answer`` is the one that ``{s1}`` stands for, and that a field which
    is not there falls back to. A reference to a step without an answer stays as it is, as do other braces. Answers
    of steps that it depends on and does not name are appended (a small model declares more than it refers to).
    """

    def put(found: re.Match[str]) -> str:
        fields = answers.get(found[1])
        return found[0] if fields is None else _short(fields.get(found[2] or ANSWER) or fields.get(ANSWER, ""))

    named = {other for other, _ in references(step.query)}
    more = (
        _short(answers[other].get(ANSWER, "")) for other in step.depends_on if other in answers and other not in named
    )
    return " ".join(" ".join((_REFERENCE.sub(put, step.query), *more)).split())


def levels(plan: Plan) -> tuple[tuple[PlanStep, ...], ...]:
    """The steps in groups: those of a group need only steps of the groups before it.

    A dependency that no step has is left out of account, and so are further steps of an id that is taken; steps in
    a cycle, and those behind one, are in no group. Linear in the plan's size.
    """
    steps = {step.id: step for step in reversed(plan.steps)}
    waiting = {i: len({d for d in step.depends_on if d in steps}) for i, step in steps.items()}
    behind: dict[str, list[str]] = {}
    for step in dict.fromkeys(steps[s.id] for s in plan.steps):
        for other in dict.fromkeys(step.depends_on):
            behind.setdefault(other, []).append(step.id)
    ready, found = [i for i in dict.fromkeys(s.id for s in plan.steps) if not waiting[i]], []
    while ready:
        found.append(tuple(steps[i] for i in ready))
        freed = []
        for i in ready:
            for other in behind.get(i, ()):
                waiting[other] -= 1
                if not waiting[other]:
                    freed.append(other)
        ready = freed
    return tuple(found)


def groups(plan: Plan) -> tuple[tuple[str, ...], ...]:
    """The ids of `levels`: topological groups, the first of which needs nothing."""
    return tuple(tuple(step.id for step in level) for level in levels(plan))


def _short(answer: str) -> str:
    return " ".join(answer[: MOST_INSERTED + 1].split())[:MOST_INSERTED]
