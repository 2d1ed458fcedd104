"""The steps of a plan as they are carried out: each waits for the steps it depends on alone, looks up, and is read.

Used by plan-and-solve and what builds on it. A step is a forked flow that joins the tasks it needs, so it starts the moment
these are done and no step waits for a group (LLMCompiler, Kim et al. 2024, section 3.2: tasks are fetched as soon as
their dependencies are ready).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sleuth.errors import BadReply, BudgetExceeded, SleuthError, ToolError
from sleuth.guards import dates
from sleuth.guards.evidence import noted
from sleuth.guards.plans import ANSWER, Plan, PlanStep, fields_named, levels, references, resolved
from sleuth.guards.searching import look_up
from sleuth.guards.timing import spoken
from sleuth.guards.tooling import arguments_for, tool_named
from sleuth.guards.validity import invalid
from sleuth.strategies.reader import harmless, pooled, read_answer
from sleuth.types import Flow, Hop, Passage, Task, ToolSpec
from sleuth.verbs import call, cancel, fork, join, next_of, note

MOST_FIELDS = 2
"""Fields of one step that are asked of the model, at most; further ones stand for its answer."""
DATE_FIELDS = ("date", "year", "day", "when", "time")
PLAIN_FIELDS = (ANSWER, "name", "title", "value", "result", "person", "place", "text")
"""Fields that are the short answer itself."""
READ = 2
"""Passages that a step's answer is read from."""
OUT_OF_BUDGET = "the budget is used up"
"""Why a step failed that no call was left for: no other way of answering could do more."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step came to: the query as it was resolved, its answer and named fields, its hop.

    `wrong` says why it cannot be used ("" when it can); `seen` is all passages that it and what it depends on found.
    """

    step: PlanStep
    query: str
    fields: Mapping[str, str]
    hop: Hop
    wrong: str = ""
    seen: tuple[Passage, ...] = ()


class StepFailed(BadReply):
    """A step's result cannot be used; `step`, `reason`, and the `results` known so far, by step id.

    It hands over from one half of a strategy to the other. A trace stores it as the `BadReply` it is, without these.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        step: PlanStep | None = None,
        reason: str = "",
        results: Mapping[str, StepResult] | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message, hint=hint, **details)
        self.step, self.reason, self.results = step or PlanStep("", ""), reason, dict(results or {})

    def again(self) -> StepFailed:
        """A fresh exception with the same content, the step and the results too."""
        return StepFailed(
            self.message, hint=self.hint, step=self.step, reason=self.reason, results=self.results, **self.details
        )


@dataclass(frozen=True, slots=True)
class Way:
    """How steps are carried out: `k` passages a search; `wide` searches go with the question too; the tools there are."""

    question: str
    k: int
    wide: bool
    tools: tuple[ToolSpec, ...] = ()


class Steps:
    """The steps that were started. One flow owns it, starts more, and gathers what they came to.

    `results` is what was gathered so far, also when gathering ends with an error.
    """

    def __init__(self, way: Way) -> None:
        self._way = way
        self.results: dict[str, StepResult] = {}
        self._started: dict[str, tuple[PlanStep, Task[StepResult]]] = {}

    def begin(self, plan: Plan) -> Flow[None]:
        """Start the steps of a plan that are not yet started, each to wait for those it depends on.

        Steps whose dependencies are not there are left for later. Linear in the plan.
        """
        fields = fields_named(plan.steps)
        ids = {step.id for step in plan.steps}
        for level in levels(plan):
            for step in level:
                ready = ids.issuperset(step.depends_on) and all(other in self._started for other in step.depends_on)
                if ready and not step.synthesis and step.id not in self._started:
                    before = {other: self._started[other][1] for other in step.depends_on}
                    task = yield from fork(solved(step, before, self._way, fields.get(step.id, ())))
                    self._started[step.id] = step, task

    def revise(self, plan: Plan) -> Flow[None]:
        """Keep what a repaired plan still asks, by query and dependencies; the rest is given up, and noted."""
        old, self._started = self._started, {}
        by_key = {_key(step): task for step, task in old.values()}
        for level in levels(plan):
            for step in level:
                kept = by_key.get(_key(step))
                same = kept and all(d in self._started and self._started[d][1] is old[d][1] for d in step.depends_on)
                if kept is not None and same and not step.synthesis:
                    del by_key[_key(step)]
                    self._started[step.id] = step, kept
                    yield from note("reused", step.query, step=step.id)
        wanted = {task.branch for _, task in self._started.values()}
        for step, task in old.values():
            if task.branch not in wanted:
                yield from note("orphaned", step.query, step=step.id)
                yield from cancel(task)

    def gather(self, *, stop: bool = False) -> Flow[dict[str, StepResult]]:
        """What every started step came to. `stop`: raises `StepFailed` at the first that cannot be used.

        A failure of the model or of what is around the run is raised; the steps that still run are given up then.
        """
        left = {task.branch: (step, task) for step, task in self._started.values()}
        results = self.results = {}
        try:
            while left:
                branch = (yield from next_of([task for _, task in left.values()])).branch
                step, task = left.pop(branch)
                results[step.id] = result = replace((yield from join(task)), step=step)
                if result.wrong:
                    yield from note("step_failed", f"{step.id}: {result.wrong}", step=step.id, reason=result.wrong)
                    if stop:
                        told = f"Step {step.id} ({result.query}) failed: {result.wrong}."
                        raise StepFailed(told, step=step, reason=result.wrong, results=results)
        except SleuthError:
            yield from give_up(task for _, task in left.values())
            raise
        return {step_id: results[step_id] for step_id in self._started}

    def give_up(self) -> Flow[None]:
        """Cancel every started step."""
        yield from give_up(task for _, task in self._started.values())


def give_up(tasks: Iterable[Task[StepResult]]) -> Flow[None]:
    """Cancel these tasks."""
    for task in tasks:
        yield from cancel(task)


def solved(
    step: PlanStep, before: Mapping[str, Task[StepResult]], way: Way, fields: tuple[str, ...] = ()
) -> Flow[StepResult]:
    """One step: wait for what it needs, look up, read its answer and the fields that others name.

    What goes wrong with the step itself (nothing found, the source or tool failed, an empty reading, the budget) is in
    its result; a failure of the model is raised.
    """
    needed: dict[str, StepResult] = {}
    for other, task in before.items():
        needed[other] = yield from join(task)
    lost = [other for other, result in needed.items() if result.wrong]
    seen = tuple(pooled(*(result.seen for result in needed.values())))
    if lost:
        hop = Hop(step.query, outcome="failed")
        return StepResult(step, step.query, {}, hop, f"it needs {lost[0]}, which has no answer", seen)
    try:
        answers = yield from _answers(step, needed)
        if step.tool:
            result = yield from _called(step, answers, way)
        else:
            result = yield from _looked_up(step, resolved(step, answers), seen, way)
        if not result.wrong:
            result, _ = yield from _with_fields(result, fields)
    except BudgetExceeded as short:
        yield from note("budget", str(short))
        return StepResult(step, step.query, {}, Hop(step.query, outcome="failed"), OUT_OF_BUDGET, seen)
    return result


def _looked_up(step: PlanStep, query: str, seen: tuple[Passage, ...], way: Way) -> Flow[StepResult]:
    asked = f"{way.question} {query}" if way.wide else query
    shown = [passage.id for passage in seen] if way.wide else ()
    looked = yield from look_up(asked, way.k, together=way.wide, exclude=shown)
    near = pooled(looked.passages, seen if way.wide else ())[:READ]
    hop = Hop(query, asked, "", "found" if near else looked.outcome, looked.passages or tuple(near))
    wrong = "" if near else looked.told()
    if near:
        try:
            reading = yield from read_answer(harmless(query), near, closing=False)
        except BadReply as empty:
            wrong = "the answer is empty"
            yield from note("unparsable", str(empty))
        except BudgetExceeded as short:
            wrong = OUT_OF_BUDGET
            yield from note("budget", str(short))
        else:
            grounded = bool(reading.citation and reading.citation.verified)
            hop = replace(hop, answer=reading.text, citation=reading.citation, grounded=grounded)
    yield from noted(hop)
    result = StepResult(step, query, {ANSWER: hop.answer}, hop, wrong, tuple(pooled(looked.passages, seen)))
    return replace(result, wrong=wrong or invalid(step, result))


def _called(step: PlanStep, answers: Mapping[str, Mapping[str, str]], way: Way) -> Flow[StepResult]:
    """A step that calls a tool; what the tool says is its answer. Its arguments are cut before answers are put into them."""
    spec, text, wrong = tool_named(way.tools, step.tool), "", ""
    evidence: tuple[Passage, ...] = ()
    query, named = resolved(step, answers), {other for other, _ in references(step.query)}
    written = " ".join((step.query, *(f"{{{other}}}" for other in answers if other not in named)))
    try:
        if spec is None:
            raise BadReply(f"There is no tool {step.tool}.")
        arguments = arguments_for(spec, written, lambda part: resolved(PlanStep(step.id, part), answers))
        told = yield from call(spec.name, arguments)
        text, evidence = told.text, (Passage(told.id, spec.name, f"{spec.name}[{query}]", told.text),)
    except (BadReply, ToolError) as error:
        wrong = str(error)
    hop = Hop(query, f"{step.tool}[{query}]", text, "failed" if wrong else "found", evidence)
    yield from noted(hop)
    result = StepResult(step, query, {ANSWER: text}, hop, seen=evidence)
    return replace(result, wrong=wrong or invalid(step, result))


def _with_fields(result: StepResult, fields: Iterable[str], most: int = MOST_FIELDS) -> Flow[tuple[StepResult, int]]:
    """The result with the fields that other steps name: by rule, else by a short call, at most `most`; and how many were made."""
    told, calls = dict(result.fields), 0
    for name in fields:
        text = by_rule(name, result)
        if not text and calls < most and result.seen:
            calls += 1
            text = yield from _asked(name, result)
        told[name] = text or told[ANSWER]
    return replace(result, fields=told), calls


def by_rule(name: str, result: StepResult) -> str:
    """A field that needs no model: the answer itself under its usual names, a date that the answer or its quote gives."""
    answer, quote = result.fields.get(ANSWER, ""), result.hop.citation.quote if result.hop.citation else ""
    plain = name.lower()
    if plain in PLAIN_FIELDS:
        return answer
    if plain not in DATE_FIELDS:
        return ""
    moments = dates.moments(answer) or dates.moments(quote)
    if not moments:
        return ""
    return spoken(dates.iso(moments[0]))[-4:] if plain == "year" else spoken(dates.iso(moments[0]))


def _asked(name: str, result: StepResult) -> Flow[str]:
    """A field by one short call over the step's passages; "" where the reply holds none."""
    asking = f"{result.query.rstrip('?. ')} ({result.fields[ANSWER]}): what is the {name.replace('_', ' ')}?"
    try:
        return (yield from read_answer(harmless(asking), result.seen[:READ], closing=False)).text
    except BadReply as empty:
        yield from note("unparsable", str(empty))
        return ""


def _answers(step: PlanStep, needed: Mapping[str, StepResult]) -> Flow[dict[str, Mapping[str, str]]]:
    """The fields of what a step needs; one that it names and that was not known of when its step ran is read now."""
    answers: dict[str, Mapping[str, str]] = {}
    left = MOST_FIELDS
    for other, result in needed.items():
        wanted = [name for i, name in references(step.query) if i == other and name and name not in result.fields]
        told, calls = yield from _with_fields(result, wanted, left)
        answers[other], left = told.fields, left - calls
    return answers


def _key(step: PlanStep) -> tuple[str, tuple[str, ...], str]:
    return (step.query, step.depends_on, step.tool)
