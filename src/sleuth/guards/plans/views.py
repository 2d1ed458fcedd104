"""A plan as people and programs look at it: JSON, an outline, a Mermaid diagram, and what it will cost."""

from __future__ import annotations

import json
import re
from typing import Any

from sleuth.guards.plans.steps import Plan, PlanStep, fields_named

PLANNING_TOKENS = 500
STEP_TOKENS = 300
FIELD_TOKENS = 300
ANSWER_TOKENS = 400
"""Tokens, read and written, that one call of each kind takes with the embedded model: rounded means over 10 development questions."""


def as_json(plan: Plan, indent: int | None = 2) -> str:
    """The plan as JSON text that `from_json` reads again: ``{"steps": [{"id", "query", "depends_on"}]}``."""
    return json.dumps({"steps": [_fields(step) for step in plan.steps]}, ensure_ascii=False, indent=indent)


def text(plan: Plan) -> str:
    """An outline, a line a step: its id, its query, what it waits for."""
    width = max((len(step.id) for step in plan.steps), default=0)
    return "\n".join(f"{step.id:{width}}  {step.query}{_aside(step)}" for step in plan.steps)


def mermaid(plan: Plan) -> str:
    """The plan as a Mermaid flowchart. Queries are not trusted: what is no letter, digit or plain mark is escaped."""
    at = {step.id: f"n{n}" for n, step in reversed(list(enumerate(plan.steps)))}
    lines = ["flowchart TD"]
    for n, step in enumerate(plan.steps):
        left, right = ("([", "])") if step.synthesis else ("[[", "]]") if step.tool else ("[", "]")
        lines.append(f'    n{n}{left}"{_escaped(f"{step.id}: {step.query}")}"{right}')
    for n, step in enumerate(plan.steps):
        lines += [f"    {at[other]} --> n{n}" for other in step.depends_on if other in at]
    return "\n".join(lines)


def estimate(plan: Plan) -> tuple[int, int]:
    """About how many model calls and tokens (read and written) running the plan takes, its own planning call included.

    One call plans, one reads the answer of each step that is searched, one reads each field that another step names
    (a date is read by rule, without a call, where there is one), one answers. Repairs and second readings come
    on top; tokens are means of the embedded model's runs.
    """
    looked = [step for step in plan.steps if not step.synthesis and not step.tool]
    fields = sum(len(names) for names in fields_named(plan.steps).values())
    calls = 1 + len(looked) + fields + 1
    return calls, PLANNING_TOKENS + STEP_TOKENS * len(looked) + FIELD_TOKENS * fields + ANSWER_TOKENS


def _fields(step: PlanStep) -> dict[str, Any]:
    told: dict[str, Any] = {"id": step.id, "query": step.query, "depends_on": list(step.depends_on)}
    return told | ({"tool": step.tool} if step.tool else {}) | ({"synthesis": True} if step.synthesis else {})


def _aside(step: PlanStep) -> str:
    kind = "not searched" if step.synthesis else f"tool {step.tool}" if step.tool else ""
    after = f"after {', '.join(step.depends_on)}" if step.depends_on else ""
    told = "; ".join(part for part in (kind, after) if part)
    return f"  ({told})" if told else ""


def _escaped(label: str) -> str:
    return re.sub(r"[^\w ,.:?()'-]|_", lambda sign: f"#{ord(sign.group())};", " ".join(label.split()))
