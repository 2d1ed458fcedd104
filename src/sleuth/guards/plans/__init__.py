"""Plans: steps that depend on each other, read from a model's text, checked, mended, and shown."""

from __future__ import annotations

from sleuth.guards.plans.linting import (
    MOST_STEPS,
    WIDEST,
    completed,
    is_anaphoric,
    is_synthesis,
    lint,
    lint_step,
    width,
)
from sleuth.guards.plans.reading import PlanReader, from_json, parse_plan
from sleuth.guards.plans.steps import (
    ANSWER,
    Finding,
    Plan,
    PlanStep,
    fields_named,
    groups,
    levels,
    references,
    resolved,
)
from sleuth.guards.plans.views import as_json, estimate, mermaid, text

__all__ = [
    "ANSWER",
    "MOST_STEPS",
    "WIDEST",
    "Finding",
    "Plan",
    "PlanReader",
    "PlanStep",
    "as_json",
    "completed",
    "estimate",
    "fields_named",
    "from_json",
    "groups",
    "is_anaphoric",
    "is_synthesis",
    "levels",
    "lint",
    "lint_step",
    "mermaid",
    "parse_plan",
    "references",
    "resolved",
    "text",
    "width",
]
