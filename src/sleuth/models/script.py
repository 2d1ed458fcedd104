"""`Script`: a model that replies from a list. For tests, yours and ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import anyio

from sleuth.errors import ModelError, SleuthError
from sleuth.ports import Pieces, Report
from sleuth.types import Completion, Generate, Message, Usage

Said: TypeAlias = str | Completion | SleuthError
Reply: TypeAlias = Said | Callable[[Generate], Said]

_WORD = re.compile(r"\S+")


class Script:
    """Replies with each of `replies` in turn; a reply may be a function of the request, and so may the whole script.

    >>> Script(["Yes.", Completion("No.", logprob=-0.1), ModelTimeout("too slow"), lambda request: "Maybe."])

    A text is cut at the first of the request's stop texts, and after `max_tokens` words, as a model's reply is; a
    `Completion` is given as it is; an error is raised. One word counts as one token. `delay` (seconds, one for all or
    one per reply) passes before each reply, and between its words when it is read while it is written. `usd` is
    the price of a token. What was asked is in `requests`. Raises `ModelError` when the list is used up.
    """

    def __init__(
        self,
        replies: Iterable[Reply] | Callable[[Generate], Said],
        name: str = "script",
        *,
        delay: float | Sequence[float] = 0.0,
        usd: float = 0.0,
    ) -> None:
        self.name = name
        self.requests: list[Generate] = []
        self._always = replies if callable(replies) else None
        self._replies: list[Reply] = [] if callable(replies) else list(replies)
        self._delay = delay
        self._usd = usd

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        """The next reply."""
        number = len(self.requests)
        self.requests.append(request)
        said = self._said(number, request)
        delay = self._delay if isinstance(self._delay, int | float) else self._delay[number]
        if isinstance(said, SleuthError) or pieces is None:
            await anyio.sleep(delay)
        if isinstance(said, SleuthError):
            raise said.again()
        completion = await self._completed(said, request)
        if pieces is not None:
            await _speak(completion.text, delay, pieces)
        return completion

    async def count(self, messages: Sequence[Message]) -> int:
        """Words of the messages' contents."""
        return sum(_words(message.content) for message in messages)

    def price(self, read: int, written: int) -> float:
        """`usd` for each."""
        return (read + written) * self._usd

    async def aclose(self) -> None:
        """Nothing is held."""

    def _said(self, number: int, request: Generate) -> Said:
        if self._always is not None:
            return self._always(request)
        if number >= len(self._replies):
            raise ModelError(f"The script has {len(self._replies)} replies, and is asked for one more.")
        reply = self._replies[number]
        return reply(request) if callable(reply) else reply

    async def _completed(self, said: str | Completion, request: Generate) -> Completion:
        completion = _cut(said, request) if isinstance(said, str) else said
        if completion.usage == Usage():
            read, written = await self.count(request.messages), _words(completion.text)
            completion = replace(completion, usage=Usage(1, read=read, written=written, usd=self.price(read, written)))
        return completion if completion.model else replace(completion, model=self.name)


def _cut(text: str, request: Generate) -> Completion:
    found = [(text.index(stop), stop) for stop in request.stop if stop and stop in text]
    end, stop = min(found, default=(len(text), None))
    words = [word for word in _WORD.finditer(text) if word.start() < end]
    if len(words) > request.max_tokens:
        return Completion(text[: words[request.max_tokens].start()].rstrip(), finish="limit")
    return Completion(text[:end], finish="label" if stop is not None else "end", stopped_by=stop)


async def _speak(text: str, delay: float, pieces: Pieces) -> None:
    words = re.findall(r"\S+\s*|\s+", text)
    for word in words:
        await anyio.sleep(delay / len(words))
        pieces(word)


def _words(text: str) -> int:
    return len(_WORD.findall(text))
