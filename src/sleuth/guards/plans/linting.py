"""The plan linter: what is wrong with a plan before anything is spent on it, and what can be mended without asking."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sleuth.guards.plans.steps import Finding, Plan, PlanStep, levels, references

MOST_STEPS = 12
WIDEST = 6
"""Steps of a plan, and steps that can be run at once, at most. Sleuth's own limits: a plan is checked by a person."""
MOST_NAMED = 12
"""Ids of a cycle that its finding names, at most."""

_THINGS = (
    "person|man|woman|actor|actress|author|writer|director|singer|artist|band|group|team|company|organi[sz]ation|city|town"
    "|village|place|country|state|river|film|movie|book|novel|song|album|series|show|game|event|date|day|month|year|time"
    "|period|moment|location|school|university|one|individual|character|player|president|result|answer"
)
_POINTS = re.compile(
    rf"\b(?:(?:that|this|these|those|said)\s+(?:same\s+)?(?:{_THINGS})s?|the\s+same\s+(?:{_THINGS})"
    rf"|the\s+(?:{_THINGS})s?\s+(?:found|identified|mentioned|named|from)\s+(?:in\s+)?(?:step|above|before|earlier|previous)\w*"
    r"|the\s+(?:former|latter|above)|(?:previous|first|earlier|above)\s+(?:step|answer|result)s?)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:he|she|they|it|him|them|his|her|hers|its|their|theirs)\b|^\W*(?:He|She|They|It|His|Her|Its|Their)\b"
)
_NAME = re.compile(
    r"(?<!^)\b[^\W\d_a-z][\w'’.-]*|^(?!(?:Wh|How|Is|Are|Was|Were|Did|Do|Does|In|The|When|Find)\w*)[A-Z]\w+\b"
)
_SYNTHESIS = re.compile(
    r"\s*(?:synthesi[sz]\w*|combin(?:e|ing)|compar(?:e|ing|ison)|summari[sz]\w*|conclu(?:de|sion)\w*|aggregate|merge"
    r"|(?:the\s+|give\s+(?:the\s+)?|write\s+(?:the\s+)?)?final\s+answer|answer\s+the\s+question|determine\s+(?:which|whether|if)"
    r"|decide\s+(?:which|whether|if))\b",
    re.IGNORECASE,
)
_BARE_SYNTHESIS = re.compile(
    r"\W*(?:\[?synthesi[sz]\w*|(?:the )?final answer|combine|compare|summary|conclusion|answer the question)"
    r"(?:\s+(?:the|all|both|of|and|these|results?|answers?|findings?|information|steps?|above))*\W*",
    re.IGNORECASE,
)


def is_anaphoric(query: str) -> bool:
    """Whether the query points at something it does not name ("that person", "his" without a name before it)."""
    if references(query):
        return False
    if _POINTS.search(query):
        return True
    pronoun = _PRONOUN.search(query)
    return pronoun is not None and not _NAME.search(query[: pronoun.start()])


def is_synthesis(step: PlanStep, last: bool) -> bool:
    """Whether a step only puts together what others found: it must not be searched.

    It is the last one, nothing is left to look up in it, and it says so ("Synthesis", "Compare {s1} and {s2}").
    """
    if step.synthesis or not last or step.tool:
        return step.synthesis
    return bool(
        _SYNTHESIS.match(step.query)
        if step.depends_on or references(step.query)
        else _BARE_SYNTHESIS.fullmatch(step.query)
    )


def lint(plan: Plan, *, most_steps: int = MOST_STEPS, widest: int = WIDEST) -> tuple[Finding, ...]:
    """What is wrong with the plan, step by step; () for a plan that can be run as it is. Linear in its size.

    Findings that are not fatal are mended by `completed` (or when a query is resolved); a fatal one must be repaired by who wrote
    the plan.
    """
    mended = completed(plan)
    count = sum(not step.synthesis for step in mended.steps)
    found = [Finding("too_many_steps", "", f"The plan has {count} steps; at most {most_steps} are run.", True)]
    found = found if count > most_steps else []
    ids: dict[str, PlanStep] = {}
    for step in plan.steps:
        if step.id in ids:
            found.append(Finding("duplicate_id", step.id, f"The id {step.id} is used twice.", True))
        ids.setdefault(step.id, step)
    before = ""
    for step, synthesis in zip(plan.steps, _syntheses(plan), strict=True):
        found += _of_step(step, ids, before, synthesis)
        before = before if synthesis else step.id
    found += _cycles(mended)
    if plan.steps and all(step.synthesis for step in mended.steps):
        found.append(
            Finding("nothing_to_look_up", plan.steps[-1].id, "The plan has no step that looks anything up.", True)
        )
    if (count := width(mended)) > widest:
        found.append(Finding("too_wide", "", f"{count} steps would be run at once; at most {widest} are.", True))
    return tuple(found)


def width(plan: Plan) -> int:
    """How many steps of a completed plan look up at once, at most."""
    return max((sum(not step.synthesis for step in level) for level in levels(plan)), default=0)


def lint_step(step: PlanStep, before: dict[str, PlanStep]) -> tuple[Finding, ...]:
    """What is wrong with a step by itself, while its plan is still being written; `before` are the steps before it.

    An id that is not there yet may still come, so it is not reported.
    """
    taken = [Finding("duplicate_id", step.id, f"The id {step.id} is used twice.", True)] if step.id in before else []
    others = dict.fromkeys((*step.depends_on, *(i for i, _ in references(step.query))), step)
    last = next((i for i in reversed(before) if not before[i].synthesis), "")
    return (*taken, *_of_step(step, {**others, step.id: step}, last, step.synthesis))


def completed(plan: Plan) -> Plan:
    """The plan with what needs no asking mended.

    References become dependencies, a dependency on itself that is not named is dropped, a query that points at
    something it does not name depends on the look-up before it, and a synthesis step is marked (one without
    dependencies depends on all others).
    """
    steps: list[PlanStep] = []
    before = ""
    for step, synthesis in zip(plan.steps, _syntheses(plan), strict=True):
        named = dict.fromkeys(other for other, _ in references(step.query))
        needs = [other for other in dict.fromkeys((*step.depends_on, *named)) if other != step.id or other in named]
        if not needs and steps and synthesis:
            needs = [other.id for other in steps]
        elif not needs and before and is_anaphoric(step.query):
            needs = [before]
        before = before if synthesis else step.id
        steps.append(replace(step, depends_on=tuple(needs), synthesis=synthesis))
    return Plan(tuple(steps))


def _syntheses(plan: Plan) -> list[bool]:
    """Which steps only put answers together: never one that another step needs."""
    needed = {other for step in plan.steps for other in step.depends_on if other != step.id}
    needed |= {other for step in plan.steps for other, _ in references(step.query) if other != step.id}
    end = len(plan.steps) - 1
    return [is_synthesis(step, at == end) and step.id not in needed for at, step in enumerate(plan.steps)]


def _of_step(step: PlanStep, ids: Mapping[str, PlanStep], before: str, synthesis: bool) -> Iterator[Finding]:
    def finding(code: str, text: str, fatal: bool = False) -> Finding:
        return Finding(code, step.id, text, fatal)

    named = dict.fromkeys(other for other, _ in references(step.query))
    if not step.query and not synthesis:
        yield finding("empty_query", f"{step.id} has no query.", True)
    for other in dict.fromkeys(step.depends_on):
        if other == step.id:
            yield finding("self_dependency", f"{step.id} depends on itself.", other in named)
        elif other not in ids:
            yield finding("unknown_id", f"{step.id} depends on {other}, which is no step.", True)
        elif other not in named and not synthesis:
            yield finding(
                "not_referenced", f"{step.id} depends on {other} and does not use it: its answer is appended."
            )
    for other in named:
        if other == step.id and other not in step.depends_on:
            yield finding("self_dependency", f"{step.id} refers to itself.", True)
        elif other not in ids:
            yield finding("unknown_reference", f"{step.id} refers to {{{other}}}, which is no step.", True)
        elif other not in step.depends_on:
            yield finding("not_declared", f"{step.id} refers to {other} without depending on it: now it does.")
    if synthesis and not step.synthesis:
        yield finding("synthesis", f"{step.id} puts the answers together: it is not searched.")
    elif not synthesis and is_anaphoric(step.query):
        yield _anaphora(step, before)


def _anaphora(step: PlanStep, before: str) -> Finding:
    points = f"{step.id} points at something it does not name"
    if step.depends_on:
        return Finding("anaphora", step.id, f"{points}: refer to it, as {{{step.depends_on[0]}}}.", False)
    if before:
        return Finding("anaphora", step.id, f"{points}: it is taken for the answer of {before}.", False)
    return Finding("anaphora", step.id, f"{points}, and no step is before it.", True)


def _cycles(plan: Plan) -> Iterator[Finding]:
    """Each cycle that is found by following, from every step that can never start, its first such dependency."""
    free = {step.id for level in levels(plan) for step in level}
    stuck = {step.id: step for step in reversed(plan.steps) if step.id not in free}
    after = {i: next(d for d in step.depends_on if d in stuck) for i, step in stuck.items()}
    walked: dict[str, str] = {}
    for start in reversed(stuck):
        path, at = [], start
        while at not in walked:
            walked[at] = start
            path.append(at)
            at = after[at]
        if walked[at] == start and (cycle := path[path.index(at) :]) != [] and len(cycle) > 1:
            shown = " -> ".join([*cycle[:MOST_NAMED], *(["..."] if len(cycle) > MOST_NAMED else []), cycle[0]])
            yield Finding("cycle", cycle[0], f"These steps wait for each other: {shown}.", True)
