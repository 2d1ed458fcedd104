"""What a flow asks the engine for, and the flow itself. The list of requests is nearly closed."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from sleuth.types.values import Completion, Message, Page, Passage, Role, Similar, ToolResult

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

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
class Read(Request[str | Completion]):
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
class Open(Request[Page | Similar]):
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
