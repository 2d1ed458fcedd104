"""A stretch of dialogue in few words, by rule: what was asked, what came of it, every name and number, the passages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sleuth.transcript.wording import EMPTY, plain
from sleuth.types import Message

ASKED_WORDS = 14
"""Words of a step's question or action that are kept."""
SEEN_WORDS = 25
"""Words of the sentence that is kept of what a step brought."""

_LABEL = re.compile(r"^[\W_]*?[^\W\d_a-z][^\W\d_]*(?: [^\W\dA-Z_]+){0,3}(?: ?\d+)?[*_ ]*:[*_]*\s*")
_SENTENCE = re.compile(r".+?(?:[.!?][\"'”’)\]]*(?=\s)|$)", re.DOTALL)
_WORD = re.compile(r"\w+(?:[.,'’&/:-]\w+)*")
_JOINS = frozenset("of the de del di da la le van von der du".split())
_OPENS = EMPTY | frozenset(
    """he she they we you i his her their not no yes but if when who whom whose where why how after before since until
    during then there here some many most all both each other""".split()
)


@dataclass(frozen=True, slots=True)
class Step:
    """What the model wrote, and what came from outside."""

    wrote: str
    seen: str


def steps(turns: Iterable[Message]) -> tuple[Step, ...]:
    """The turns as steps: what the model wrote up to the next thing it was shown, with that."""
    found: list[Step] = []
    own, seen = "", ""
    for turn in turns:
        if turn.role != "observation" and seen:
            found.append(Step(own, seen))
            own, seen = "", ""
        own, seen = (own, seen + turn.content) if turn.role == "observation" else (own + turn.content, seen)
    return (*found, Step(own, seen)) if own or seen else tuple(found)


def mentions(text: str) -> tuple[str, ...]:
    """The names (runs of words with a capital) and numbers of a text, in order, each once: "31 March 1889", "Bank of Brenn".

    A function word at the start of a run is no part of it, nor a name by itself for its capital.
    """
    found: dict[str, None] = {}
    run: list[re.Match[str]] = []
    for word in (*_WORD.finditer(text), None):
        if word is not None and run and not _goes_on(text, run[-1], word):
            _close(text, run, found)
        if word is not None and (_is_strong(word.group()) or (run and word.group() in _JOINS)):
            run.append(word)
        else:
            _close(text, run, found)
    return tuple(found)


def _goes_on(text: str, before: re.Match[str], word: re.Match[str]) -> bool:
    gap = text[before.end() : word.start()]
    initial = gap[:1] == "." and len(before.group()) == 1 and before.group().isupper()
    return bool(gap[initial:]) and not gap[initial:].strip(" \u00a0")


def _is_strong(word: str) -> bool:
    return word[0].isupper() or any(c.isdigit() for c in word)


def _close(text: str, run: list[re.Match[str]], found: dict[str, None]) -> None:
    while run and run[-1].group() in _JOINS:
        run.pop()
    start = next((at for at, word in enumerate(run) if plain(word.group()) not in _OPENS), len(run))
    if run[start:]:
        found.setdefault(text[run[start].start() : run[-1].end()])
    run.clear()


def summarised(past: Sequence[Step], passages: Iterable[str], most: int) -> str:
    """The steps in at most `most` characters, as one message from outside.

    A line a step: what was asked, and the sentence it brought that names most; then every name and number that these
    lines leave out, and the passages' ids. Where that is too long, the oldest steps' sentences go first, then what
    they asked, then the names that were mentioned first, then ids.
    """
    every = _named(past)
    ids = tuple(dict.fromkeys(passages))
    lines = [(asked(step.wrote), told(step.seen)) for step in past]
    for cut in _cuts(lines, most):
        short = [_line(n, line, cut, len(lines)) for n, line in enumerate(lines)]
        text = _put_together(len(past), short, _left_out(every, short), ids)
        if len(text) <= most:
            return text
    names, ids = _newest((*ids, *every), len(ids), most - len(_put_together(len(past), [], (), ())) - 40)
    return _put_together(len(past), [], names, ids)


def _cuts(lines: Sequence[tuple[str, str]], most: int) -> Iterator[int]:
    """How much to leave out, from the least with which the lines alone fit on; about eight tries, however many lines."""
    room, least = sum(len(asked) + len(told) for asked, told in lines) - most, 0
    for asked_or_told in (told for part in (1, 0) for told in (line[part] for line in lines)):
        if room <= 0:
            break
        room, least = room - len(asked_or_told), least + 1
    yield from range(least, 2 * len(lines) + 1, max(1, (2 * len(lines) - least) // 8))


def with_lost(text: str, past: Sequence[Step], passages: Iterable[str], most: int) -> str:
    """A summary that somebody wrote, with the names, numbers and ids that it lost put behind it, up to `most` characters."""
    every = _named(past)
    own = " ".join(text.split())[:most]
    room = max(0, most - len(_put_together(len(past), [own], (), ())) - 40)
    ids = tuple(dict.fromkeys(passages))
    names, ids = _newest((*ids, *_left_out(every, [own])), len(ids), room)
    return _put_together(len(past), [own], names, ids)


def asked(wrote: str) -> str:
    """The last line that the model wrote in a step, without its label."""
    lines = [line.strip() for line in wrote.splitlines() if line.strip()]
    return _clipped(_LABEL.sub("", lines[-1]), ASKED_WORDS) if lines else ""


def told(seen: str) -> str:
    """The sentence with most names and numbers of what a step brought, without its label."""
    text = " ".join(_LABEL.sub("", seen.strip()).split())
    sentences = [found.group().strip() for found in _SENTENCE.finditer(text)]
    return _clipped(max(sentences, key=lambda one: len(mentions(one)), default=""), SEEN_WORDS)


def _clipped(text: str, words: int) -> str:
    found = text.split()
    return " ".join(found[:words]) + " ..." if len(found) > words else " ".join(found)


def _line(n: int, line: tuple[str, str], cut: int, of: int) -> str:
    """A step's line; the first `cut` steps are without their sentence, and from `of` on without anything."""
    if n < cut - of:
        return ""
    parts = [line[0]] if n < cut else list(line)
    return f"{n + 1}. " + " - ".join(part for part in parts if part)


def _put_together(of: int, lines: Sequence[str], names: Sequence[str], ids: Sequence[str]) -> str:
    shown = [f"[Steps 1 to {of} in short]", *(line for line in lines if line)]
    shown += [f"Also named: {'; '.join(names)}."] if names else []
    shown += [f"Passages: {'; '.join(ids)}."] if ids else []
    return "\n".join(shown) + "\n"


def _left_out(every: Sequence[str], lines: Iterable[str]) -> tuple[str, ...]:
    said = "\n".join(lines)
    return tuple(name for name in every if name not in said or not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said))


def _newest(items: Sequence[str], ids: int, room: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """As many names and ids as there is room for: the first `ids` items are ids, and come first; of both the last mentioned."""
    kept: set[int] = set()
    for at in (*range(ids - 1, -1, -1), *range(len(items) - 1, ids - 1, -1)):
        room -= len(items[at]) + 2
        if room < 0:
            break
        kept.add(at)
    chosen = [at for at in range(len(items)) if at in kept]
    return tuple(items[at] for at in chosen if at >= ids), tuple(items[at] for at in chosen if at < ids)


def _named(past: Iterable[Step]) -> tuple[str, ...]:
    """Every name and number of the steps, without their labels ("Action 2:")."""
    lines = (_LABEL.sub("", line) for step in past for line in f"{step.wrote}\n{step.seen}".splitlines())
    return tuple(dict.fromkeys(name for line in lines for name in mentions(line)))
