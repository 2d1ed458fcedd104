"""What a strategy has said, seen and asked so far. Append-only: a model's prefix cache is hit on every hop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sleuth.types import Hop, Message, Passage


def plain_words(text: str) -> str:
    """The text's words, without case, spacing and punctuation: two texts that agree here ask the same."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


@dataclass(slots=True)
class Transcript:
    """Head, turns, hops, and what was already asked and shown.

    `head` (instructions, worked examples, question) never changes; turns are only ever added. One flow owns it.
    """

    head: str
    turns: list[Message] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    pool: dict[str, Passage] = field(default_factory=dict)
    _asked: set[tuple[str, str]] = field(default_factory=set)

    def messages(self, *more: Message) -> tuple[Message, ...]:
        """The dialogue as messages, with `more` behind it (a prefix for the model to continue, say)."""
        return (Message("user", self.head), *self.turns, *more)

    def wrote(self, text: str) -> None:
        """The model wrote this (or it was written for it, as a prefix it continued)."""
        if text:
            self.turns.append(Message("assistant", text))

    def observed(self, text: str) -> None:
        """This came from outside, with the scaffold's label before it."""
        self.turns.append(Message("observation", text))

    def text(self) -> str:
        """Everything so far, as a raw-text model reads it, without the head."""
        return "".join(turn.content for turn in self.turns)

    def repeats(self, kind: str, text: str) -> bool:
        """Whether this was asked before (without case, spacing and punctuation); from now on it was."""
        key = (kind, plain_words(text))
        if key in self._asked:
            return True
        self._asked.add(key)
        return False

    def shown(self, passages: Iterable[Passage]) -> None:
        """Remember passages that were found; the first finding of each counts."""
        for passage in passages:
            self.pool.setdefault(passage.id, passage)
