"""What ReAct and Act can do: search, lookup, finish and think (Yao et al. 2023, section 3.1), and any tool beside them.

How actions are offered to a model, read from its reply, done, and what comes back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sleuth.errors import BadInput, BadReply, SourceError, ToolError
from sleuth.guards.evidence import recorded, said, snippet
from sleuth.guards.scaffold import unwrapped
from sleuth.guards.searching import NOTHING, Outcome, look_up
from sleuth.guards.searching.reformulate import reformulated
from sleuth.guards.tooling import arguments_for, offered, tool_label, tool_named
from sleuth.strategies.trajectories import Task, Thoughts
from sleuth.transcript import Transcript
from sleuth.types import Flow, Grammar, Hop, Page, Passage, ToolSpec
from sleuth.verbs import call, note, open_page

OWN = ("search", "lookup", "finish", "think")
SENTENCES = 5
"""Sentences of a page that search shows (ReAct, section 3.1)."""
EMPTY = "There is nothing in it."
"""What the model reads of a page or a tool's result without text: only a thought has no observation."""
SEARCH = (
    "Search[entity], which searches the exact entity and returns the first sentences of its page if it exists. "
    "If not, it returns some similar entities to search."
)
LOOKUP = "Lookup[string], which returns the next sentence on the current page that contains the string."
FINISH: dict[Task, str] = {
    "question": "Finish[answer], which returns the answer and finishes the task.",
    "claim": "Finish[verdict], which returns SUPPORTS, REFUTES or NOT ENOUGH INFO and finishes the task.",
}
THINK = "Think[thought], which reasons about the current situation and returns nothing."
AIM: dict[Task, str] = {
    "question": "Solve a question answering task",
    "claim": "Determine if there is Observation that SUPPORTS or REFUTES a Claim, or if there is NOT ENOUGH INFO,",
}
_COUNT = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Action:
    """What the model wants done, by a lower-case name of `OWN` or a tool's own name, and with what."""

    name: str
    argument: str

    def __str__(self) -> str:
        return f"{self.name[:1].upper()}{self.name[1:]}[{self.argument}]"


@dataclass(slots=True)
class Desk:
    """The page that is open, and how far each look-up on it has come (the paper's Ctrl+F)."""

    page: Page | None = None
    string: str = ""
    results: tuple[str, ...] = ()
    at: int = 0

    def named(self, action: Action) -> str:
        """The action with what makes it another one: the same look-up on another page is not the same."""
        if action.name == "lookup" and self.page:
            return f"{action} {self.page.title}"
        if action.name in OWN:
            return str(action)
        # "3 + 4" and "3 * 4" have the same words: for a tool the signs between them count.
        signs = (c if c.isalnum() or c.isspace() else f" sign{ord(c)} " for c in action.argument)
        return f"{action.name} {''.join(signs)}"

    def goes_on(self, action: Action) -> bool:
        """Whether a look-up made before has something new to tell: its next result, or that there are no more."""
        same = action.name == "lookup" and action.argument.casefold() == self.string
        return same and self.at <= len(self.results)


# --- offering -----------------------------------------------------------------------------------------------------


def instructions(task: Task = "question", thoughts: Thoughts = "dense", tools: Sequence[ToolSpec] = ()) -> str:
    """What the model is told of its steps and actions."""
    lines = [SEARCH, LOOKUP, FINISH[task], *([THINK] if thoughts == "sparse" else []), *offered(tools).splitlines()]
    count = _COUNT[len(lines)] if len(lines) < len(_COUNT) else str(len(lines))
    numbered = "\n".join(f"({n}) {line}" for n, line in enumerate(lines, 1))
    if thoughts == "dense":
        steps = "Thought, Action, Observation steps. Thought can reason about the current situation, and Action"
    else:
        steps = "Action, Observation steps. Action"
    return f"{AIM[task]} with interleaving {steps} can be {count} types:\n{numbered}\nHere are some examples."


def grammar(tools: Sequence[ToolSpec] = (), *, think: bool = False) -> Grammar:
    """One action and nothing else."""
    names = ["Search", "Lookup", "Finish", *(["Think"] if think else []), *(tool_label(spec) for spec in tools)]
    listed = " | ".join(f'"{_escaped(name)}"' for name in names)
    return Grammar(f'root ::= " "? ({listed}) "[" [^\\]\\n]+ "]"')


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def allowed(tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The tools, unless one could not be told from an action of ReAct's own. Raises `BadInput`."""
    for spec in tools:
        if tool_named(tuple(ToolSpec(own, "") for own in OWN), spec.name) or not spec.name.strip():
            raise BadInput(
                f"A tool cannot be named {spec.name!r}: that is an action of ReAct itself.", hint="Rename the tool."
            )
    return tuple(tools)


# --- reading ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _calls(names: tuple[str, ...]) -> re.Pattern[str]:
    words = [r"[\s_-]*".join(map(re.escape, re.split(r"[\s_-]+", name))) for name in names]
    every = "|".join(["search", "lookup", "look up", "finish", "think", *sorted(words, key=len, reverse=True)])
    return re.compile(rf"(?<!\w)({every})\s*\[", re.IGNORECASE)


def parse_action(text: str, tools: Sequence[ToolSpec] = ()) -> Action | None:
    """The first action in the text: "Search[...]", up to the bracket that closes it (or the line's end).

    An action of ReAct's own needs an argument; a tool may take none.
    """
    found = _calls(tuple(spec.name for spec in tools)).search(text)
    if not found:
        return None
    argument = _inside(text[found.end() :].split("\n")[0])
    spec = tool_named(tools, found.group(1))
    if spec is not None:
        return Action(spec.name, argument.strip())
    argument = unwrapped(argument).strip(" \"'“”")
    return Action(found.group(1).lower().replace(" ", ""), argument) if argument else None


def _inside(rest: str) -> str:
    depth = 1
    for at, char in enumerate(rest):
        depth += (char == "[") - (char == "]")
        if depth == 0:
            return rest[:at]
    return rest


# --- doing --------------------------------------------------------------------------------------------------------


def done(t: Transcript, action: Action, desk: Desk, tools: Sequence[ToolSpec] = ()) -> Flow[str]:
    """Do the action; what the model is to read of it ("" for a thought: it changes nothing). Raises `SourceError`."""
    if action.name == "think":
        return ""
    if action.name == "search":
        return (yield from search_page(t, action.argument, desk))
    if action.name == "lookup":
        return (yield from _looked_up(t, action.argument, desk))
    return (yield from _used(t, action, tools))


def search_page(t: Transcript, entity: str, desk: Desk) -> Flow[str]:
    """The page's first five sentences, or the five most similar titles. Tried twice; raises `SourceError`."""
    try:
        page = yield from open_page(entity)
    except SourceError:
        page = yield from open_page(entity)
    if isinstance(page, Page):
        desk.page, desk.string, desk.results = page, "", ()
        seen = " ".join(page.sentences[:SENTENCES]).strip() or EMPTY
        t.shown(page.passages[:1])
        yield from _found(t, Action("search", entity), seen, page.passages[:1])
        return seen
    listed = ", ".join(repr(title) for title in page.titles)
    seen = f"Could not find [{entity}]. Similar: [{listed}]"
    yield from recorded(t, Hop(f"Search[{entity}]", entity, seen, "nothing"))
    return seen


def _next_result(desk: Desk, string: str) -> str:
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


def _looked_up(t: Transcript, string: str, desk: Desk) -> Flow[str]:
    seen = _next_result(desk, string)
    found: tuple[Passage, ...] = ()
    if desk.page and desk.results and seen.startswith("("):
        sentence = desk.results[desk.at - 1]
        found = tuple(p for p in desk.page.passages if sentence in p.text)[:1]
        t.shown(found)
    yield from _found(t, Action("lookup", string), seen, found)
    return seen


def _used(t: Transcript, action: Action, tools: Sequence[ToolSpec]) -> Flow[str]:
    """Call the tool. Its result is evidence like a passage; a refusal or failure is told to the model and noted."""
    spec = tool_named(tools, action.name)
    if spec is None:
        raise BadReply(f"There is no action {action.name!r}.", reply=str(action))
    try:
        arguments = arguments_for(spec, action.argument)
        result = yield from call(spec.name, arguments)
    except (BadReply, ToolError) as error:
        outcome = "refused" if isinstance(error, BadReply) else "failed"
        yield from note("tool_failed", str(error), tool=spec.name, arguments=action.argument, outcome=outcome)
        seen = f"Error: {error}"
        yield from recorded(t, Hop(str(action), action.argument, seen, "failed"))
        return seen
    evidence = Passage(result.id or str(action), spec.name, str(action), result.text)
    t.shown((evidence,))
    yield from _found(t, action, result.text, (evidence,))
    return result.text.strip() or EMPTY


def search_anew(t: Transcript, question: str, action: Action) -> Flow[str]:
    """A search in other words in place of an action that was made before, with what the question asks and none asked yet."""
    query = reformulated(action.argument, question, [hop.query for hop in t.hops]) or question
    yield from note("reformulated", query, instead=str(action))
    looked = yield from look_up(query, 1, exclude=t.pool)
    quote = snippet(question, looked.passages)
    seen = said(quote) if quote else NOTHING
    t.shown(looked.passages)
    grounded = quote is not None
    yield from recorded(t, Hop(f"Search[{query}]", query, seen, looked.outcome, looked.passages, quote, grounded))
    return f"You have already done this. A search for [{query}] finds: {seen}"


def _found(t: Transcript, action: Action, seen: str, passages: tuple[Passage, ...]) -> Flow[None]:
    quote = snippet(f"{action.argument} {seen}", passages)
    outcome: Outcome = "found" if passages else "nothing"
    hop = Hop(str(action), action.argument, seen, outcome, passages, quote, quote is not None)
    yield from recorded(t, hop)
