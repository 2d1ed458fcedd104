"""Scaffold labels as small models really write them: any case, any spacing, Markdown stars around them."""

from __future__ import annotations

import re
from functools import lru_cache

_EDGE = r"(?:[^\S\n]|[*_`#>])*"


@lru_cache(maxsize=64)
def label(text: str) -> re.Pattern[str]:
    """A pattern that finds this label at a line's start, up to where its content begins.

    ``label("Follow up:")`` finds "Follow up:", "**follow-up :** " and "FOLLOW  UP:".
    """
    spaced = r"[\s_*-]*".join(re.escape(word) for word in re.findall(r"\w+", text))
    return re.compile(rf"^{_EDGE}{spaced}[\s*_]*:{_EDGE}", re.IGNORECASE | re.MULTILINE)


@lru_cache(maxsize=64)
def numbered(text: str) -> re.Pattern[str]:
    """The same for a label that may carry a step number: "Thought 3:", "Action:"."""
    return re.compile(rf"^{_EDGE}{re.escape(text)}[\s*_]*\d*[\s*_]*:{_EDGE}", re.IGNORECASE | re.MULTILINE)


def line(text: str) -> str:
    """The first line that holds anything, without the spacing and Markdown emphasis around it."""
    return next((unwrapped(found) for found in text.splitlines() if found.strip("*_` \t\r\f\v")), "")


def unwrapped(text: str) -> str:
    """The text without the stars, underscores or backticks that wrap it whole or were left at one end."""
    bare = text.strip()
    for mark in ("***", "**", "*", "__", "_", "`"):
        if len(bare) > 2 * len(mark) and bare.startswith(mark) and bare.endswith(mark):
            return bare[len(mark) : -len(mark)].strip()
    return re.sub(r"^\*+\s+|\s*\*\*+$", "", bare).strip()


def cut_own(reply: str, *labels: str) -> tuple[str, str]:
    """The reply up to the first line that starts with one of these labels, and the rest: what the model must not write itself.

    A label is read without regard to case, spacing and Markdown, with any number or none before its colon. The two
    parts are the reply, whole. Without labels nothing is dropped.
    """
    starts = [found.start() for found in (_own(text).search(reply) for text in labels) if found]
    at = min(starts, default=len(reply))
    return reply[:at], reply[at:]


@lru_cache(maxsize=64)
def _own(text: str) -> re.Pattern[str]:
    words = re.findall(r"[^\W\d_]+", text)
    if not words:
        return re.compile(r"(?!)")
    spaced = r"[\s_*-]*".join(re.escape(word) for word in words)
    return re.compile(rf"^{_EDGE}{spaced}[\s*_]*\d*[\s*_]*:", re.IGNORECASE | re.MULTILINE)
