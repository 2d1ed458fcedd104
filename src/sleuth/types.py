"""The values and requests everything else speaks in. Frozen; standard library only.

A strategy is a generator (`Flow`) that yields requests and is sent their results; see `sleuth.verbs` for the
functions that make it read like plain code. This list of requests is nearly closed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# --- values ---------------------------------------------------------------------------------------------------

Role: TypeAlias = Literal["plan", "read", "judge"]
Speaker: TypeAlias = Literal["system", "user", "assistant", "observation"]
Finish: TypeAlias = Literal["label", "end", "limit"]
Status: TypeAlias = Literal["answered", "abstained", "failed"]
Why: TypeAlias = Literal[
    "final_answer",
    "confident",
    "follow_up_limit",
    "step_limit",
    "repeated",
    "ungrounded",
    "unparsable",
    "budget",
    "deadline",
    "cancelled",
    "source_error",
    "model_error",
]


@dataclass(frozen=True, slots=True)
class Message:
    """A piece of the dialogue. Raw-text models read the contents joined as they are; chat models read turns.

    An ``observation`` is text from outside (a passage, a page, a tool): it is shown to the model, never parsed as
    its own words, and adapters tokenise it without special tokens. A trailing ``assistant`` message is a prefix
    for the model to continue.
    """

    role: Speaker
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent: model calls, searches, tokens newly read, tokens read from cache, tokens written, US dollars, seconds."""

    calls: int = 0
    searches: int = 0
    read: int = 0
    cached: int = 0
    written: int = 0
    usd: float = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens read, from cache or not, and written."""
        return self.read + self.cached + self.written

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.searches + other.searches,
            self.read + other.read,
            self.cached + other.cached,
            self.written + other.written,
            self.usd + other.usd,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A native tool call of a model: its id, the tool's name and the arguments as JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply. `text` never holds the stop text; `stopped_by` says which one ended it (``finish == "label"``).

    `logprob` is the summed natural log-probability of the written tokens, where the endpoint tells.
    """

    text: str
    finish: Finish = "end"
    stopped_by: str | None = None
    usage: Usage = Usage()
    logprob: float | None = None
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """Some whole sentences of a document. `span` is its place in the document's text (characters, end exclusive).

    `why` says why a search returned it ("covers: tower, completed", "named in: Eiffel Tower").
    """

    id: str
    document: str
    title: str
    text: str
    score: float = 0.0
    span: tuple[int, int] = (0, 0)
    why: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page: its sentences in order, and the passages they stand in (for citations)."""

    title: str
    sentences: tuple[str, ...]
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Similar:
    """No page has that title; these are the nearest titles, best first."""

    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's answer, with the id of the call it answers."""

    text: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage's id, title and a quote that stands in it word for word. `verified` once the quote was found there."""

    passage: str
    title: str
    quote: str
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Hop:
    """One look-up: what was asked, what was searched, what came back, and what it is cited to.

    `outcome` is ``found``, ``nothing`` (no result), ``failed``, ``timeout`` or ``rate_limited``; ``memory`` when the
    model answered from its own knowledge. `grounded` is true when the answer's quote was found in the evidence.
    """

    question: str
    query: str = ""
    answer: str = ""
    outcome: Literal["found", "nothing", "failed", "timeout", "rate_limited", "memory"] = "found"
    evidence: tuple[Passage, ...] = ()
    citation: Citation | None = None
    grounded: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and its proof. `text` is "" unless `status` is ``answered``.

    `ended` says why the run stopped, apart from whether there is an answer. `read` is the passages the call that
    wrote the answer had before it, in order. `transcript` is the text so far, as the model saw and continued it.
    `confidence` is a probability and `confidence_by` where it is from: ``votes``, ``logprob`` (of the answer's tokens)
    or ``asked`` (of the model). `grounded` says whether the answer follows from cited hops; None: not checked.
    """

    text: str
    status: Status
    ended: Why
    citations: tuple[Citation, ...] = ()
    confidence: float | None = None
    hops: tuple[Hop, ...] = ()
    read: tuple[Passage, ...] = ()
    transcript: str = ""
    usage: Usage = Usage()
    note: str = ""
    run: str = ""
    confidence_by: Literal["", "votes", "logprob", "asked"] = ""
    grounded: bool | None = None


# --- shapes: constrained decoding, where a model offers it ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """The reply is one of these texts."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Json:
    """The reply is JSON that fits this schema (the schema as JSON text; ``additionalProperties`` must be false)."""

    schema: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    """The reply is a run of whole words that stands in this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Grammar:
    """The reply fits this GBNF grammar."""

    gbnf: str


Shape: TypeAlias = Choice | Json | Verbatim | Grammar


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it: name, one-line description, JSON schema of its arguments (as JSON text)."""

    name: str
    description: str
    parameters: str = '{"type": "object"}'


# --- requests ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request(Generic[T_co]):
    """Something a flow asks the engine for; the type argument is what is sent back."""


@dataclass(frozen=True, slots=True)
class Generate(Request[Completion]):
    """One model call.

    `sample` says which draw of the same prompt this is. `shape` constrains decoding where the model offers it;
    replies are parsed all the same. `closing` marks a call that writes the answer: the budget holds one back.
    `logprob` asks for the summed log-probability of the reply.
    """

    messages: tuple[Message, ...]
    role: Role = "plan"
    stop: tuple[str, ...] = ()
    max_tokens: int = 256
    temperature: float = 0.0
    sample: int = 0
    shape: Shape | None = None
    tools: tuple[ToolSpec, ...] = ()
    closing: bool = False
    logprob: bool = False


@dataclass(frozen=True, slots=True)
class Listening:
    """Handle of a model call that is being read piece by piece."""

    id: str


@dataclass(frozen=True, slots=True)
class Listen(Request[Listening]):
    """Start a model call that will be read while it is written."""

    generate: Generate


@dataclass(frozen=True, slots=True)
class Read(Request["str | Completion"]):
    """The next piece of a `Listen`ed reply, up to and including `until` (or whatever has come, if None); at the end the `Completion`."""

    listening: Listening
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Count(Request[int]):
    """How many tokens the text has for the model of that role."""

    text: str
    role: Role = "plan"


@dataclass(frozen=True, slots=True)
class Search(Request[tuple[Passage, ...]]):
    """Passages for a query, best first; () when nothing is found.

    `together` asks for passages that cover the query *together* (a source that cannot does its plain ranking).
    `exclude` holds ids already shown. `when` is an ISO date or year ("1889-03-31", "1889"): passages whose dates
    or intervals hold it come first.
    """

    query: str
    k: int = 5
    together: bool = False
    exclude: tuple[str, ...] = ()
    when: str = ""


@dataclass(frozen=True, slots=True)
class Open(Request["Page | Similar"]):
    """A page by its title (exact, then redirect), or the nearest titles."""

    title: str


@dataclass(frozen=True, slots=True)
class Call(Request[ToolResult]):
    """Any other tool, by name, with its arguments as JSON text."""

    tool: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Note(Request[None]):
    """What a strategy wants seen: a thought, a plan, a hop, a sub-answer. No part in identity."""

    kind: str
    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


Flow: TypeAlias = Generator[Request[Any], Any, T]
"""A strategy in progress: yields requests, is sent their results, returns a T."""


@dataclass(frozen=True, slots=True)
class Task(Generic[T_co]):
    """Handle of a forked flow: its branch path ("0.2" is the third fork of the first fork)."""

    branch: str


@dataclass(frozen=True, slots=True, eq=False)
class Fork(Request["Task[Any]"]):
    """Start a flow beside this one."""

    flow: Flow[Any]


@dataclass(frozen=True, slots=True)
class Join(Request[Any]):
    """Wait for one task's value; its failure is raised here, as a fresh exception."""

    task: Task[Any]


@dataclass(frozen=True, slots=True)
class Next(Request["Task[Any]"]):
    """Wait for whichever of these tasks ends first (ended ones count), and say which."""

    tasks: tuple[Task[Any], ...]


@dataclass(frozen=True, slots=True)
class Cancel(Request[None]):
    """Give a task up."""

    task: Task[Any]


# --- budget -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one run; None is no limit.

    `calls` model calls, `tokens` read and written by them, `usd` US dollars; `seconds` is a deadline.
    `closing_tokens` (read and written) is what one answer-writing call is assumed to need and is held back for it.
    """

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    closing_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Guards:
    """What keeps a run from going wrong; each can be turned off, and is measured in docs/guards.md.

    `confidence`: stop looking up once an answer is surer than this (probability; None: never), told by `confidence_by`.
    `fallback`: what a search that finds nothing tries next: an expansion of the query (by pseudo-relevance ``feedback``
    or by the ``model``), then its keywords. `compress`: tokens of dialogue above which its middle is summarised (0: never).
    `repeats`: which queries, follow-ups and actions count as asked before: the same words in order (``exact``), or
    also in another order and form (``near``). `citations`: an answer that does not follow from cited hops is
    marked, or becomes an abstention; `judge` lets one model call decide where the rules cannot. `own`: a model that
    writes its own observation is cut there.
    """

    confidence: float | None = 0.8
    confidence_by: Literal["logprob", "asked"] = "logprob"
    fallback: Literal["off", "feedback", "model"] = "feedback"
    compress: int = 2000
    repeats: Literal["off", "exact", "near"] = "near"
    citations: Literal["off", "mark", "abstain"] = "mark"
    judge: bool = False
    own: bool = True


@dataclass(frozen=True, slots=True)
class Card:
    """What a strategy is, for people: shown by ``sleuth strategies``, the docs and the web page."""

    name: str
    summary: str
    paper: str
    when: tuple[str, ...]
    avoid: tuple[str, ...]
    loop: bool
    parallel: bool
    branch: bool
    person_in_the_loop: bool
    autonomy: Literal["low", "medium", "high"]
    cost: Literal["low", "medium", "high"]
    latency: Literal["low", "medium", "high"]
    calls: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy in the name table: its card, its flow, its named settings, and the most model calls it can make.

    ``flow(question, **params)`` starts it. `settings` maps a setting's name ("default", "paper") to parameters.
    ``most_calls(params)`` is an upper bound on `Generate` requests, for tests and for `sleuth plan`.
    """

    card: Card
    flow: Callable[..., Flow[Answer]]
    settings: Mapping[str, Mapping[str, Any]]
    most_calls: Callable[[Mapping[str, Any]], int]
