"""What a strategy is, and what it is run with: the limits of a run, and its guards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sleuth.types.requests import Flow
from sleuth.types.values import Answer


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
