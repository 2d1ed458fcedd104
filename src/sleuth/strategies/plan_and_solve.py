"""Plan-and-Solve: one call plans all steps, the steps are carried out, one call answers from what they found.

Plan first, then solve, is Wang et al. 2023 ("Plan-and-Solve Prompting", section 2). Steps that name the answers of others
and run without the model in between are ReWOO's (Xu et al. 2023, section 2: planner, worker, solver); that
independent ones run at the same time, started while the plan is written, LLMCompiler's (Kim et al. 2024, section 3).
The plan's JSON and its prompt are the retrieval-planning write-up's. The default *setting* answers with the
short-answer call over the steps' passages; the paper setting's synthesis reads the lines of steps and answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sleuth.errors import BadInput, BadReply, BudgetExceeded, PlanFault
from sleuth.guards.citations import defuse
from sleuth.guards.dates.comparing import earlier_or_later
from sleuth.guards.evidence import snippet
from sleuth.guards.guarded import PAPER, extra_calls, guarded
from sleuth.guards.outcome import answered, unanswered
from sleuth.guards.plans import (
    MOST_STEPS,
    WIDEST,
    Finding,
    Plan,
    PlanReader,
    PlanStep,
    as_json,
    completed,
    from_json,
    lint,
    lint_step,
    parse_plan,
    text,
    width,
)
from sleuth.guards.scaffold import line
from sleuth.guards.searching import NOTHING
from sleuth.guards.timing import Clock
from sleuth.guards.tooling import offered, tool_label, tool_named
from sleuth.strategies.reader import answered_from_hops
from sleuth.strategies.steps import MOST_FIELDS, OUT_OF_BUDGET, StepResult, Steps, Way
from sleuth.transcript import Transcript
from sleuth.types import (
    Answer,
    Card,
    Completion,
    Flow,
    Generate,
    Guards,
    Hop,
    Json,
    Listening,
    Message,
    Strategy,
    ToolSpec,
    Why,
)
from sleuth.verbs import generate, listen, note, read

INSTRUCTIONS = """\
Create a step-by-step plan to answer the question. For each step, specify:
- id: unique identifier
- query: what to search for; {s1} stands for the answer of step s1, {s1.date} for the date in it
- depends_on: list of ids this depends on (empty if none)
Output as JSON."""
TOOLS = (
    '\nA step may call one of these tools instead of searching: give its name as "tool", its arguments as "query".\n'
)
EXAMPLES = """\
Question: Who was warden of Orsa Hall when the Tamsin footbridge was opened?
Plan: {"steps": [{"id": "s1", "query": "When was the Tamsin footbridge opened?", "depends_on": []}, \
{"id": "s2", "query": "Who was warden of Orsa Hall on {s1.date}?", "depends_on": ["s1"]}]}

Question: Which of the two lighthouses is taller, Varrow Point or Kessel Head?
Plan: {"steps": [{"id": "s1", "query": "How tall is the Varrow Point lighthouse?", "depends_on": []}, \
{"id": "s2", "query": "How tall is the Kessel Head lighthouse?", "depends_on": []}, \
{"id": "s3", "query": "Compare {s1} and {s2}", "depends_on": ["s1", "s2"]}]}

Question: What does the company that makes the Plinket kettle also sell?
Plan: {"steps": [{"id": "s1", "query": "Which company makes the Plinket kettle?", "depends_on": []}, \
{"id": "s2", "query": "What does {s1} sell?", "depends_on": ["s1"]}]}
"""
SYNTHESIS = "Answer the question with a few words, from the answers of the steps."
LABELS = ("Question:", "Plan:", "Step", "Final answer:")
STEP_TOKENS = 60
"""Tokens that a written step may take."""


def head(
    question: str, examples: str = EXAMPLES, instructions: str = INSTRUCTIONS, tools: tuple[ToolSpec, ...] = ()
) -> str:
    """Instructions, worked plans and the question, up to where the model writes its plan."""
    more = TOOLS + offered(tools) if tools else ""
    return f"{instructions}{more}\n\n{examples.strip()}\n\nQuestion: {question}\nPlan:"


def schema(most_steps: int, tools: tuple[ToolSpec, ...] = ()) -> Json:
    """The plan's form, for models that can be held to one."""
    words = {"type": "string"}
    fields: dict[str, Any] = {"id": words, "query": words, "depends_on": {"type": "array", "items": words}}
    fields |= {"tool": {"enum": [tool_label(tool) for tool in tools]}} if tools else {}
    step = {
        "type": "object",
        "properties": fields,
        "required": ["id", "query", "depends_on"],
        "additionalProperties": False,
    }
    steps = {"type": "array", "items": step, "minItems": 1, "maxItems": most_steps + 1}
    whole = {"type": "object", "properties": {"steps": steps}, "required": ["steps"], "additionalProperties": False}
    return Json(json.dumps(whole))


def plan_and_solve(
    question: str,
    *,
    plan: Plan | str | None = None,
    streaming: bool = False,
    reader: bool = True,
    steps: int = MOST_STEPS,
    k: int = 3,
    examples: str = EXAMPLES,
    instructions: str = INSTRUCTIONS,
    tools: tuple[ToolSpec, ...] = (),
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """Plan at most `steps` look-ups, carry them out, answer.

    `plan` (a `Plan`, or its JSON text) is run in place of one that the model writes; `BadInput` when it cannot be.
    `streaming`: steps start while the plan is still being written; it gains where searches are slow, and little where one
    model both plans and reads. `reader`: a short-answer call over at most `k`
    passages answers (the default setting), else a synthesis of the steps' answers.
    """
    t = Transcript(head(question, examples, instructions, tools))
    way = Way(question, k, wide=reader, tools=tools)
    own = None if plan is None else given(plan, steps, tools)
    return (yield from guarded(question, t, _flow(question, t, way, own, steps, streaming, reader, guards), guards))


def _flow(
    question: str, t: Transcript, way: Way, plan: Plan | None, most: int, streaming: bool, reader: bool, guards: Guards
) -> Flow[Answer]:
    run = Steps(way)
    ended: Why = "final_answer"
    results: dict[str, StepResult] = {}
    try:
        if plan is None:
            plan = yield from planned(t, most_steps=most, tools=way.tools, early=run if streaming else None)
        else:
            yield from _noted(plan, ())
        results = yield from carried_out(plan, t, run)
    except BudgetExceeded as short:
        if not reader:
            raise
        yield from note("budget", str(short))
        ended = "budget"
    if any(result.wrong == OUT_OF_BUDGET for result in results.values()):
        ended = "budget"
    return (yield from synthesized(question, t, results, way, reader, guards, ended))


def given(plan: Plan | str, most_steps: int = MOST_STEPS, tools: tuple[ToolSpec, ...] = ()) -> Plan:
    """A plan of the user's, checked and mended. Raises `BadInput` with what is wrong with it."""
    plan = from_json(plan) if isinstance(plan, str) else plan
    fatal = [finding.text for finding in lint(plan, most_steps=most_steps, widest=most_steps) if finding.fatal]
    if not plan.steps or fatal:
        raise BadInput(f"The plan cannot be run. {' '.join(fatal[:5])}".strip(), hint="Mend the plan.")
    if missing := unknown_tools(plan, tools):
        told = " ".join(finding.text for finding in missing[:5])
        raise BadInput(f"The plan cannot be run. {told}", hint="Give the tool (--tool NAME), or mend the plan.")
    return completed(plan)


def planned(
    t: Transcript,
    *,
    most_steps: int = MOST_STEPS,
    tools: tuple[ToolSpec, ...] = (),
    early: Steps | None = None,
) -> Flow[Plan]:
    """A plan that can be run: written, checked, asked for once more with the findings where it cannot. Else `PlanFault`.

    `t` holds the plan's `head`. With `early`, steps are started there while the first plan is written.
    """
    faults: list[str] = []
    for again in (False, True):
        request = Generate(
            t.messages(),
            max_tokens=STEP_TOKENS * (most_steps + 1),
            shape=schema(most_steps, tools),
            stop=("\nQuestion:",),
        )
        if early is not None and not again:
            reply = yield from _heard(request, early, most_steps, tools)
        else:
            reply = yield request
        t.wrote(f" {reply.text.strip()}\n")
        plan, findings = examined(reply.text, most_steps)
        faults = [finding.text for finding in findings if finding.fatal]
        if plan is not None and not faults:
            missing = unknown_tools(plan, tools)
            plan = _with_known_tools(completed(plan), tools)
            yield from _noted(plan, (*findings, *missing))
            if early is not None and again:
                yield from early.revise(plan)
            return plan
        yield from _noted(plan, findings)
        if not again:
            yield from note("repair", "The plan cannot be run; it is asked for once more.", findings=faults)
            t.observed(f"That plan cannot be run: {defuse(' '.join(faults[:5]), LABELS)}\nPlan:")
    if early is not None:
        yield from early.give_up()
    raise PlanFault(f"The plan cannot be run. {' '.join(faults[:5])}", reply=reply.text, findings=faults)


def examined(reply: str, most_steps: int) -> tuple[Plan | None, tuple[Finding, ...]]:
    """The plan in a reply and what is wrong with it; None where there is no plan."""
    try:
        plan = parse_plan(reply)
    except BadReply as error:
        return None, (Finding("no_plan", "", error.message, True),)
    return plan, lint(plan, most_steps=most_steps)


def _heard(request: Generate, early: Steps, most_steps: int, tools: tuple[ToolSpec, ...]) -> Flow[Completion]:
    """Listen to a plan: a step is started when it and what it depends on are written and nothing is wrong with what is there.

    A step that would only put answers together, were it the last, waits until another one follows it (`completed` marks it).
    """
    listening: Listening = yield from listen(request)
    reader, clean = PlanReader(), True
    written: dict[str, PlanStep] = {}
    while True:
        piece = yield from read(listening, "}")
        if isinstance(piece, Completion):
            return piece
        for step in reader.feed(piece):
            clean = clean and len(written) < most_steps and not any(f.fatal for f in lint_step(step, written))
            written.setdefault(step.id, step)
        so_far = completed(Plan(tuple(written.values()))) if clean else Plan(())
        clean = clean and width(so_far) <= WIDEST
        if clean:
            yield from early.begin(_with_known_tools(so_far, tools))


def carried_out(plan: Plan, t: Transcript, run: Steps, *, stop: bool = False) -> Flow[dict[str, StepResult]]:
    """Carry the plan's steps out, those without each other's need at the same time; their hops go into the transcript.

    `stop`: raises `StepFailed` at the first step whose result cannot be used; else the others go on.
    """
    yield from run.begin(plan)
    try:
        return (yield from run.gather(stop=stop))
    finally:
        for result in (run.results[step.id] for step in plan.steps if step.id in run.results):
            if result.hop.query:
                t.hops.append(result.hop)
                t.shown(result.hop.evidence)
            said = NOTHING if result.wrong else result.hop.answer
            t.observed(f"Step {result.step.id}: {defuse(f'{result.query} {said}', LABELS)}\n")


def synthesized(
    question: str,
    t: Transcript,
    results: Mapping[str, StepResult],
    way: Way,
    reader: bool,
    guards: Guards = Guards(),
    ended: Why = "final_answer",
) -> Flow[Answer]:
    """The answer from what the steps came to, which of them failed in its note."""
    failed = [f"{result.step.id}: {result.wrong.rstrip('.')}" for result in results.values() if result.wrong]
    if reader and (compared := earlier_or_later(question, [r.hop for r in results.values() if not r.wrong])):
        answer = yield from _from_dates(t, *compared)
    elif reader:
        clock = Clock(question)
        yield from clock.heard(t.pool.values())
        answer = yield from answered_from_hops(question, t, clock, way.k, ended, guards=guards)
    else:
        answer = yield from _from_answers(question, t, results)
    told = f"Steps that failed: {'; '.join(failed)}." if failed else ""
    return replace(answer, note=" ".join(part for part in (answer.note, told) if part))


def _from_dates(t: Transcript, option: str, hops: tuple[Hop, Hop]) -> Flow[Answer]:
    """The answer that the dates of two steps speak for, without a call."""
    told = "; ".join(f"{hop.question} {hop.answer}" for hop in hops)
    yield from note("compared", option, dates=[hop.answer for hop in hops])
    cited = [hop.citation.passage for hop in hops if hop.citation]
    read = tuple(t.pool[passage] for passage in dict.fromkeys(cited) if passage in t.pool)
    return answered(t, option, read=read, note=f"By the dates: {told}.")


def _from_answers(question: str, t: Transcript, results: Mapping[str, StepResult]) -> Flow[Answer]:
    """The write-up's synthesis: one call over the plan and the lines of steps and answers behind it."""
    if all(result.wrong for result in results.values()):
        return unanswered(t, "final_answer", note="No step has an answer.")
    ask = Message("user", f"{SYNTHESIS}\nQuestion: {question}\nFinal answer:")
    reply = yield from generate(t.messages(ask), stop=("\n",), max_tokens=64, closing=True)
    final = line(reply.text)
    if not final:
        raise BadReply("The synthesis is empty.", reply=reply.text)
    quote = snippet(f"{question} {final}", list(t.pool.values()))
    return answered(t, final, final=(quote,) if quote else ())


def _noted(plan: Plan | None, findings: tuple[Finding, ...]) -> Flow[None]:
    """The plan and what was found wrong with it, for who watches."""
    if plan is not None:
        yield from note("plan", text(plan), plan=as_json(plan, None))
    for finding in findings:
        yield from note("finding", finding.text, code=finding.code, step=finding.step, fatal=finding.fatal)


def unknown_tools(plan: Plan, tools: tuple[ToolSpec, ...]) -> tuple[Finding, ...]:
    """A finding for each step that names a tool that is not there. In a model's plan such a step searches instead."""
    lost = [step for step in plan.steps if step.tool and not tool_named(tools, step.tool)]
    text = "Step {} calls the tool {}, which is not there."
    return tuple(Finding("unknown_tool", step.id, text.format(step.id, step.tool), False) for step in lost)


def _with_known_tools(plan: Plan, tools: tuple[ToolSpec, ...]) -> Plan:
    """The plan in which a step that names a tool that is not there searches instead."""
    return Plan(tuple(s if not s.tool or tool_named(tools, s.tool) else replace(s, tool="") for s in plan.steps))


def _most_calls(params: Mapping[str, Any]) -> int:
    reader, writes = bool(params.get("reader", True)), params.get("plan") is None
    steps = int(params.get("steps", MOST_STEPS)) * (2 if params.get("streaming") and writes else 1)
    calls = 2 * writes + steps * (1 + 2 * MOST_FIELDS) + (4 if reader else 1)
    return calls + extra_calls(params, steps + reader)


STRATEGY = Strategy(
    Card(
        name="plan-and-solve",
        summary="Plans all look-ups at once as steps that depend on each other, runs independent ones at the same time, then answers.",
        paper="Wang et al. 2023, Plan-and-Solve Prompting, section 2; ReWOO (Xu et al. 2023), LLMCompiler (Kim et al. 2024)",
        when=(
            "the parts of the question are known in advance, and several do not depend on each other",
            "a plan should be looked over, edited or priced before anything is spent",
        ),
        avoid=(
            "what to look up next depends on what was found: use react",
            "a single fact: use retrieve-then-read",
        ),
        loop=False,
        parallel=True,
        branch=False,
        person_in_the_loop=True,
        autonomy="medium",
        cost="medium",
        latency="low",
        calls="one for the plan (two where it must be repaired), one a step and one a field that no rule reads, one for the answer",
        aliases=("plan-solve", "rewoo", "plan"),
    ),
    plan_and_solve,
    settings={"default": {}, "paper": {"reader": False, "guards": PAPER}},
    most_calls=_most_calls,
)
