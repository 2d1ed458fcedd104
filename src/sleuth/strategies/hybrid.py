"""Hybrid: plan first; where a step's result cannot be used, go on step by step with ReAct, with what is known.

The retrieval-planning write-up's HybridAgent ("start with Plan-and-Solve, fall back to ReAct on failure"). A switch
is made when the plan cannot be repaired, when a step's result is invalid (`sleuth.guards.validity`), and when the source or
the model fails in a step. Each is noted (kind "switch": from, to, reason, step), and the hops of both halves are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sleuth.errors import BudgetExceeded, ModelError, PlanFault
from sleuth.guards.guarded import PAPER, extra_calls, guarded, within
from sleuth.guards.outcome import unanswered
from sleuth.guards.plans import MOST_STEPS, Plan
from sleuth.strategies import plan_and_solve, react
from sleuth.strategies.backoff import joined
from sleuth.strategies.plan_and_solve import carried_out, planned, synthesized
from sleuth.strategies.steps import OUT_OF_BUDGET, StepFailed, StepResult, Steps, Way
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Flow, Guards, Strategy, ToolSpec, Why
from sleuth.verbs import note


def hybrid(
    question: str,
    *,
    reader: bool = True,
    plan_steps: int = MOST_STEPS,
    steps: int = 7,
    k: int = 3,
    tools: tuple[ToolSpec, ...] = (),
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """Plan at most `plan_steps` look-ups and carry them out; ReAct, at most `steps` steps, where that fails.

    `reader`: a short-answer call over at most `k` passages writes the answer, whichever half found them.
    """
    t = Transcript(plan_and_solve.head(question, tools=tools))
    way = Way(question, k, wide=reader, tools=tools)
    return (yield from guarded(question, t, _plan_else_react(t, way, reader, plan_steps, steps, guards), guards))


def _plan_else_react(
    t: Transcript, way: Way, reader: bool, plan_steps: int, steps: int, guards: Guards
) -> Flow[Answer]:
    try:
        return (yield from _planned_and_solved(t, way, reader, plan_steps, guards))
    except (PlanFault, StepFailed) as failure:
        return (yield from _explored(failure, t, way, reader, steps, guards))


def _planned_and_solved(t: Transcript, way: Way, reader: bool, plan_steps: int, guards: Guards) -> Flow[Answer]:
    """Plan-and-solve that stops at the first step whose result cannot be used. Raises `PlanFault`, `StepFailed`.

    Where the budget ends, the answer is read from what was found: its price was held back.
    """
    run, plan = Steps(way), Plan(())
    ended: Why = "final_answer"
    try:
        plan = yield from planned(t, most_steps=plan_steps, tools=way.tools)
        yield from _carried_out(plan, t, run)
    except BudgetExceeded as short:
        if not reader:
            raise
        yield from note("budget", str(short))
        ended = "budget"
    except StepFailed as failure:
        if failure.reason != OUT_OF_BUDGET:
            raise
        ended = "budget"
    results = {step.id: run.results[step.id] for step in plan.steps if step.id in run.results}
    return (yield from synthesized(way.question, t, results, way, reader, guards, ended))


def _carried_out(plan: Plan, t: Transcript, run: Steps) -> Flow[None]:
    """The plan's steps; a failure of the model in one of them is that step's."""
    try:
        yield from carried_out(plan, t, run, stop=True)
    except ModelError as error:
        step = next((step for step in plan.steps if step.id not in run.results), None)
        raise StepFailed(str(error), step=step, reason=error.message, results=run.results) from error


def _explored(
    failure: PlanFault | StepFailed, t: Transcript, way: Way, reader: bool, steps: int, guards: Guards
) -> Flow[Answer]:
    """ReAct from where the plan failed. The hops of the plan stand before its own."""
    step, reason, at = "", failure.message, "making a plan"
    results: Mapping[str, StepResult] = {}
    if isinstance(failure, StepFailed):
        step, reason, results = failure.step.id, failure.reason, failure.results
        at = results[step].query if step in results else failure.step.query
    yield from note("switch", reason, **{"from": "plan-and-solve", "to": "react", "reason": reason, "step": step})
    told = known(way.question, at, results)
    answer = yield from react.react(
        way.question, steps=steps, reader=reader, k=way.k, tools=way.tools, known=told, guards=within(guards)
    )
    planned_so_far = unanswered(t, "final_answer")
    return joined(planned_so_far, answer, answer, f"The plan failed at {at!r}: {reason}; ReAct went on.")


def known(question: str, failed_at: str, results: Mapping[str, StepResult]) -> str:
    """What ReAct is told after the question (write-up, ``react_fallback``), with what the plan's steps have found."""
    facts = [f"{result.query} {result.hop.answer}" for result in results.values() if not result.wrong]
    lines = [
        f"Original question: {question}",
        f"Failed at: {failed_at}",
        f"Known so far: {'; '.join(facts) or 'nothing'}",
    ]
    return "\n".join(" ".join(line.split()) for line in (*lines, "Switching to exploratory mode..."))


def _most_calls(params: Mapping[str, Any]) -> int:
    """Those of the plan and of ReAct, and what the guards add outside of both."""
    inner = {"reader": params.get("reader", True), "guards": within(params.get("guards", Guards()))}
    plan_steps, steps = int(params.get("plan_steps", MOST_STEPS)), int(params.get("steps", 7))
    planning = plan_and_solve.STRATEGY.most_calls({**inner, "steps": plan_steps})
    acting = react.STRATEGY.most_calls({**inner, "steps": steps})
    return planning + acting + extra_calls(params, plan_steps + steps + 2)


STRATEGY = Strategy(
    Card(
        name="hybrid",
        summary="Plans first; where a step's result cannot be used, goes on with ReAct from what is known.",
        paper="Retrieval-planning write-up, HybridAgent; plans as in plan-and-solve, then Yao et al. 2023 (ReAct)",
        when=(
            "most parts of the question can be planned, and some look-ups may fail",
            "an answer matters more than what it costs",
        ),
        avoid=(
            "a small budget: a failed plan is paid for, and ReAct after it",
            "a single fact: use retrieve-then-read",
        ),
        loop=True,
        parallel=True,
        branch=True,
        person_in_the_loop=False,
        autonomy="high",
        cost="high",
        latency="high",
        calls="those of plan-and-solve; where the plan fails, those of react behind them",
        aliases=("plan-then-react", "plan-else-react"),
    ),
    hybrid,
    settings={"default": {}, "paper": {"reader": False, "guards": PAPER}},
    most_calls=_most_calls,
)
