"""Sleuth answers questions whose answer is not written in one place, hop by hop, with the proof.

    import sleuth

    answer = sleuth.ask("Who was US president when the Eiffel Tower was completed?")
    answer.text, answer.status, answer.citations[0].quote

Every public name is here; each is imported when it is first used, so that ``import sleuth`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sleuth.app import aask as aask
    from sleuth.app import ask as ask
    from sleuth.app import strategy as strategy
    from sleuth.app import stream as stream
    from sleuth.app.batching import batch as batch
    from sleuth.app.compare import Comparison as Comparison
    from sleuth.app.comparing import compare as compare
    from sleuth.app.planning import plan as plan
    from sleuth.engine import Engine as Engine
    from sleuth.errors import SleuthError as SleuthError
    from sleuth.events import Closed as Closed
    from sleuth.events import Event as Event
    from sleuth.events import Noted as Noted
    from sleuth.models.script import Script as Script
    from sleuth.sources.functions import tool as tool
    from sleuth.sources.shelf import Shelf as Shelf
    from sleuth.types import Answer as Answer
    from sleuth.types import Budget as Budget
    from sleuth.types import Card as Card
    from sleuth.types import Citation as Citation
    from sleuth.types import Completion as Completion
    from sleuth.types import Flow as Flow
    from sleuth.types import Guards as Guards
    from sleuth.types import Hop as Hop
    from sleuth.types import Message as Message
    from sleuth.types import Page as Page
    from sleuth.types import Passage as Passage
    from sleuth.types import Similar as Similar
    from sleuth.types import Usage as Usage
    from sleuth.verbs import call as call
    from sleuth.verbs import cancel as cancel
    from sleuth.verbs import count as count
    from sleuth.verbs import fork as fork
    from sleuth.verbs import generate as generate
    from sleuth.verbs import join as join
    from sleuth.verbs import listen as listen
    from sleuth.verbs import next_of as next_of
    from sleuth.verbs import note as note
    from sleuth.verbs import open_page as open_page
    from sleuth.verbs import read as read
    from sleuth.verbs import search as search

__version__ = "0.1.0"

_HOMES = {
    "sleuth.app": ("aask", "ask", "strategy", "stream"),
    "sleuth.app.batching": ("batch",),
    "sleuth.app.compare": ("Comparison",),
    "sleuth.app.comparing": ("compare",),
    "sleuth.app.planning": ("plan",),
    "sleuth.engine": ("Engine",),
    "sleuth.errors": ("SleuthError",),
    "sleuth.events": ("Closed", "Event", "Noted"),
    "sleuth.models.script": ("Script",),
    "sleuth.sources.functions": ("tool",),
    "sleuth.sources.shelf": ("Shelf",),
    "sleuth.types": (
        *("Answer", "Budget", "Card", "Citation", "Completion", "Flow", "Guards", "Hop", "Message", "Page"),
        *("Passage", "Similar", "Usage"),
    ),
    "sleuth.verbs": (
        *("call", "cancel", "count", "fork", "generate", "join", "listen", "next_of", "note", "open_page", "read"),
        "search",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022  by what they are for, not by the alphabet
    "ask",
    "aask",
    "stream",
    "batch",
    "compare",
    "plan",
    "strategy",
    "tool",
    "Engine",
    "Script",
    "Shelf",
    "Answer",
    "Budget",
    "Card",
    "Citation",
    "Comparison",
    "Completion",
    "Closed",
    "Event",
    "Noted",
    "Flow",
    "Guards",
    "Hop",
    "Message",
    "Page",
    "Passage",
    "Similar",
    "SleuthError",
    "Usage",
    "call",
    "cancel",
    "count",
    "fork",
    "generate",
    "join",
    "listen",
    "next_of",
    "note",
    "open_page",
    "read",
    "search",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'sleuth' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
