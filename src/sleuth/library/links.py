"""Titles that stand in a text: the links between passages, found once while indexing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from sleuth.library.words import STOP, WORD, fold

LONGEST = 10
"""Words of the longest title looked for."""

ANY_LENGTH = tuple(range(LONGEST, 0, -1))


def titles_in(
    text: str, known: Callable[[str], bool], lengths: Callable[[str], Sequence[int]], *, any_case: bool = False
) -> list[str]:
    """Keys of the titles that stand in the text, in order of appearance, each once.

    The longest match wins. A title begins with a capital or a digit (unless `any_case`); one word alone must have four
    letters or more, be no stop word and no number, and not stand beside another capitalised word. `known` tells whether
    a key is a title's; `lengths` how many words titles that begin with a word may have, longest first.
    """
    places = list(WORD.finditer(text))
    words = [place[0] for place in places]
    starts = [at for at, word in enumerate(words) if any_case or (not word[0].islower() and _may_begin(word[0]))]
    if not starts:
        return []
    folded = fold("\n".join(words)).split("\n")
    found: dict[str, None] = {}
    free = 0
    for at in starts:
        if at < free:
            continue
        for length in lengths(folded[at]):
            name = " ".join(folded[at : at + length])
            if known(name) and at + length <= len(words) and (length > 1 or _alone(name, any_case, text, places, at)):
                found[name] = None
                free = at + length
                break
    return list(found)


def _may_begin(letter: str) -> bool:
    return letter.isupper() or letter.isdigit()


def _alone(name: str, any_case: bool, text: str, places: list[re.Match[str]], at: int) -> bool:
    """Whether a word by itself can be meant as a title."""
    plain = len(name) >= 4 and name not in STOP and not name.isdigit()
    return plain and (any_case or not _in_longer_name(text, places, at))


def _in_longer_name(text: str, places: list[re.Match[str]], at: int) -> bool:
    """Whether the word stands side by side with another capitalised one: "United" in "United States" is no mention of it."""
    begin, end = places[at].span()
    if at and _capitalised(places[at - 1][0]) and text[places[at - 1].end() : begin].isspace():
        return True
    return at + 1 < len(places) and _capitalised(places[at + 1][0]) and text[end : places[at + 1].start()].isspace()


def _capitalised(word: str) -> bool:
    return word[0].isupper() and word.lower() not in STOP


class TitleTable:
    """The titles of a library while it is being indexed: about 100 bytes a title."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = set(names)
        self._lengths: dict[str, tuple[int, ...]] = {}
        for name in self.names:
            first, *rest = name.split(" ")
            length, known = 1 + len(rest), self._lengths.get(first, ())
            if length <= LONGEST and length not in known:
                self._lengths[first] = _longest_first((*known, length))

    def find(self, text: str, but: Iterable[str] = ()) -> list[str]:
        """Keys of the titles in the text, without the keys of its own title."""
        own, lengths = set(but), self._lengths
        return [
            name
            for name in titles_in(text, self.names.__contains__, lambda word: lengths.get(word, ()))
            if name not in own
        ]


@lru_cache(maxsize=2048)
def _longest_first(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths in order; cached so that equal ones are one object."""
    return tuple(sorted(lengths, reverse=True))
