"""The recorded request nearest to one that was not recorded, as a diff that can be read."""

from __future__ import annotations

import dataclasses
import difflib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sleuth.errors import CassetteMiss
from sleuth.events import Failed, Finished
from sleuth.types import Generate, Listen, Request

WIDTH = 100
"""Characters of a line of the diff; longer ones are wrapped."""

SHOWN = 60
"""Lines of the diff that an error shows."""

COMPARED = 12
"""How many recorded requests are compared word by word, and..."""

WORDS = 300
"""...how many words of where they differ; together they bound the time of a miss."""


@dataclass(slots=True)
class Recorded:
    """A request in a recording, and how it ended (None: it had not)."""

    branch: str
    request: Request[Any]
    digest: str
    ordinal: int
    outcome: Finished | Failed | None = None


def explain(
    request: Request[Any], branch: str, digest: str, ordinal: int, recorded: Sequence[Recorded]
) -> CassetteMiss:
    """The error for a request that is not in the recording."""
    name, place = type(request).__name__, f"branch {branch!r}" if branch else "the main branch"
    details = {"branch": branch, "digest": digest, "ordinal": ordinal}
    hint = "A strict replay needs the same code, prompts and settings; to go on live, resume the run instead."
    if not recorded:
        return CassetteMiss(f"The recording holds no request; {name} in {place} was asked.", hint=hint, **details)
    equal = sum(entry.digest == digest and entry.branch == branch for entry in recorded)
    if equal:
        text = f"{name} in {place} was asked {ordinal + 1} times with the same content; the recording holds {equal}."
        return CassetteMiss(text, hint=hint, **details)
    nearest = find_nearest(request, branch, recorded)
    shown = _diff(_wrapped(_lines(nearest.request)), _wrapped(_lines(request)))
    if not shown:
        shown = f"(The same content is recorded in branch {nearest.branch!r}.)"
    text = f"{name} in {place} was never recorded. The nearest recorded request, and what was asked:\n{shown}\n"
    return CassetteMiss(text, hint=hint, **details)


def find_nearest(request: Request[Any], branch: str, recorded: Sequence[Recorded]) -> Recorded:
    """Of the same branch and kind first, then of the same kind, then of the same branch; among these by their text."""
    best = min(_tier(entry, request, branch) for entry in recorded)
    asked = _lines(request)
    candidates = [(entry, _lines(entry.request)) for entry in recorded if _tier(entry, request, branch) == best]
    candidates.sort(key=lambda pair: -sum(_shared_ends(pair[1], asked)))
    return max(candidates[:COMPARED], key=lambda pair: _similarity(pair[1], asked))[0]


def _tier(entry: Recorded, request: Request[Any], branch: str) -> int:
    kind, same_branch = type(entry.request) is type(request), entry.branch == branch
    return (not kind) * 2 + (not same_branch)


def _similarity(recorded: list[str], asked: list[str]) -> float:
    """Between 0 and 1: the share of lines that agree at both ends, and the likeness of the words between."""
    head, tail = _shared_ends(recorded, asked)
    longest = max(len(recorded), len(asked))
    left = " ".join(recorded[head : len(recorded) - tail]).split()[:WORDS]
    right = " ".join(asked[head : len(asked) - tail]).split()[:WORDS]
    likeness = difflib.SequenceMatcher(None, left, right, autojunk=False).ratio()
    return (head + tail + likeness * (longest - head - tail)) / longest


def _shared_ends(left: list[str], right: list[str]) -> tuple[int, int]:
    shortest = min(len(left), len(right))
    head = next((i for i in range(shortest) if left[i] != right[i]), shortest)
    rest = shortest - head
    tail = next((i for i in range(rest) if left[-1 - i] != right[-1 - i]), rest)
    return head, tail


def _diff(recorded: list[str], asked: list[str]) -> str:
    lines = list(difflib.unified_diff(recorded, asked, "recorded", "asked", lineterm="", n=2))
    if len(lines) > SHOWN:
        lines = [*lines[:SHOWN], f"... and {len(lines) - SHOWN} more lines"]
    return "\n".join(lines)


def _lines(request: Request[Any]) -> list[str]:
    """A request as lines for people: its kind, its fields, its dialogue."""
    if isinstance(request, Listen):
        return ["Listen", *_lines(request.generate)]
    lines = [type(request).__name__]
    for field in dataclasses.fields(request):
        value = getattr(request, field.name)
        if field.name not in ("messages", "flow"):
            lines += f"{field.name}: {value if isinstance(value, str) else repr(value)}".splitlines()
    if isinstance(request, Generate):
        for message in request.messages:
            lines += [f"[{message.role}]", *message.content.splitlines()]
    return lines


def _wrapped(lines: list[str]) -> list[str]:
    """Long lines in pieces, so that a diff shows the piece that differs."""
    out = []
    for line in lines:
        out += textwrap.wrap(line, WIDTH, drop_whitespace=False) if len(line) > WIDTH else [line]
    return out
