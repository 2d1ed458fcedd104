"""Strategies by name. Adding one costs its file and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from sleuth.strategies import link_then_read, react, retrieve_then_read, self_ask, standard
from sleuth.types import Strategy

TABLE: Mapping[str, Strategy] = {
    strategy.card.name: strategy
    for strategy in (
        link_then_read.STRATEGY,
        self_ask.STRATEGY,
        react.STRATEGY,
        retrieve_then_read.STRATEGY,
        standard.STRATEGY,
    )
}

DEFAULT = "link-then-read"
"""The strategy that answers when none is named."""
