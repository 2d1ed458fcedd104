"""What a report is made of, before it is HTML or Markdown: both say the same because both are made of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; `level` 1 is the report's own, 2 a task's or a part's, 3 within it."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Para:
    """A paragraph; `strong` for a finding."""

    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names its rows. `folded` is shown closed where the form can (HTML)."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: `draw` makes its SVG when it is needed, `alt` says in words what it shows; its numbers stand in a table beside."""

    draw: Callable[[], str]
    alt: str
    caption: str


@dataclass(frozen=True, slots=True)
class Side:
    """One method's run of a question: its head ("a CoT"), what became of it, and a line for each hop."""

    head: str
    right: bool | None
    answer: str
    facts: str
    hops: tuple[str, ...]
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A question with every method's run side by side. `state` is ``right``, ``wrong`` (all of them), ``differ`` or ``open``."""

    id: str
    question: str
    gold: str
    about: str
    state: str
    parts: str
    sides: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Cards:
    """A task's questions; `left_out` says what is not here and where it is, "" when all are here."""

    task: str
    cards: tuple[Card, ...]
    left_out: str = ""


Block: TypeAlias = Heading | Para | Items | Table | Figure | Cards
