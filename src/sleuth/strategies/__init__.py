"""Strategies by name. Adding one costs its file and one line here: its module's name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from sleuth.types import Strategy

MODULES = (
    "link_then_read",
    "self_ask",
    "react",
    "plan_and_solve",
    "parallel_self_ask",
    "hybrid",
    "auto",
    "ircot",
    "cot",
    "cot_sc",
    "react_then_cot_sc",
    "cot_sc_then_react",
    "act",
    "retrieve_then_read",
    "standard",
)
"""Files of this folder that hold a `STRATEGY`, in the order in which a reader should see them."""


def _packaged() -> Iterator[Strategy]:
    for name in MODULES:
        yield import_module(f"{__name__}.{name}").STRATEGY


TABLE: Mapping[str, Strategy] = {strategy.card.name: strategy for strategy in _packaged()}

DEFAULT = "link-then-read"
"""The strategy that answers when none is named."""
