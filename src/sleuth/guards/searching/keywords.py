"""The words of a question or a query that are worth searching: names, numbers and content words. By rule."""

from __future__ import annotations

import re

from sleuth.guards.text import STOP
from sleuth.transcript.wording import plain, stem

SCAFFOLD = frozenset(
    """search lookup look finish find follow up question answer intermediate final thought action observation step
    information fact facts name tell me give list following please know known need needs determine identify""".split()
)
"""Words of the scaffolds and of asking itself: they say nothing of what is looked for."""

_WORD = re.compile(r"[^\W_]+(?:[.'’&-][^\W_]+)*")
_NAME = re.compile(r"[^\W\d_a-z]|\d")


def keywords(text: str, *, names: bool = False) -> str:
    """The names, numbers and content words of a text, in order, each once; `names`: names and numbers alone.

    A name is a word with a capital, unless the text begins with it.
    """
    found: dict[str, str] = {}
    for match in _WORD.finditer(text):
        word = re.sub(r"['’]s$", "", match.group())
        named = match.start() > 0 and bool(_NAME.match(word))
        if named or not (names or plain(word) in STOP or plain(word) in SCAFFOLD):
            found.setdefault(stem(word), word)
    return " ".join(found.values())
