"""Sleuth under Inspect AI: the bench's questions as its samples, a strategy as its solver, the bench's metrics as its scorer.

    inspect eval sleuth/bench -T task=questions.jsonl -T strategy=link-then-read -T library=notes
    inspect eval sleuth/bench -T task=questions.jsonl -T model=inspect --model openai/gpt-4o-mini

Needs the extra ``inspect``. In the form ``FILE@bench`` Inspect works in the file's folder: give whole paths. A sample's store holds the run's trace (`TRACE`: the text of the trace's file, which
``sleuth show`` reads), its transcript the thoughts, actions and findings; ``inspect score`` scores from the log alone.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate as InspectGenerate
from inspect_ai.solver import Solver, TaskState, solver
from inspect_ai.tool import ToolInfo, ToolParams

from sleuth.app import corpora, settings, strategies
from sleuth.app.comparing import Entry, entry
from sleuth.app.compose import Order, perform, prepare
from sleuth.app.keep import Keep
from sleuth.app.names import listing
from sleuth.app.portal import portal
from sleuth.bench import metrics as measures
from sleuth.bench import questions, tasks
from sleuth.bench.questions import Kind, Question
from sleuth.bench.record import Record, load
from sleuth.errors import BadInput, ModelError
from sleuth.events import Event, Noted
from sleuth.models import reply, wire
from sleuth.ports import Pieces, Report
from sleuth.strategies import DEFAULT
from sleuth.types import Answer, Completion, Generate, Message, Usage
from sleuth.types import ToolCall as Called

TRACE = "sleuth_trace"
"""The key of the trace in a sample's store."""
QUESTION = "sleuth_question"
"""The key of the question with its gold in a sample's metadata."""
INSPECT = "inspect"
"""The model's name that means Inspect's own (``--model``)."""


@task
def bench(
    task: str,
    strategy: str = DEFAULT,
    library: str | None = None,
    model: str | None = None,
    metrics: str | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Task:
    """A task of the bench (a data set's name with a path, or a file of questions), asked by a strategy as `sleuth compare` names it.

    `library` is that of the task's own passages unless named. `model` is one of Sleuth's names, "inspect" for Inspect's,
    the settings' unless said. `metrics` are names with commas between, the task's own unless said. `sample` takes so
    many questions by `seed`. Raises `BadInput` and its kin.
    """
    chosen = settings.load()
    found = tasks.load(task, sample=sample, seed=seed, cache=chosen.home / "datasets")
    fitted(strategy, found.kind)
    if library is None and found.corpus is not None:
        library = corpora.built(found, chosen)
    names = tuple(metrics.split(",")) if metrics else found.metrics
    return Task(
        dataset=MemoryDataset([as_sample(question) for question in found.questions], name=found.name),
        solver=ask(strategy, library=library, model=model),
        scorer=scores(*names),
        name=found.name,
        metadata={"strategy": strategy, "origin": found.origin, "licence": found.licence},
    )


def as_sample(question: Question) -> Sample:
    """The question as Inspect knows one: its answers are the target, its gold rides along."""
    row = {QUESTION: questions.as_row(question)}
    return Sample(input=question.text, target=list(question.answers), id=question.id, metadata=row)


@solver
def ask(strategy: str = DEFAULT, library: str | None = None, model: str | None = None) -> Solver:
    """Answers a sample's input by a strategy of Sleuth; works on any Inspect task of questions. See `bench`."""

    async def solve(state: TaskState, generate: InspectGenerate) -> TaskState:
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder, "trace.jsonl")
            answer = await answered(state, strategy, library, model, trace)
            state.store.set(TRACE, await anyio.Path(trace).read_text(encoding="utf-8"))
        state.output = ModelOutput.from_content(str(state.model), answer.text)
        state.messages.append(state.output.message)
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def scores(*names: str) -> Scorer:
    """The bench's metrics of these names (EM and F1 where none is given), of the trace in the sample's store.

    One that does not apply is no number and counts in no mean. Raises `BadInput` for a name that is none.
    """
    chosen = measures.find(names or ("em", "f1"))

    async def score(state: TaskState, target: Target) -> Score:
        record, question = await recorded(state.store.get(TRACE, "")), asked(state, target)
        values = {each.name: each.score(record, question) for each in chosen}
        return Score(
            value={name: float("nan") if value is None else value for name, value in values.items()},
            answer=record.text,
            explanation=record.answer.note if record.answer else "",
            metadata={"versions": {each.name: each.version for each in chosen}},
        )

    return score


def asked(state: TaskState, target: Target) -> Question:
    """The sample's question with its gold; of another task's sample, what there is."""
    row = (state.metadata or {}).get(QUESTION)
    if row is not None:
        return questions.from_row(row)
    return Question(str(state.sample_id), state.input_text, tuple(target))


async def recorded(trace: str) -> Record:
    """The record of a trace's text. Raises `BadInput` where there is none."""
    if not trace:
        raise BadInput("This sample has no trace of Sleuth's.", hint="Answer it with the solver sleuth/ask.")
    with tempfile.TemporaryDirectory() as folder:
        path = anyio.Path(folder, "trace.jsonl")
        await path.write_text(trace, encoding="utf-8")
        return await anyio.to_thread.run_sync(load, Path(path))


async def answered(state: TaskState, strategy: str, library: str | None, model: str | None, trace: Path) -> Answer:
    """Run the strategy: on Inspect's model in Inspect's loop, on one of Sleuth's in Sleuth's own, where models outlive a sample."""
    told = fitted(strategy, (state.metadata or {}).get(QUESTION, {}).get("kind", "question"))
    order = prepare(
        state.input_text,
        strategy=told.strategy,
        setting=told.setting,
        params=told.params,
        model=InspectModel() if model == INSPECT else model,
        library=library,
        trace=trace,
    )
    return await (_here if model == INSPECT else _there)(order)


def fitted(strategy: str, kind: Kind) -> Entry:
    """The strategy, told where its questions are claims. Raises `BadInput` for one that judges none, `UnknownName`."""
    told = entry(strategy)
    if kind == "question" or "task" in told.params:
        return told
    if "task" not in strategies.accepted(told.strategy):
        able = listing(name for name, each in strategies.table().items() if "task" in strategies.accepted(each))
        raise BadInput(
            f"The strategy '{told.strategy.card.name}' judges no claims.", hint=f"Strategies that do: {able}."
        )
    return replace(told, params={"task": "claim", **told.params})


async def _here(order: Order) -> Answer:
    """In Inspect's loop: the notes stand in its transcript where they were made, between the model's calls."""
    return await perform(replace(order, sinks=(*order.sinks, _tell)), Keep())


async def _there(order: Order) -> Answer:
    """In Sleuth's loop; the notes come into the transcript at the end."""
    events: list[Event] = []
    order = replace(order, sinks=(*order.sinks, events.append))
    try:
        return await portal().submit(partial(perform, order)).outcome()
    finally:
        for event in events:
            _tell(event)


def _tell(event: Event) -> None:
    """A flow's note into Inspect's transcript."""
    if isinstance(event.body, Noted):
        transcript().info({"kind": event.body.kind, "text": event.body.text}, source="sleuth")


class InspectModel:
    """Inspect's model of the running evaluation. Implements `sleuth.ports.Model`.

    The dialogue goes out as chat turns. What Inspect or its provider raises goes through: it is the sample's error, as
    everywhere in Inspect. Dollars are Inspect's where it knows the model's price, else 0.0.
    """

    def __init__(self) -> None:
        self._model = get_model()

    @property
    def name(self) -> str:
        return f"{INSPECT}:{self._model}"

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        """One call; whole, also when it is to be read in pieces. Raises `ModelError` where the model declines."""
        began = time.perf_counter()
        config = GenerateConfig(
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            stop_seqs=list(request.stop[: wire.MOST_STOPS]) or None,
            logprobs=request.logprob or None,
        )
        turns = wire.chat_turns(request.messages)
        output = await self._model.generate([_turn(each) for each in turns], tools=_tools(request), config=config)
        if output.stop_reason == "content_filter":
            raise ModelError(f"{self.name} declined to answer (content filter).", retryable=False)
        usage = replace(await self._usage(output, request), seconds=time.perf_counter() - began)
        completion = reply.completion(
            _written(output),
            usage,
            self.name,
            stops=request.stop,
            sent=config.stop_seqs or (),
            prefix=wire.prefix_of(request.messages),
            logprob=request.logprob,
        )
        if pieces is not None and completion.text:
            pieces(completion.text)
        return completion

    async def _usage(self, output: ModelOutput, request: Generate) -> Usage:
        told = output.usage
        if told is None:
            return Usage(1, read=await self.count(request.messages), written=len(output.completion.encode()))
        read = told.input_tokens + (told.input_tokens_cache_write or 0)
        cached = told.input_tokens_cache_read or 0
        return Usage(1, read=read, cached=cached, written=told.output_tokens, usd=told.total_cost or 0.0)

    async def count(self, messages: Sequence[Message]) -> int:
        """An upper bound: no tokeniser makes more than a token a byte, and 112 for the template's marks."""
        return sum(len(message.content.encode()) + 16 for message in messages) + 96

    def price(self, read: int, written: int) -> float:
        """Not known before a call."""
        return 0.0

    async def aclose(self) -> None:
        """Nothing is held: the model is Inspect's."""


def _turn(turn: dict[str, str]) -> ChatMessage:
    kinds: dict[str, Any] = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    message: ChatMessage = kinds[turn["role"]](content=turn["content"])
    return message


def _tools(request: Generate) -> list[ToolInfo]:
    return [
        ToolInfo(name=each.name, description=each.description, parameters=ToolParams(**json.loads(each.parameters)))
        for each in request.tools
    ]


def _written(output: ModelOutput) -> reply.Written:
    """What the model wrote, as the OpenAI edge reads it."""
    calls = output.message.tool_calls or []
    choice = output.choices[0]
    logs = [(each.token, each.logprob) for each in choice.logprobs.content] if choice.logprobs else []
    return reply.Written(
        text=output.completion,
        finish={"max_tokens": "length", "model_length": "length"}.get(output.stop_reason, output.stop_reason),
        calls=tuple(Called(each.id, each.function, json.dumps(each.arguments)) for each in calls),
        logs=tuple(logs),
    )
