"""Text from outside on a terminal: shown as it reads, never obeyed."""

from __future__ import annotations

import re
import unicodedata

_SEQUENCES = re.compile(
    r"""
    (?: \x1b\] | \x9d ) .*? (?: \x07 | \x1b\\ | \x9c | $ )          # OSC: titles, links, clipboard
  | (?: \x1b[PX^_] | [\x90\x98\x9e\x9f] ) .*? (?: \x1b\\ | \x9c | $ )  # DCS, SOS, PM, APC
  | (?: \x1b\[ | \x9b ) [0-?]* [ -/]* [@-~]?                        # CSI: colours, cursor
  | \x1b [ -/]* [0-~]?                                              # the two-character ones
    """,
    re.VERBOSE | re.DOTALL,
)
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
"""Characters that turn the direction of what follows."""


def clean(text: str) -> str:
    """The text without control sequences, control characters (but newline and tab), direction marks and lone surrogates."""
    return "".join(c for c in _SEQUENCES.sub("", text.replace("\r\n", "\n")) if c in "\n\t" or _harmless(c))


def one_line(text: str, most: int = 0) -> str:
    """The cleaned text on one line, cut with an ellipsis after `most` characters (0 is no limit)."""
    flat = " ".join(clean(text).split())
    return flat if not most or len(flat) <= most else flat[: most - 1].rstrip() + "…"


def _harmless(character: str) -> bool:
    return character not in _TURNS and unicodedata.category(character) not in ("Cc", "Cs")
