"""Words, title keys and stop words: how the library compares one text with another. Pure functions."""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from functools import lru_cache

WORD = re.compile(r"\w+")
_US = re.compile(r"(?<!\w)(?:US|U\.S\.|USA|U\.S\.A\.)(?!\w)")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")

STOP = frozenset(
    "a about after all also am an and any are as at be been before being both but by can could did do does doing during each either"
    " for from had has have having he her here hers him his how i if in into is it its itself just may me might more most must my of"
    " on or other our out over own shall she should since so some such than that the their them then there these they this those"
    " through to too under until up upon us very was we were what when where which while who whom whose why will with would you your s t d ll re ve".split()
)
"""Words that carry no topic: left out of queries (unless nothing else is left), never a title by themselves."""


def sound(text: str) -> str:
    """The text with halves of surrogate pairs (JSON may hold them, no index can) replaced by "?"."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def fold(text: str) -> str:
    """Case and accents removed: "Gábor" and "GABOR" become "gabor"."""
    if text.isascii():
        return text.lower()
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))


def key(title: str) -> str:
    """A title without case, accents and punctuation: "Dial M for Murder!" becomes "dial m for murder"."""
    return " ".join(WORD.findall(fold(title)))


def bare(title: str) -> str:
    """A title without its trailing parenthesis: "Mercury (planet)" becomes "Mercury"."""
    return _PARENTHESIS.sub("", title)


@lru_cache(maxsize=4096)
def keys(title: str) -> tuple[str, ...]:
    """The keys a title is found by: whole, then without its trailing parenthesis. A title of signs alone is its own key."""
    found = dict.fromkeys((key(title), key(bare(title))))
    return tuple(name for name in found if name) or ((title.strip(),) if title.strip() else ())


def asked_words(question: str) -> list[str]:
    """The words of a question worth looking for, each once, in order; all of them if every one is a stop word.

    "US" in capitals is the country, not the pronoun, and is looked for as "united states" too.
    """
    words: dict[str, None] = {}
    for word in WORD.findall(_US.sub(" US united states ", question)):
        words.setdefault("US" if word == "US" else fold(word))
    short = [word for word in words if len(word) <= 40]
    return [word.lower() for word in short if word not in STOP] or [word.lower() for word in short]


def likeness(one: str, other: str) -> float:
    """How alike two titles are, 0 to 1: half shared words (Dice), half shared runs of characters (`difflib` ratio)."""
    a, b = key(one), key(other)
    left, right = set(a.split()), set(b.split())
    shared = 2 * len(left & right) / ((len(left) + len(right)) or 1)
    return (shared + SequenceMatcher(None, a, b, autojunk=False).ratio()) / 2
