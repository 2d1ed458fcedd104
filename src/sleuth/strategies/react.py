"""ReAct (Yao et al. 2023, "ReAct: Synergizing Reasoning and Acting in Language Models", sections 2 and 3).

Thoughts and actions alternate; the actions are search[entity], lookup[string] and finish[answer] (section 3.1).
The paper takes a thought and its action from one call; the retrieval-planning write-up makes two calls of them
(``calls="two"``). The paper's 7 steps are the default (section 3.2; that write-up's code has 5, its guards 7); for
claims they are 5. Sparse thoughts (section 4) are actions ``Think[...]`` that return nothing, where the model wants them.
The default *setting* keeps the loop for finding passages and lets one short-answer call over them write the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from sleuth.errors import BadReply, BudgetExceeded, SourceError
from sleuth.guards.citations import cite, defuse
from sleuth.guards.guarded import PAPER, extra_calls, guarded, own_dropped
from sleuth.guards.outcome import answered, unanswered, why
from sleuth.guards.scaffold import cut_own, label, line, numbered
from sleuth.guards.stopping import most_calls as stopping_calls
from sleuth.guards.timing import Clock
from sleuth.strategies.actions import OWN, Action, Desk, allowed, done, grammar, parse_action, search_anew
from sleuth.strategies.actions import instructions as instructions_for
from sleuth.strategies.reader import FORM, Form, Readings
from sleuth.strategies.trajectories import (
    CLAIMS,
    HEADED,
    WORKED,
    Task,
    Thoughts,
    guards_for,
    kind_of,
    pairs,
    rendered,
    verdict,
)
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Completion, Flow, Guards, Message, Strategy, ToolSpec, Why
from sleuth.verbs import generate, note

LABELS = ("Question:", "Claim:", "Thought:", "Action:", "Observation:", "Finish[", "Think[")
CLAIM_FORM = Form(pairs(CLAIMS), "Say of each claim: SUPPORTS, REFUTES or NOT ENOUGH INFO. Use the passages.")
SEARCHES = 8
"""Searches that one run can make beside opening pages, each tried twice: of the question (twice), and a reformulated one."""
TOLD = "You have already done this. Do something else."

_ACTION = numbered("Action")
_THOUGHT = numbered("Thought")
_FINAL = label("Final Answer:")


@dataclass(frozen=True, slots=True)
class Way:
    """How one run is made: the parameters of `react`."""

    question: str
    steps: int
    calls: str
    reader: bool
    k: int
    task: Task
    thoughts: Thoughts
    tools: tuple[ToolSpec, ...]
    guards: Guards


def head(
    question: str,
    examples: str = "",
    instructions: str = "",
    *,
    task: Task = "question",
    thoughts: Thoughts = "dense",
    tools: tuple[ToolSpec, ...] = (),
    shots: int = 6,
) -> str:
    """Instructions, the first `shots` worked trajectories, and the question."""
    worked = examples.strip() or rendered(WORKED[task][:shots], thoughts=thoughts)
    return f"{instructions or instructions_for(task, thoughts, tools)}\n\n{worked}\n\n{HEADED[task]}: {question}\n"


def parse_step(reply: str, tools: tuple[ToolSpec, ...] = (), *, own: bool = True) -> tuple[str, Action | None]:
    """A reply's thought, and its action if it has one; "Final Answer: ..." finishes too (retrieval-planning write-up).

    The model's own observation, and all behind it, is dropped, unless `own` is off.
    """
    reply = cut_own(reply, "Observation:")[0] if own else reply
    marked = _ACTION.search(reply) or _FINAL.search(reply)
    thought = reply[: marked.start()] if marked else reply
    first = _THOUGHT.search(thought)
    thought = thought[first.end() :] if first and not thought[: first.start()].strip() else thought
    action = parse_action(reply[marked.end() :] if marked else reply, tools)
    final = _FINAL.search(reply)
    if action is None and final and (said := line(reply[final.end() :])):
        action = Action("finish", said)
    return " ".join(thought.split()), action


def react(
    question: str,
    *,
    steps: int = 7,
    calls: Literal["one", "two"] = "one",
    reader: bool = True,
    k: int = 3,
    task: Task = "question",
    thoughts: Thoughts = "dense",
    tools: tuple[ToolSpec, ...] = (),
    known: str = "",
    shots: int = 3,
    examples: str = "",
    instructions: str = "",
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """ReAct over pages: at most `steps` steps; `calls` "two" asks for thought and action apart.

    `reader` lets a short-answer call over at most `k` of the passages found write the answer (the default setting).
    `task` "claim" gives the question one of FEVER's labels. `tools` are offered beside search, lookup and finish, and
    called by the engine. `known` is text placed after the question: what is known already, where another strategy
    failed. `shots` worked trajectories are shown, unless `examples` replaces them. Raises `BadInput` for a tool named
    like an action of ReAct's own.
    """
    t = Transcript(head(question, examples, instructions, task=task, thoughts=thoughts, tools=tools, shots=shots))
    if known.strip():
        t.observed(f"{defuse(known.strip(), LABELS)}\n")
    guards = guards_for(task, guards)
    if task == "claim":
        guards = replace(guards, confidence=None)  # no passage says a label, so no reading of one is ever sure
    way = Way(question, steps, calls, reader, k, task, thoughts, allowed(tools), guards)
    return (yield from guarded(question, t, _flow(t, way), guards))


def _flow(t: Transcript, way: Way) -> Flow[Answer]:
    if way.reader:
        return (yield from _read(t, way))
    finish, ended = yield from _loop(t, way)
    if finish is None:
        return unanswered(t, ended, note="The loop ended without Finish[...].")
    quote = cite(finish, list(t.pool.values()), context=way.question)
    return answered(t, finish, final=(quote,) if quote else ())


def _read(t: Transcript, way: Way) -> Flow[Answer]:
    """The default setting: however the loop ends, one short-answer call reads what it found and what the question finds."""
    clock = Clock(way.question)
    readings = Readings(way.question, t, clock, way.k, way.guards, CLAIM_FORM if way.task == "claim" else FORM)
    try:
        _, ended = yield from _loop(t, way, readings)
    except (BadReply, BudgetExceeded, SourceError) as error:
        ended = why(error)
        yield from note(ended, str(error))
    yield from clock.heard(t.pool.values())
    answer = yield from readings.answer(ended)
    if way.task == "question" or not answer.text:
        return answer
    said = verdict(answer.text)
    return replace(answer, text=said) if said else unanswered(t, "unparsable", note=f"No verdict: {answer.text}")


def _loop(t: Transcript, way: Way, readings: Readings | None = None) -> Flow[tuple[str | None, Why]]:
    """Think, act, observe; ends with the finished answer, or None and why.

    Without `readings` the last step's call may write the answer; with them a sure reading ends the loop.
    """
    desk = Desk()
    for n in range(1, way.steps + 1):
        yield from t.compress(way.guards.compress)
        t.step()
        action = yield from _step(t, n, way, closing=readings is None and n == way.steps)
        if action.name == "finish":
            return action.argument, "final_answer"
        seen = yield from _observed(t, action, desk, way)
        if seen is None:
            return None, "repeated"
        if seen:
            t.observed(f"Observation {n}: {defuse(seen, LABELS)}\n")
        if seen and readings is not None and (yield from readings.confident()):
            return None, "confident"
    return None, "step_limit"


def _observed(t: Transcript, action: Action, desk: Desk, way: Way) -> Flow[str | None]:
    """What the action brings. A repeated one: the first time word of it, then a reformulated search, then None: the run ends.

    Under exact repeats, as in the papers' settings, nothing is reformulated.
    """
    how = way.guards.repeats if action.name in OWN or way.guards.repeats == "off" else "exact"
    told = "new" if desk.goes_on(action) else t.again("action", desk.named(action), how)
    if told == "new":
        return (yield from done(t, action, desk, way.tools))
    if told == "tell":
        yield from note("repeat_told", str(action))
        return TOLD
    if told == "reformulate" and way.guards.repeats == "near":
        return (yield from search_anew(t, way.question, action))
    return None


def _step(t: Transcript, n: int, way: Way, *, closing: bool) -> Flow[Action]:
    """One action, with its thought where thoughts are dense; one repair call when the action is missing."""
    lead, action, reply = f"Action {n}:", None, ""
    if way.thoughts == "dense":
        reply, thought, action = yield from _thought(t, n, way, closing=closing and way.calls == "one")
        lead = f"Thought {n}: {thought}\n{lead}"
    prefix, apart = t.messages(Message("assistant", lead)), way.calls == "two" or way.thoughts != "dense"
    most = 90 if way.thoughts == "sparse" else 40
    if action is None and apart:
        first: Completion = yield from generate(prefix, stop=("\n",), max_tokens=most, closing=closing)
        reply, action = first.text, (yield from _understood(first.text, way))[1]
    if action is None:
        yield from note("repair", "The reply has no action; it is asked for.", step=n)
        # The same call again would bring the same reply: where the action was asked for apart, nothing else is allowed.
        shape = grammar(way.tools, think=way.thoughts == "sparse") if apart else None
        again: Completion = yield from generate(prefix, stop=("\n",), max_tokens=most, shape=shape, closing=closing)
        action = (yield from _understood(again.text, way))[1]
    if action is None:
        raise BadReply("The reply has no action (search, lookup or finish).", reply=reply)
    t.wrote(f"{lead} {action}\n")
    if action.name == "think":
        yield from _thought_noted(action.argument, n)
    else:
        yield from note("action", str(action), step=n)
    return action


def _thought(t: Transcript, n: int, way: Way, *, closing: bool) -> Flow[tuple[str, str, Action | None]]:
    """The reply to "Thought n:", its thought, and its action if it is there already."""
    stop: tuple[str, ...] = (f"\nObservation {n}:", "\nObservation")
    stop, most = (stop, 120) if way.calls == "one" else ((f"\nAction {n}:", "\nAction", *stop), 90)
    given = t.messages(Message("assistant", f"Thought {n}:"))
    reply: Completion = yield from generate(given, stop=stop, max_tokens=most, closing=closing)
    thought, action = yield from _understood(reply.text, way)
    yield from _thought_noted(thought, n)
    finished = action is not None and action.name == "finish" and _FINAL.search(reply.text)
    return reply.text, thought, action if way.calls == "one" or finished else None


def _understood(reply: str, way: Way) -> Flow[tuple[str, Action | None]]:
    """Thought and action of a reply; an observation of the model's own is dropped and noted. A claim's Finish needs a label."""
    if way.guards.own:
        yield from own_dropped(cut_own(reply, "Observation:")[1])
    thought, action = parse_step(reply, way.tools, own=way.guards.own)
    if action is not None and action.name == "finish" and way.task == "claim":
        said = verdict(action.argument)
        action = Action("finish", said) if said else None
    return thought, action


def _thought_noted(thought: str, n: int) -> Flow[None]:
    kind = kind_of(thought, first=n == 1)
    yield from note("thought", thought, step=n, **({"purpose": kind} if kind else {}))


def _most_calls(params: Mapping[str, Any]) -> int:
    steps, reader = int(params.get("steps", 7)), bool(params.get("reader", True))
    dense = params.get("thoughts", "dense") == "dense"
    guards: Guards = params.get("guards", Guards())
    a_step = 3 if dense and params.get("calls") == "two" else 2
    reading = 4 + stopping_calls(guards, steps) if reader else 0
    return a_step * steps + reading + extra_calls(params, SEARCHES)


STRATEGY = Strategy(
    Card(
        name="react",
        summary="Thinks, acts (search, lookup, finish), observes, and thinks again, until it finishes.",
        paper="Yao et al. 2023, ReAct: Synergizing Reasoning and Acting in Language Models, section 3",
        when=("unpredictable, open-ended questions", "what to look up next depends on what was found"),
        avoid=("small models in paper form: they gain nothing over one plain retrieval", "a single fact"),
        loop=True,
        parallel=False,
        branch=True,
        person_in_the_loop=False,
        autonomy="high",
        cost="high",
        latency="high",
        calls="one a step (at most 7), one more where an action is missing, a reading after each, and one for the answer",
        aliases=("reason-and-act",),
    ),
    react,
    settings={
        "default": {},
        "paper": {"reader": False, "shots": 6, "guards": PAPER},
        "sparse": {"reader": False, "thoughts": "sparse", "shots": 6, "guards": PAPER},
        "claims": {"reader": False, "task": "claim", "steps": 5, "guards": PAPER},
    },
    most_calls=_most_calls,
)
