"""What is asked, found, said and answered: the values that flows and the engine hand each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
