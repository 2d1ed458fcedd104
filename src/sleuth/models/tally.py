"""Adds up a streamed reply: its text, its tokens, and the log-probability of those that stand in the text.

The server holds text back while it may be the beginning of a stop text, and says nothing of such tokens' own text.
Their length comes from the list of likeliest tokens, or has to be asked for: without it nobody knows which of them
stand before the cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Tally:
    """Feed it the stream's records with `add`; `logprob` is ready once every one of `unmeasured` is measured.

    A token's log-probability may be None: that is how the server writes NaN, which a damaged model file comes to.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._scored: list[tuple[int, float | None]] = []
        self._lengths: dict[int, int] = {}
        self._texts: list[str] = []
        self._held_back = False
        self.tokens: list[int] = []

    @property
    def text(self) -> str:
        """The reply so far, without any stop text."""
        return "".join(self._texts)

    def add(self, event: Mapping[str, Any]) -> str:
        """Take one record in; returns the text that came with it."""
        text = str(event.get("content", ""))
        self.tokens.extend(event.get("tokens", ()))
        for told in event.get("completion_probabilities", ()):
            self._scored.append((told["id"], told["logprob"]))
            self._lengths.update({top["id"]: len(top["bytes"]) for top in told["top_logprobs"]})
            if text and not self._held_back:
                self._lengths.setdefault(told["id"], len(told["bytes"]))
        self._held_back = not text
        self._texts.append(text)
        return text

    def unmeasured(self) -> list[int]:
        """Tokens whose length in bytes is not known yet."""
        return sorted({token for token, _ in self._scored} - self._lengths.keys())

    def measure(self, token: int, size: int) -> None:
        """Say how many bytes a token stands for."""
        self._lengths[token] = size

    def logprob(self) -> float | None:
        """The sum over the tokens that begin inside the text; None unless asked for, and when one of them is no number."""
        if not self._wanted:
            return None
        total, start, end = 0.0, 0, len(self.text.encode())
        for token, logprob in self._scored:
            if start < end:
                if logprob is None:
                    return None
                total += logprob
            start += self._lengths[token]
        return total
