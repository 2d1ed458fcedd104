"""Reading what an OpenAI-compatible endpoint wrote: text, thinking, why it stopped, tools, log-probability, usage. No I/O.

Where a reply ended is known exactly when the stop text was cut here, or when the endpoint names it: vLLM's
``stop_reason``, SGLang's ``matched_stop``, llama.cpp's ``stopping_word``. An endpoint that says only "stop", as
OpenAI does, does not tell its own end from a stop text. Then, if stop texts were sent, `finish` is "label" with
`stopped_by` None ("one of them, or its own end"), because replies to a scaffold nearly always run into its labels;
without stop texts it is "end".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sleuth.types import Completion, Finish, ToolCall, Usage

_THINKING = re.compile(r"\s*<(think|thinking|thought)>(.*?)(?:</\1>|\Z)\s*", re.DOTALL | re.IGNORECASE)
_THOUGHT = re.compile(r"(.*?)</(think|thinking|thought)>\s*", re.DOTALL | re.IGNORECASE)
_LONE = re.compile("[\ud800-\udfff]")
"""Halves of surrogate pairs: JSON can say them ("\\ud800"), no encoding can write them."""
_STOP_FIELDS = ("stop_reason", "matched_stop", "stopping_word")


def cut(text: str, stops: Sequence[str]) -> tuple[str, str | None]:
    """The text before the stop text that is complete first, and which one that is (the longest, if several are at once).

    So a reply that is cut when it is whole ends where a server that watches it grow would have stopped it.
    """
    found = [(at + len(stop), at, stop) for stop in stops if stop and (at := text.find(stop)) >= 0]
    if not found:
        return text, None
    _, at, stop = min(found)
    return text[:at], stop


def split_thinking(text: str) -> tuple[str, int]:
    """What was thought aloud before the answer, and where the answer begins.

    Read are "<think>..</think>" at the start, unclosed too (then all is thinking), and a lone "</think>", which
    servers leave whose template opens the tag itself.
    """
    if "<" not in text:
        return "", 0
    opened = _THINKING.match(text)
    if opened:
        return opened[2].strip(), opened.end()
    lone = _THOUGHT.match(text)
    return (lone[1].strip(), lone.end()) if lone else ("", 0)


def repeated(text: str, prefix: str) -> int:
    """How many characters at the start of a reply repeat the prefix it was to continue, or the prefix's last line."""
    if not prefix.strip():
        return 0
    start = len(text) - len(text.lstrip())
    last = prefix.rstrip().rpartition("\n")[2].strip()
    heads = [prefix, prefix.strip()]
    if last.endswith(":") or len(last.split()) > 1:
        heads.append(last)
    for head in heads:
        if text.startswith(head, start) or text.startswith(head):
            return (start if text.startswith(head, start) else 0) + len(head)
    return 0


@dataclass(frozen=True, slots=True)
class Visible:
    """A reply's parts: its text stands in the written characters from `start` to `end`."""

    text: str
    thinking: str
    stopped_by: str | None
    start: int
    end: int


def visible(written: str, stops: Sequence[str], prefix: str = "") -> Visible:
    """What counts of the written text: without thinking, the repeated prefix, and the first stop text and what follows."""
    thinking, start = split_thinking(written)
    start += repeated(written[start:], prefix)
    text, stopped_by = cut(written[start:], stops)
    return Visible(text, thinking, stopped_by, start, start + len(text))


class Growing:
    """A reply that is being written. `add` returns what of it can be shown for certain by now.

    The pieces shown, joined, are the beginning of the final text: a piece is held back while it could still turn
    out to be a stop text, a thought or a repetition of the prefix.
    """

    def __init__(self, stops: Sequence[str], prefix: str = "") -> None:
        self.stops, self.prefix = [s for s in stops if s], prefix
        self.written = ""
        self.shown = 0
        self.stopped = False
        """Whether a stop text was written: nothing after it counts."""
        self._marks = [*self.stops, "</think>", "</thinking>", "</thought>"]

    def add(self, piece: str) -> str:
        self.written += piece
        if self._may_turn():
            return ""
        parts = visible(self.written, self.stops, self.prefix)
        if parts.stopped_by is not None:
            self.stopped = True
            return self._show(parts.text)
        return self._show(parts.text[: len(parts.text) - self._doubtful(parts.text)])

    def rest(self) -> str:
        """What is still to be shown, once all is written."""
        return self._show(visible(self.written, self.stops, self.prefix).text)

    def _show(self, text: str) -> str:
        new, self.shown = text[self.shown :], max(self.shown, len(text))
        return new

    def _may_turn(self) -> bool:
        """Whether the beginning may yet prove to be thinking or the prefix."""
        start = self.written[split_thinking(self.written)[1] :].lstrip()
        if not start or any(tag.startswith(start.lower()[:10]) for tag in ("<think>", "<thinking>", "<thought>")):
            return True
        heads = [self.prefix.strip(), self.prefix.rstrip().rpartition("\n")[2].strip()]
        return any(head and head != start and head.startswith(start) for head in heads)

    def _doubtful(self, text: str) -> int:
        """Length of the longest ending that may be the beginning of a mark."""
        longest = max(map(len, self._marks)) - 1
        for size in range(min(longest, len(text)), 0, -1):
            ending = text[-size:]
            if any(mark.startswith(ending) for mark in self._marks):
                return size
        return 0


class Coming:
    """An answer put together from the chunks of an event stream."""

    def __init__(self) -> None:
        self.begun = False
        self.usage: Any = None
        self._finish = ""
        self._told: tuple[bool, str | None] = (False, None)
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._logs: list[tuple[str, float]] = []
        self._calls: dict[int, list[str]] = {}

    @property
    def ended(self) -> bool:
        """Whether the endpoint said that the reply is complete."""
        return bool(self._finish)

    def add(self, chunk: Any) -> str:
        """Take a chunk in; the text it adds."""
        if not isinstance(chunk, Mapping):
            return ""
        self.usage = chunk.get("usage") or self.usage
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return ""
        self.begun = True
        choice = choices[0]
        self._finish = text_of(choice.get("finish_reason")) or self._finish
        self._told = named_stop(choice) if choice.get("finish_reason") else self._told
        self._logs += logs_of(choice.get("logprobs"))
        delta = _map(choice.get("delta"))
        self._reasoning.append(text_of(delta.get("reasoning_content") or delta.get("reasoning")))
        self._refusal.append(text_of(delta.get("refusal")))
        for place, call in enumerate(map(_map, _list(delta.get("tool_calls")))):
            index = call.get("index")
            self._add_call(
                index if isinstance(index, int) else place, text_of(call.get("id")), _map(call.get("function"))
            )
        return text_of(choice.get("text") if "text" in choice else delta.get("content"))

    def _add_call(self, index: int, id: str, function: Mapping[str, Any]) -> None:
        parts = self._calls.setdefault(index, ["", "", ""])
        parts[0] = id or parts[0]
        parts[1] += text_of(function.get("name"))
        parts[2] += text_of(function.get("arguments"))

    def written(self, text: str) -> Written:
        """All of it; `text` is what the chunks added, joined."""
        calls = tuple(ToolCall(*parts) for _, parts in sorted(self._calls.items()))
        reasoning, refusal = "".join(self._reasoning), "".join(self._refusal)
        return Written(text, reasoning, self._finish, *self._told, tuple(self._logs), calls, refusal)


# --- the answer's JSON ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """One choice of an answer, in either dialect, whole or put together from a stream."""

    text: str
    reasoning: str = ""
    finish: str = ""
    stop_told: bool = False
    stop_named: str | None = None
    logs: tuple[tuple[str, float], ...] = ()
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""


def read_choice(choice: Mapping[str, Any]) -> Written:
    """The first choice of an answer that is not a stream. Unknown fields are passed over."""
    message = _map(choice.get("message"))
    text = choice.get("text") if "text" in choice else message.get("content")
    told, named = named_stop(choice)
    return Written(
        text=text_of(text),
        reasoning=text_of(message.get("reasoning_content") or message.get("reasoning")),
        finish=text_of(choice.get("finish_reason")),
        stop_told=told,
        stop_named=named,
        logs=logs_of(choice.get("logprobs")),
        calls=tuple(_call(call) for call in _list(message.get("tool_calls")) if isinstance(call, Mapping)),
        refusal=text_of(message.get("refusal")),
    )


def text_of(content: Any) -> str:
    """A content field as text: a string, a list of text parts, or nothing."""
    if isinstance(content, str):
        return _LONE.sub("\ufffd", content)
    if isinstance(content, list):
        return "".join(text_of(part.get("text")) for part in content if isinstance(part, Mapping))
    return ""


def named_stop(choice: Mapping[str, Any]) -> tuple[bool, str | None]:
    """Whether the endpoint tells what stopped the reply, and the stop text (None: its own end)."""
    for field in _STOP_FIELDS:
        if field in choice:
            value = choice[field]
            return True, value if isinstance(value, str) and value else None
    return False, None


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = _map(call.get("function"))
    arguments = function.get("arguments")
    arguments = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ToolCall(text_of(call.get("id")), text_of(function.get("name")), arguments)


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_ROUNDED = 1e-3
"""How far above 0 rounding may lift a log-probability."""


def logs_of(logprobs: Any) -> tuple[tuple[str, float], ...]:
    """(token, log-probability) of the written tokens, in either form; () when none are told, or what cannot be one."""
    if not isinstance(logprobs, Mapping):
        return ()
    content = logprobs.get("content")
    if isinstance(content, list):
        pairs = [(c.get("token"), c.get("logprob")) for c in content if isinstance(c, Mapping)]
    else:
        pairs = list(zip(_list(logprobs.get("tokens")), _list(logprobs.get("token_logprobs")), strict=False))
    told = [(str(token), value) for token, value in pairs if isinstance(value, int | float)]
    if not all(-math.inf < value <= _ROUNDED for _, value in told):
        return ()
    return tuple((token, min(float(value), 0.0)) for token, value in told)


def summed(logs: Sequence[tuple[str, float]], start: int, end: int, written: str) -> float | None:
    """Log-probability of the tokens that make up the written characters from `start` to `end`; None if none is told.

    Where the tokens' texts do not add up to the written text (parts of characters), all tokens are summed.
    """
    if not logs:
        return None
    if not "".join(token for token, _ in logs).startswith(written):
        return sum(value for _, value in logs)
    total, at = 0.0, 0
    for token, value in logs:
        if at >= end:
            break
        at += len(token)
        if at > start:
            total += value
    return total


def completion(
    written: Written, usage: Usage, model: str, *, stops: Sequence[str], sent: Sequence[str], prefix: str, logprob: bool
) -> Completion:
    """The reply as the kernel knows it. `stops` were asked for; `sent` are those the endpoint was told."""
    parts = visible(written.text, stops, prefix)
    stopped_by, finish = parts.stopped_by, "end"
    if stopped_by is not None:
        finish = "label"
    elif written.finish == "length":
        finish = "limit"
    elif written.stop_told:
        stopped_by = written.stop_named if written.stop_named in stops else None
        finish = "label" if stopped_by is not None else "end"
    elif sent and written.finish == "stop":
        finish = "label"
    return Completion(
        text=parts.text,
        finish=_FINISH[finish],
        stopped_by=stopped_by,
        usage=usage,
        logprob=summed(written.logs, parts.start, parts.end, written.text) if logprob else None,
        thinking=written.reasoning or parts.thinking,
        tool_calls=written.calls,
        model=model,
    )


_FINISH: Mapping[str, Finish] = {"label": "label", "end": "end", "limit": "limit"}


_MOST_TOKENS = 1 << 53
"""A larger count is no count, and not every reader of the trace's JSON could hold it."""


def tokens_of(usage: Any) -> tuple[int, int, int] | None:
    """(newly read, read from cache, written) tokens; None when the endpoint does not say, or says what cannot be."""
    if not isinstance(usage, Mapping):
        return None
    read, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens", 0))
    if read is None or written is None:
        return None
    details = usage.get("prompt_tokens_details")
    told = details.get("cached_tokens") if isinstance(details, Mapping) else usage.get("prompt_cache_hit_tokens")
    cached = min(_count(told) or 0, read)
    return read - cached, cached, written


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= _MOST_TOKENS else None
