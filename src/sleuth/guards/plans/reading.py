"""Plans as models write them: JSON in prose or fences, with its usual slips, read as it comes.

One machine reads both a whole text and a stream, a character at a time, without recursion: any text gives steps or
none, in time linear in its length. Repaired are commas that are missing or too many, single quotes, keys and words
without quotes, and brackets that are not closed; a step that was only begun is left out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TypeAlias

from sleuth.errors import BadInput, BadReply
from sleuth.guards.plans.steps import Plan, PlanStep

ID = ("id", "step_id", "step")
QUERY = ("query", "question", "search")
DEPENDS = ("depends_on", "dependencies", "depends")
"""The keys under which models write a step's parts; the first that is there counts."""
NO_TOOL = ("", "search", "none", "null", "retrieve", "retriever")
SYNTHESIS_TOOL = ("synthesis", "synthesize", "synthesise")

_NULL = ("null", "none", "nil", "undefined")
_OPENS = {"}": "{", "]": "["}

Value: TypeAlias = "str | list[Value] | None"


@dataclass(slots=True)
class _Frame:
    """A bracket that is open: what it holds so far, and under which key of the one around it it stands.

    `holds`: there are steps in it, so it is none. `inside`: it is part of a step's dependencies.
    """

    bracket: str
    name: str
    inside: bool
    key: str | None = None
    items: list[Value] = field(default_factory=list)
    fields: dict[str, Value] = field(default_factory=dict)
    holds: bool = False

    def put(self, value: Value) -> None:
        """Keep a value: in a list, or under the key that was written before it (the first of a key counts)."""
        if self.bracket == "[":
            self.items.append(value)
        elif self.key is not None:
            self.fields.setdefault(self.key, value)
        self.key = None

    def first(self, keys: tuple[str, ...]) -> Value:
        """The value of the first of these keys that is there."""
        return next((self.fields[key] for key in keys if key in self.fields), None)


class PlanReader:
    """Reads a plan while it is written: `feed` it pieces, it gives each step as soon as its object is closed."""

    def __init__(self) -> None:
        self.steps: list[PlanStep] = []
        self.over = False
        self._frames: list[_Frame] = []
        self._open = {"{": 0, "[": 0}
        self._word: list[str] = []
        self._text: str | None = None
        self._quote = ""
        self._raw: list[str] = []
        self._escaped = False
        self._gap: list[str] = []

    def feed(self, piece: str) -> tuple[PlanStep, ...]:
        """The steps whose objects this piece closes."""
        before = len(self.steps)
        for char in piece:
            if self.over:
                break
            self._take(char)
        return tuple(self.steps[before:])

    def finish(self) -> Plan:
        """The plan, the text being at its end. Raises `BadReply` when it holds no step."""
        if self._gap:
            self._end_text()
        top = self._frames[-1] if self._frames else None
        whole = top is not None and not self._quote and top.first(QUERY) and any(k in top.fields for k in DEPENDS)
        if top is not None and whole and not self._word and self._text is None:
            self._end(self._frames.pop())
        if not self.steps:
            raise BadReply("The reply holds no plan: no JSON object with steps, each with an id and a query.")
        return Plan(tuple(self.steps))

    def _take(self, char: str) -> None:
        if self._quote:
            self._in_text(char)
        elif char in "{[":
            self._begin(char)
        elif not self._frames:
            return
        elif char in "}]":
            self._close(_OPENS[char])
        elif char == ",":
            self._commit()
        elif char == ":" and self._frames[-1].bracket == "{" and self._frames[-1].key is None:
            self._frames[-1].key = str(self._value() or "").lower()
        elif char in "\"'" and not self._word:
            if self._text is not None:
                self._commit()
            self._quote = char
        elif self._word or not char.isspace():
            self._word.append(char)

    def _in_text(self, char: str) -> None:
        """Inside quotes. A single quote ends its text only where the JSON goes on behind it ('Tesla's stock' does not)."""
        if self._gap:
            if char.isspace():
                self._gap.append(char)
            elif char in ",:}]":
                self._end_text()
                self._take(char)
            else:
                self._raw += self._gap
                self._gap = []
                self._in_text(char)
        elif self._escaped or char == "\\":
            self._escaped = not self._escaped
            self._raw.append(char)
        elif char == self._quote == "'":
            self._gap = [char]
        elif char == self._quote:
            self._end_text()
        else:
            self._raw.append(char)

    def _end_text(self) -> None:
        self._text = _decoded("".join(self._raw), self._quote)
        self._raw, self._gap, self._quote = [], [], ""

    def _value(self) -> Value:
        """The text or bare word that was read, taken; None for none and null."""
        text, word = self._text, "".join(self._word).strip()
        self._text, self._word = None, []
        if text is not None:
            return text
        return None if word.lower() in _NULL else word or None

    def _commit(self) -> None:
        self._frames[-1].put(self._value())

    def _begin(self, bracket: str) -> None:
        above = self._frames[-1] if self._frames else None
        if above is not None and (self._word or self._text is not None):
            self._commit()
        name = "" if above is None else above.name if above.bracket == "[" else above.key or ""
        inside = above is not None and (above.inside or name in DEPENDS)
        self._frames.append(_Frame(bracket, name, inside))
        self._open[bracket] += 1

    def _close(self, bracket: str) -> None:
        """Close up to this bracket: what was forgotten inside it is closed with it. One that closes nothing is ignored."""
        if not self._open[bracket]:
            return
        if self._word or self._text is not None:
            self._commit()
        while True:
            frame = self._frames.pop()
            self._open[frame.bracket] -= 1
            self._end(frame)
            if frame.bracket == bracket:
                return

    def _end(self, frame: _Frame) -> None:
        """A bracket is closed: it is a step, or a value of what is around it, or the whole plan."""
        made = frame.bracket == "{" and not frame.holds and not frame.inside and self._made(frame)
        if self._frames:
            above = self._frames[-1]
            above.holds = above.holds or made or frame.holds
            above.put(frame.items if frame.bracket == "[" else frame.first(ID))
        elif frame.holds:
            self.over = True

    def _made(self, frame: _Frame) -> bool:
        """Make a step of an object, if it is one."""
        query, written = frame.first(QUERY), frame.first(ID)
        if not isinstance(query, str) and (written is None or not any(key in frame.fields for key in DEPENDS)):
            return False
        above = self._frames[-1] if self._frames else None
        named = frame.name if above is not None and above.bracket == "{" else ""
        step_id = _plain(written) or named or f"s{len(self.steps) + 1}"
        tool = _plain(frame.first(("tool",)))
        synthesis = tool.lower() in SYNTHESIS_TOOL or _plain(frame.first(("synthesis",))).lower() == "true"
        tool = "" if tool.lower() in (*NO_TOOL, *SYNTHESIS_TOOL) else tool
        needs = tuple(dict.fromkeys(_ids(frame.first(DEPENDS))))
        self.steps.append(PlanStep(step_id, _plain(query), needs, tool, synthesis))
        return True


def parse_plan(text: str) -> Plan:
    """The plan in a model's reply, not yet checked. Raises `BadReply` when there is none.

    Steps have an ``id`` (or ``step_id``), a ``query`` (or ``question``, ``search``), ``depends_on`` (a list, one id or
    null) and perhaps a ``tool``; they stand in ``{"steps": [...]}``, a bare list, or an object by id. Ids are texts.
    """
    reader = PlanReader()
    reader.feed(text)
    try:
        return reader.finish()
    except BadReply as error:
        raise BadReply(error.message, reply=text) from None


def from_json(text: str) -> Plan:
    """A plan that a person wrote or edited. Raises `BadInput` when it holds no step."""
    try:
        return parse_plan(text)
    except BadReply:
        raise BadInput(
            "The plan holds no steps.", hint='Write it as {"steps": [{"id": "s1", "query": "...", "depends_on": []}]}.'
        ) from None


def _ids(value: Value) -> list[str]:
    if isinstance(value, list):
        return [found for one in value for found in ([_plain(one)] if not isinstance(one, list) else []) if found]
    return [] if value is None or value.lower() in _NULL else [one for one in re.split(r"[,;\s]+", value) if one]


def _plain(value: Value) -> str:
    """One line of text; characters that cannot be written down are replaced."""
    text = value if isinstance(value, str) else ""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())


def _decoded(raw: str, quote: str) -> str:
    """What stands between quotes, its escapes read; as it is where they are none."""
    if "\\" not in raw:
        return raw
    body = re.sub(r'(\\.)|"', lambda m: "'" if m[1] == "\\'" else m[1] or '\\"', raw) if quote == "'" else raw
    try:
        return str(json.loads(f'"{body}"', strict=False))
    except ValueError:
        return raw
