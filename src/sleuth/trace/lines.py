"""One event as one small JSON object, and back.

Three things repeat in a run, and each is stored once:

- A call's messages: ``{"~": "^", "branch": b, "number": n, "keep": k, "tail": [...]}`` are the first k messages of the
  call at that span (no branch: the run itself), then the tail.
- A text of `LONG` characters or more: ``{"~": i}`` is the i-th long text of this trace; ``{"~": [...]}`` is joined from
  parts: a text stands for itself, ``i`` for the i-th long text, ``[i, n]`` for its first n characters.
- A `Passage`, `Hop` or `Usage`: ``{"~": "@", "n": i}`` is the i-th of them in this trace.

`Packer` and `Unpacker` count in the same order: that of the objects in the lines, parts before the whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sleuth.codec import TAG, plain, restore
from sleuth.events import Event, Span, Started
from sleuth.types import Generate, Listen, Message

LONG = 24
"""Characters: a shorter text costs no more than a reference to it."""

RECENT = 200
"""How many long texts, newest first, are looked for inside a new one; bounds the time a line takes."""

_ONCE = ("Passage", "Hop", "Usage")


class _Shared:
    """What has been stored so far, on either side."""

    def __init__(self) -> None:
        self.run: str | None = None
        self.texts: list[str] = []
        self.ids: dict[str, int] = {}
        self.objects: list[Any] = []

    def learn(self, text: str) -> None:
        if len(text) >= LONG and text not in self.ids:
            self.ids[text] = len(self.texts)
            self.texts.append(text)


class Packer:
    """Makes lines of the events of one trace, in their order."""

    def __init__(self) -> None:
        self._shared = _Shared()
        self._objects: dict[str, int] = {}
        self._calls = _Calls()

    def pack(self, event: Event) -> dict[str, Any]:
        """The event as a JSON object. A value of an unknown type is stored as its `repr`, cut to 2,000 characters."""
        line: dict[str, Any] = {"seq": event.seq, "at": event.at}
        if event.run != self._shared.run:
            line["run"] = plain(event.run)
            self._shared.run = event.run
        if event.span.branch:
            line["branch"] = plain(event.span.branch)
        line["number"] = event.span.number
        body = plain(event.body, other=_as_text)
        generate = _generate(event.body)
        if generate is not None:
            self._refer(generate, event.span, body["request"])
        line["body"] = self._walk(body)
        return line

    def _refer(self, generate: Generate, span: Span, request: dict[str, Any]) -> None:
        """Put a reference to the earlier call that shares most of the beginning in place of the messages."""
        known, keep = self._calls.longest(generate.messages)
        self._calls.add(span, generate.messages)
        if known is not None:
            target = request if request[TAG] == "Generate" else request["generate"]
            tail = target["messages"][keep:]
            branch = {"branch": plain(known.branch)} if known.branch else {}
            target["messages"] = {TAG: "^", **branch, "number": known.number, "keep": keep, "tail": tail}

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get(TAG) in _ONCE:
            return self._object(value)
        return self._entries(value)

    def _entries(self, value: dict[str, Any]) -> dict[str, Any]:
        out = {}
        for key, item in value.items():
            if key == "text" and value.get(TAG) == "Answer" and isinstance(item, str):
                out[key] = item  # so that a list of runs needs to read only the last line
                self._shared.learn(item)
            else:
                out[key] = self._walk(item)
        return out

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        identity = json.dumps(value)
        if identity in self._objects:
            return {TAG: "@", "n": self._objects[identity]}
        packed = self._entries(value)
        self._objects[identity] = len(self._objects)
        return packed

    def _text(self, text: str) -> Any:
        if len(text) < LONG:
            return text
        known = self._shared.ids.get(text)
        if known is not None:
            return {TAG: known}
        parts = self._parts(text)
        self._shared.learn(text)
        return text if parts == [text] else {TAG: parts}

    def _parts(self, text: str) -> list[Any]:
        parts: list[Any] = []
        done = 0
        for start, number, length in self._found(text):
            if start < done:
                continue
            if start > done:
                parts.append(text[done:start])
            whole = length == len(self._shared.texts[number])
            parts.append(number if whole else [number, length])
            done = start + length
        if done < len(text):
            parts.append(text[done:])
        return parts

    def _found(self, text: str) -> list[tuple[int, int, int]]:
        """Where recent long texts, or their beginnings, stand in this one: (start, number, length), longest first at a start."""
        found = []
        texts = self._shared.texts
        for number in range(max(0, len(texts) - RECENT), len(texts)):
            start = text.find(texts[number][:LONG])
            if start >= 0:
                found.append((start, number, _agreement(text, start, texts[number])))
        return sorted(found, key=lambda hit: (hit[0], -hit[2]))


class Unpacker:
    """Makes events of the lines of one trace, in their order. Raises `BadInput` or a LookupError, TypeError, ValueError."""

    def __init__(self) -> None:
        self._shared = _Shared()
        self._calls: dict[Span, tuple[Message, ...]] = {}

    def unpack(self, line: dict[str, Any]) -> Event:
        """The event of this line; the lines before it must have been unpacked."""
        if "run" in line:
            self._shared.run = restore(line["run"])
        span = Span(restore(line.get("branch", "")), line["number"])
        body = restore(self._walk(line["body"]))
        generate = _generate(body)
        if generate is not None:
            self._calls[span] = generate.messages
        run, seq, at = self._shared.run, line["seq"], line["at"]
        if not (isinstance(run, str) and type(seq) is int and type(span.number) is int and isinstance(at, int | float)):
            raise ValueError("an event needs a run, a seq, a number and a time")
        if type(body).__module__ != Event.__module__:
            raise ValueError(f"a {type(body).__name__} is no event")
        return Event(run, seq, at, span, body)

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            self._shared.learn(value)
            return value
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        if not isinstance(value, dict):
            return value
        match value.get(TAG):
            case int() | list() as parts:
                text = "".join(map(self._part, parts if isinstance(parts, list) else [parts]))
                self._shared.learn(text)
                return text
            case "@":
                return self._shared.objects[value["n"]]
            case "^":
                call = Span(restore(self._walk(value.get("branch", ""))), value["number"])
                head = self._calls[call][: value["keep"]]
                return [*(plain(message) for message in head), *self._walk(value["tail"])]
        out = {key: self._walk(item) for key, item in value.items()}
        if out.get(TAG) in _ONCE:
            self._shared.objects.append(out)
        return out

    def _part(self, part: Any) -> str:
        if isinstance(part, str):
            return part
        number, length = part if isinstance(part, list) else (part, None)
        text: str = self._shared.texts[number]
        return text[:length]


class _Calls:
    """Which earlier call shares the longest beginning with a list of messages: one look-up a message."""

    def __init__(self) -> None:
        self._messages: dict[Span, Sequence[Message]] = {}
        self._by_prefix: dict[int, Span] = {}

    def longest(self, messages: Sequence[Message]) -> tuple[Span | None, int]:
        """The call's span and how many messages it shares; (None, 0) when none does."""
        keys = _prefix_keys(messages)
        for keep in range(len(keys), 0, -1):
            span = self._by_prefix.get(keys[keep - 1])
            if span is not None and self._messages[span][:keep] == messages[:keep]:
                return span, keep
        return None, 0

    def add(self, span: Span, messages: Sequence[Message]) -> None:
        self._messages[span] = messages
        for key in _prefix_keys(messages):
            self._by_prefix[key] = span


def _prefix_keys(messages: Sequence[Message]) -> Sequence[int]:
    keys, key = [], 0
    for message in messages:
        key = hash((key, message))
        keys.append(key)
    return keys


def _generate(body: Any) -> Generate | None:
    if not isinstance(body, Started):
        return None
    request: Any = body.request.generate if isinstance(body.request, Listen) else body.request
    return request if isinstance(request, Generate) else None


def _agreement(text: str, start: int, known: str) -> int:
    """How many characters of `known` stand in `text` from `start` on."""
    if text.startswith(known, start):
        return len(known)
    low, high = 0, len(known)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if text.startswith(known[:middle], start) else (low, middle)
    return low


def _as_text(value: Any) -> str:
    return repr(value)[:2000]
