"""Documents to passages: whole sentences, 60 to 120 words, each with its exact place in the document's text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from sleuth.library.read import Document

LEAST, MOST, WHOLE = 60, 120, 150
"""Words of a passage, at least and at most; a record (a line of .jsonl) of up to WHOLE words stays one passage."""

_RUN_ON = 300  # words; a "sentence" longer than this is a table or a log, and is cut at white space
_BLOCK = re.compile(r"\n[ \t]*\n\s*")
_LINE_STARTS = re.compile(r"\n(?=[ \t]*(?:#{1,6}[ \t]|[-*+][ \t]|\d{1,3}[.)][ \t]|\||>))")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage to be: ``document.text[begin:end]``; `ends` are the ends of its sentences, from `begin`."""

    begin: int
    end: int
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence or heading: its place, its words, and whether a paragraph ends, or must not end, with it."""

    begin: int
    end: int
    words: int
    last: bool = False
    heading: bool = False


def count_words(text: str) -> int:
    """Words between white space; two characters of Chinese or Japanese script count as one more word."""
    return len(text.split()) + (0 if text.isascii() else len(_WIDE.findall(text)) // 2)


def pieces(document: Document) -> list[Piece]:
    """The document's passages, in order. No passage is under `LEAST` words unless the whole document is.

    Over `MOST` only where sentences leave no other way: a longer sentence, or neighbours too short to stand alone.
    """
    units = list(_units(document.text, document.begin, document.kind == "markdown"))
    if not units:
        return []
    total = sum(unit.words for unit in units)
    if total <= LEAST or (document.kind == "record" and total <= WHOLE):
        return [_piece(units)]
    return [_piece(units[start:stop]) for start, stop in _cuts(units)]


def _piece(units: list[Unit]) -> Piece:
    begin = units[0].begin
    return Piece(begin, units[-1].end, tuple(unit.end - begin for unit in units))


def _cuts(units: list[Unit]) -> list[tuple[int, int]]:
    """The cheapest way to cut the row of units: least misfit first, then paragraphs kept whole, then even lengths."""
    crossed = [0.0]  # what it costs to run on over the ends of paragraphs, up to each unit
    for unit, after in pairwise(units):
        crossed.append(crossed[-1] + (1.0 + 2.0 * after.heading if unit.last and not unit.heading else 0.0))
    best: list[tuple[float, int]] = [(0.0, 0)]
    for stop in range(1, len(units) + 1):
        end, final = _end_cost(units[stop - 1], stop == len(units)), crossed[stop - 1]
        words = longest = 0
        least = (math.inf, stop - 1)
        for start in range(stop - 1, -1, -1):
            words, longest = words + units[start].words, max(longest, units[start].words)
            cost = best[start][0] + _misfit(words, stop - start) + end + final - crossed[start]
            least = min(least, (cost, start))
            if words >= 2 * LEAST + longest:  # anything longer can be cut in two that fit
                break
        best.append(least)
    found, stop = [], len(units)
    while stop:
        found.append((best[stop][1], stop))
        stop = best[stop][1]
    return found[::-1]


def _misfit(words: int, units: int) -> float:
    cost = ((words - (LEAST + MOST) / 2) / MOST) ** 2
    if words < LEAST:
        return cost + 1_000_000.0 + (LEAST - words)
    return cost + 10_000.0 + 10 * (words - MOST) if words > MOST and units > 1 else cost


def _end_cost(unit: Unit, at_end: bool) -> float:
    return 0.0 if at_end else (0.0 if unit.last else 2.0) + (50.0 if unit.heading else 0.0)


def _units(text: str, begin: int, markdown: bool) -> Iterator[Unit]:
    for start, stop in _blocks(text, begin, markdown):
        spans = list(_sentences(text, start, stop))
        heading = markdown and _HEADING.match(text, start, stop) is not None
        for n, (a, b) in enumerate(spans):
            yield Unit(a, b, count_words(text[a:b]), n == len(spans) - 1, heading)


def _blocks(text: str, begin: int, markdown: bool) -> Iterator[tuple[int, int]]:
    """Paragraphs; in Markdown also headings, list items, table rows and quoted lines, which stand alone."""
    at = begin
    for gap in [*_BLOCK.finditer(text, begin), None]:
        stop = gap.start() if gap else len(text)
        if markdown:
            yield from _lines(text, at, stop)
        elif text[at:stop].strip():
            yield at, stop
        at = gap.end() if gap else stop


def _lines(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    at = start
    while at < stop:
        if _HEADING.match(text, at, stop):
            end = text.find("\n", at, stop)
            end = stop if end < 0 else end
        else:
            following = _LINE_STARTS.search(text, at + 1, stop)
            end = following.start() if following else stop
        if text[at:end].strip():
            yield at, end
        at = end + 1 if end < stop else stop


def _sentences(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Places of the sentences in ``text[start:stop]``, without the white space around them."""
    from sentencex import segment  # here, because loading it takes time that `import sleuth` must not

    block = text[start:stop]
    parts = list(segment("en", block))
    if "".join(parts) != block:
        parts = [block]
    at = start
    for part in parts:
        inner = part.strip()
        if inner:
            a = at + len(part) - len(part.lstrip())
            yield from _short(text, a, a + len(inner))
        at += len(part)


def _short(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The sentence itself, or, if it is a run-on of hundreds of words, stretches of `MOST` words of it."""
    if stop - start < _RUN_ON * 2 or count_words(text[start:stop]) <= _RUN_ON:
        yield start, stop
        return
    words = list(re.finditer(r"\S+", text[start:stop]))
    parts = -(-count_words(text[start:stop]) // MOST)
    step = -(-len(words) // parts)
    for first in range(0, len(words), step):
        group = words[first : first + step]
        yield start + group[0].start(), start + group[-1].end()
