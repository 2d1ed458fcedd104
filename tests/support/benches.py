"""Benches on disk for tests: runs of real strategies over a scripted model, written as the runner writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sleuth.bench.folder import Asked, BenchFolder, Cell, Method, Plan
from sleuth.bench.questions import Question, Task
from sleuth.engine import Engine
from sleuth.events import Closed, Event, Finished, Opened, Span
from sleuth.guards.guarded import PAPER
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.strategies.cot_sc import cot_sc
from sleuth.strategies.cot_sc_then_react import cot_sc_then_react
from sleuth.strategies.react import react
from sleuth.strategies.react_then_cot_sc import react_then_cot_sc
from sleuth.trace import TraceWriter
from sleuth.types import Answer, Completion, Flow, Generate, Usage
from tests.support.runs import in_loop

PAGES = {"Brenn": "Brenn lies on the Tarn."}
FLOWS: dict[str, Callable[..., Flow[Answer]]] = {
    "cot-sc": cot_sc,
    "cot-sc-then-react": cot_sc_then_react,
    "react-then-cot-sc": react_then_cot_sc,
    "react": react,
}
NAMES = {
    "cot-sc": "CoT-SC",
    "react": "ReAct",
    "cot-sc-then-react": "CoT-SC -> ReAct",
    "react-then-cot-sc": "ReAct -> CoT-SC",
}


def begun(
    where: Path,
    questions: Sequence[Question],
    methods: Sequence[str],
    *,
    metrics: Sequence[str] = ("em", "f1"),
    labels: Sequence[str] = (),
    models: Sequence[str] = ("m",),
    task: str = "t",
    **about: Any,
) -> BenchFolder:
    """A bench without runs."""
    folder = BenchFolder(where)
    asked = Asked(task, tuple(metrics), labels=tuple(labels))
    plan = Plan((asked,), tuple(Method(name, {task: name}) for name in methods), tuple(models), about)
    folder.begin(plan, {task: Task(task, tuple(questions), tuple(metrics), labels=tuple(labels))})
    return folder


def put(folder: BenchFolder, cell: Cell, question: str, answer: Answer, **about: Any) -> None:
    """The trace of a run that looked nothing up; what it read depends on its method's first letter."""
    trace = folder.trace(cell, question)
    trace.parent.mkdir(parents=True, exist_ok=True)
    with TraceWriter(trace) as told:
        told(Event("r", 0, 0.0, Span("", 0), Opened("q", about)))
        told(
            Event("r", 1, 0.5, Span("", 1), Finished(None, Usage(calls=1, read=10 * ord(cell.method[0]), seconds=0.5)))
        )
        told(Event("r", 2, 1.0, Span("", 0), Closed(answer)))


def asked(
    strategy: str, question: str, draws: Sequence[str], acts: str, n: int
) -> tuple[Answer, list[Event], dict[str, Any]]:
    """A run of a strategy of the paper's kind: draw i of a chain answers `draws[i]`, ReAct answers `acts` at once ("": never)."""
    params: dict[str, Any] = {"guards": PAPER}
    if strategy != "react":
        params |= {"n": n, "temperature": 0.7}
    if strategy != "cot-sc":
        params |= {"steps": 2, "shots": 6, "reader": False}

    def reply(request: Generate) -> Completion:
        if request.temperature:
            said = draws[request.sample]
            return Completion(f" So it is.\nAnswer: {said}\n" if said else " I cannot say.")
        step = request.messages[-1].content.count("\nObservation") + 1
        return Completion(
            f" I see.\nAction {step}: Finish[{acts}]" if acts else f" Hm.\nAction {step}: Search[Brenn {step}]"
        )

    events: list[Event] = []
    engine = Engine(Script(reply), Shelf(PAGES), sinks=[events.append])
    answer = in_loop(engine.run(FLOWS[strategy](question, **params)))
    return answer, events, params


def write(
    folder: BenchFolder, strategy: str, question: Question, events: Sequence[Event], params: Mapping[str, Any]
) -> None:
    """The trace of a run by that strategy, as the runner writes it."""
    about = {"strategy": strategy, "params": dict(params)}
    trace = folder.trace(Cell("t", "m", NAMES[strategy]), question.id)
    trace.parent.mkdir(parents=True, exist_ok=True)
    with TraceWriter(trace) as told:
        for event in events:
            told(replace(event, body=Opened(question.text, about)) if isinstance(event.body, Opened) else event)
