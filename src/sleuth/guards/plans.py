"""Plans as values: steps that depend on each other, read from a model's text and checked before they are run."""

from __future__ import annotations

from dataclasses import dataclass


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
