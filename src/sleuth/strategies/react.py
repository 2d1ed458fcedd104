"""ReAct (Yao et al. 2023, "ReAct: Synergizing Reasoning and Acting in Language Models", sections 2 and 3).

Thoughts and actions alternate; the actions are search[entity], lookup[string] and finish[answer] (section 3.1).
The paper takes a thought and its action from one call; the retrieval-planning write-up makes two calls of them
(``calls="two"``). The paper's 7 steps are the default (section 3.2; that write-up's code has 5, its guards 7).
The default *setting* keeps the loop for finding passages and lets one short-answer call over them write the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sleuth.errors import BadReply, BudgetExceeded, SourceError
from sleuth.guards.citations import cite, defuse
from sleuth.guards.evidence import recorded, snippet
from sleuth.guards.outcome import answered, concluded, unanswered, why
from sleuth.guards.scaffold import numbered, unwrapped
from sleuth.guards.timing import Clock
from sleuth.strategies.reader import answered_from_hops
from sleuth.strategies.trajectories import QUESTION_ANSWERING, rendered
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Completion, Flow, Grammar, Hop, Message, Page, Passage, Strategy, Why
from sleuth.verbs import generate, note, open_page

INSTRUCTIONS = """\
Solve a question answering task with interleaving Thought, Action, Observation steps. Thought can reason about the \
current situation, and Action can be three types:
(1) Search[entity], which searches the exact entity and returns the first sentences of its page if it exists. \
If not, it returns some similar entities to search.
(2) Lookup[string], which returns the next sentence on the current page that contains the string.
(3) Finish[answer], which returns the answer and finishes the task.
Here are some examples."""
EXAMPLES = rendered(QUESTION_ANSWERING)
LABELS = ("Question:", "Thought:", "Action:", "Observation:", "Finish[")
ACTION = 'root ::= " "? ("Search" | "Lookup" | "Finish") "[" [^\\]\\n]+ "]"'
SENTENCES = 5
"""Sentences of a page that search shows (ReAct, section 3.1)."""

_ACTION = numbered("Action")
_THOUGHT = numbered("Thought")
_OBSERVATION = numbered("Observation")
_CALL = re.compile(r"\b(search|lookup|look up|finish)\s*\[", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Action:
    """What the model wants done: search, lookup or finish, and with what."""

    name: Literal["search", "lookup", "finish"]
    argument: str

    def __str__(self) -> str:
        return f"{self.name.capitalize()}[{self.argument}]"


@dataclass(slots=True)
class Desk:
    """The page that is open, and how far each look-up on it has come (the paper's Ctrl+F)."""

    page: Page | None = None
    string: str = ""
    results: tuple[str, ...] = ()
    at: int = 0

    def named(self, action: Action) -> str:
        """The action with what makes it another one: the same look-up on another page is not the same."""
        return f"{action} {self.page.title}" if action.name == "lookup" and self.page else str(action)

    def goes_on(self, action: Action) -> bool:
        """Whether a look-up made before has something new to tell: its next result, or that there are no more."""
        same = action.name == "lookup" and action.argument.casefold() == self.string
        return same and self.at <= len(self.results)


def head(question: str, examples: str = EXAMPLES, instructions: str = INSTRUCTIONS) -> str:
    """Instructions, worked trajectories and the question."""
    return f"{instructions}\n\n{examples.strip()}\n\nQuestion: {question}\n"


def parse_action(text: str) -> Action | None:
    """The first action in the text: "Search[...]", up to the bracket that closes it (or the line's end)."""
    found = _CALL.search(text)
    if not found:
        return None
    rest, depth = text[found.end() :].split("\n")[0], 1
    for at, char in enumerate(rest):
        depth += (char == "[") - (char == "]")
        if depth == 0:
            rest = rest[:at]
            break
    argument = unwrapped(rest).strip(" \"'“”")
    name = found.group(1).lower().replace(" ", "")
    return Action(name, argument) if argument else None  # type: ignore[arg-type]  # the pattern admits these three


def parse_step(reply: str) -> tuple[str, Action | None]:
    """A reply's thought, and its action if it has one. The model's own observation, and all behind it, is dropped."""
    own = _OBSERVATION.search(reply)
    reply = reply[: own.start()] if own else reply
    marked = _ACTION.search(reply)
    thought = reply[: marked.start()] if marked else reply
    first = _THOUGHT.search(thought)
    thought = thought[first.end() :] if first and not thought[: first.start()].strip() else thought
    action = parse_action(reply[marked.end() :]) if marked else parse_action(reply)
    return " ".join(thought.split()), action


def react(
    question: str,
    *,
    steps: int = 7,
    calls: Literal["one", "two"] = "one",
    reader: bool = True,
    k: int = 3,
    examples: str = EXAMPLES,
    instructions: str = INSTRUCTIONS,
) -> Flow[Answer]:
    """ReAct over pages: at most `steps` steps; `calls` "two" asks for thought and action apart.

    `reader` lets a short-answer call over at most `k` of the passages found write the answer (the default setting).
    """
    t = Transcript(head(question, examples, instructions))
    return (yield from concluded(t, _flow(question, t, steps, calls, reader, k)))


def _flow(question: str, t: Transcript, steps: int, calls: str, reader: bool, k: int) -> Flow[Answer]:
    if reader:
        return (yield from _read(question, t, steps, calls, k))
    finish, ended = yield from _loop(t, steps, calls, closing=True)
    if finish is None:
        return unanswered(t, ended, note="The loop ended without Finish[...].")
    quote = cite(finish, list(t.pool.values()), context=question)
    return answered(t, finish, final=(quote,) if quote else ())


def _loop(t: Transcript, steps: int, calls: str, *, closing: bool) -> Flow[tuple[str | None, Why]]:
    """Think, act, observe; ends with the finished answer, or None and why. `closing`: its last step may write the answer."""
    desk, warned = Desk(), False
    for n in range(1, steps + 1):
        action = yield from _step(t, n, calls, closing=closing and n == steps)
        if action.name == "finish":
            return action.argument, "final_answer"
        repeated = t.repeats("action", desk.named(action)) and not desk.goes_on(action)
        if repeated and warned:
            return None, "repeated"
        if repeated:
            warned = True
            seen = "You have already done this. Do something else."
            yield from note("repeat_told", str(action))
        elif action.name == "search":
            seen = yield from _search(t, action.argument, desk)
        else:
            seen = _look_up(desk, action.argument)
            yield from _looked_up(t, action.argument, seen, desk)
        t.observed(f"Observation {n}: {defuse(seen, LABELS)}\n")
    return None, "step_limit"


def _step(t: Transcript, n: int, calls: str, *, closing: bool) -> Flow[Action]:
    """One thought and its action, from one call or two; one repair call when the action is missing."""
    stop = (f"\nObservation {n}:", "\nObservation")
    given = Message("assistant", f"Thought {n}:")
    if calls == "one":
        reply: Completion = yield from generate(t.messages(given), stop=stop, max_tokens=120, closing=closing)
        thought, action = parse_step(reply.text)
    else:
        reply = yield from generate(t.messages(given), stop=(f"\nAction {n}:", "\nAction", *stop), max_tokens=90)
        thought, action = parse_step(reply.text)[0], None
    yield from note("thought", thought, step=n)
    prefix = t.messages(Message("assistant", f"Thought {n}: {thought}\nAction {n}:"))
    if calls == "two":
        reply = yield from generate(prefix, stop=("\n",), max_tokens=40, closing=closing)
        action = parse_action(reply.text)
    if action is None:
        yield from note("repair", "The reply has no action; it is asked for.", step=n)
        shape = Grammar(ACTION) if calls == "two" else None  # the same call again would bring the same reply
        again: Completion = yield from generate(prefix, stop=("\n",), max_tokens=40, shape=shape, closing=closing)
        action = parse_action(again.text)
    if action is None:
        raise BadReply("The reply has no action (search, lookup or finish).", reply=reply.text)
    t.wrote(f"Thought {n}: {thought}\nAction {n}: {action}\n")
    yield from note("action", str(action), step=n)
    return action


def _search(t: Transcript, entity: str, desk: Desk) -> Flow[str]:
    """The page's first five sentences, or the five most similar titles."""
    try:
        page = yield from open_page(entity)
    except SourceError:
        page = yield from open_page(entity)
    if isinstance(page, Page):
        desk.page, desk.string, desk.results = page, "", ()
        seen = " ".join(page.sentences[:SENTENCES])
        t.shown(page.passages[:1])
        yield from _found(t, "search", entity, seen, page.passages[:1])
        return seen
    listed = ", ".join(repr(title) for title in page.titles)
    seen = f"Could not find [{entity}]. Similar: [{listed}]"
    yield from recorded(t, Hop(f"Search[{entity}]", entity, seen, "nothing"))
    return seen


def _look_up(desk: Desk, string: str) -> str:
    """The next sentence of the open page that holds the string: "(Result 1 / 3) ..."."""
    if desk.page is None:
        return "No page is open. Search for one first."
    if string.casefold() != desk.string:
        desk.string, desk.at = string.casefold(), 0
        desk.results = tuple(s for s in desk.page.sentences if desk.string in s.casefold())
    desk.at += 1
    if desk.at > len(desk.results):
        return "No more results."
    return f"(Result {desk.at} / {len(desk.results)}) {desk.results[desk.at - 1]}"


def _looked_up(t: Transcript, string: str, seen: str, desk: Desk) -> Flow[None]:
    found: tuple[Passage, ...] = ()
    if desk.page and desk.results and seen.startswith("("):
        sentence = desk.results[desk.at - 1]
        found = tuple(p for p in desk.page.passages if sentence in p.text)[:1]
        t.shown(found)
    yield from _found(t, "lookup", string, seen, found)


def _found(t: Transcript, kind: str, argument: str, seen: str, passages: tuple[Passage, ...]) -> Flow[None]:
    quote = snippet(f"{argument} {seen}", passages)
    hop = Hop(
        f"{kind.capitalize()}[{argument}]",
        argument,
        seen,
        "found" if passages else "nothing",
        passages,
        quote,
        quote is not None,
    )
    yield from recorded(t, hop)


def _read(question: str, t: Transcript, steps: int, calls: str, k: int) -> Flow[Answer]:
    """The default setting: however the loop ends, one short-answer call reads what it found and what the question finds."""
    try:
        _, ended = yield from _loop(t, steps, calls, closing=False)
    except (BadReply, BudgetExceeded, SourceError) as error:
        ended = why(error)
        yield from note(ended, str(error))
    clock = Clock(question)
    yield from clock.heard(t.pool.values())
    return (yield from answered_from_hops(question, t, clock, k, ended))


def _most_calls(params: Mapping[str, Any]) -> int:
    return (3 if params.get("calls") == "two" else 2) * int(params.get("steps", 7)) + 4 * bool(
        params.get("reader", True)
    )


STRATEGY = Strategy(
    Card(
        name="react",
        summary="Thinks, acts (search, lookup, finish), observes, and thinks again, until it finishes.",
        paper="Yao et al. 2023, ReAct: Synergizing Reasoning and Acting in Language Models, section 3",
        when=("unpredictable, open-ended questions", "what to look up next depends on what was found"),
        avoid=("small models in paper form: they score far below one plain retrieval", "a single fact"),
        loop=True,
        parallel=False,
        branch=True,
        person_in_the_loop=False,
        autonomy="high",
        cost="high",
        latency="high",
        calls="one a step (at most 7), one more where an action is missing, and one for the answer",
        aliases=("reason-and-act",),
    ),
    react,
    settings={"default": {}, "paper": {"reader": False}},
    most_calls=_most_calls,
)
