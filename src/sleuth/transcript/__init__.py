"""What a strategy has said, seen and asked so far. Append-only but for compression: a model's prefix cache is hit on every hop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sleuth.transcript.summary import steps, summarised, with_lost
from sleuth.transcript.wording import gist, plain_words
from sleuth.types import Flow, Hop, Message, Passage
from sleuth.verbs import count, note

__all__ = ["KEPT_STEPS", "Repeats", "Transcript", "Verdict", "plain_words"]

Repeats: TypeAlias = Literal["off", "exact", "near"]
Verdict: TypeAlias = Literal["new", "tell", "reformulate", "stop"]
Summary: TypeAlias = Callable[[str], Flow[str]]

KEPT_STEPS = 3
"""Steps that compression leaves as they are (retrieval-planning write-up, "Guards")."""
BLOCK = 4
"""Compression waits until it can replace a limit's fourth part: so it is rare, and the prefix cache is lost rarely."""
CHARACTERS = 4
"""Characters of English a token has, about: the bound of a summary. Whether there is anything to do is counted."""


@dataclass(slots=True)
class Transcript:
    """Head, turns, hops, and what was already asked and shown.

    `head` (instructions, worked examples, question) never changes; turns are only ever added, unless `compress`
    replaces the older ones by a summary. One flow owns it.
    """

    head: str
    turns: list[Message] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    pool: dict[str, Passage] = field(default_factory=dict)
    _asked: dict[tuple[str, str], str] = field(default_factory=dict)
    _gists: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)
    _told: dict[str, int] = field(default_factory=dict)
    _steps: list[int] = field(default_factory=list)
    _hops_at: list[int] = field(default_factory=list)
    _past: list[Message] = field(default_factory=list)
    _counted: tuple[int, int] = (0, 0)

    def messages(self, *more: Message) -> tuple[Message, ...]:
        """The dialogue as messages, with `more` behind it (a prefix for the model to continue, say)."""
        return (Message("user", self.head), *self.turns, *more)

    def wrote(self, text: str) -> None:
        """The model wrote this (or it was written for it, as a prefix it continued)."""
        if text:
            self._add(Message("assistant", text))

    def observed(self, text: str) -> None:
        """This came from outside, with the scaffold's label before it. It ends a step, unless `step` marks where steps begin."""
        self._add(Message("observation", text))

    def _add(self, turn: Message) -> None:
        self.turns.append(turn)
        self._hops_at.append(len(self.hops))

    def text(self) -> str:
        """Everything so far, as a raw-text model reads it, without the head; what was compressed stands here in full."""
        now = self.turns[1:] if self._past else self.turns
        return "".join(turn.content for turn in (*self._past, *now))

    # --- what was asked and shown ---------------------------------------------------------------------------------

    def repeats(self, kind: str, text: str) -> bool:
        """Whether this was asked before (without case, spacing and punctuation); from now on it was."""
        return self.repeated(kind, text, "exact")

    def repeated(self, kind: str, text: str, how: Repeats) -> bool:
        """Whether this was asked before; from now on it was.

        ``exact``: the same words in order, without case, spacing and punctuation. ``near``: the same stems in any
        order, without function words; numbers and denials must agree. ``off``: never.
        """
        key, near = (kind, plain_words(text)), (kind, gist(text))
        before = {"off": False, "exact": key in self._asked, "near": key in self._asked or near in self._gists}[how]
        self._asked.setdefault(key, text)
        self._gists.add(near)
        return before

    def again(self, kind: str, text: str, how: Repeats) -> Verdict:
        """What to do about this query, follow-up or action.

        ``new`` if it is no repeat. Of the repeats of its kind so far the first says ``tell`` (the model that it did
        this before), the second ``reformulate`` (`sleuth.guards.searching.reformulate`), any further one ``stop`` (`repeated`).
        """
        if not self.repeated(kind, text, how):
            return "new"
        self._told[kind] = self._told.get(kind, 0) + 1
        return {1: "tell", 2: "reformulate"}.get(self._told[kind], "stop")  # type: ignore[return-value]  # these three

    def asked(self, kind: str) -> tuple[str, ...]:
        """What was asked of that kind, in order, each wording once."""
        return tuple(text for (of, _), text in self._asked.items() if of == kind)

    def shown(self, passages: Iterable[Passage]) -> None:
        """Remember passages that were found; the first finding of each counts."""
        for passage in passages:
            self.pool.setdefault(passage.id, passage)

    # --- steps and compression --------------------------------------------------------------------------------------

    def step(self) -> None:
        """A step begins here. A loop whose steps have several observations, or none, marks each; else it need not."""
        if len(self.turns) not in self._steps:
            self._steps.append(len(self.turns))

    def compress(self, limit: int, *, keep: int = KEPT_STEPS, summarise: Summary | None = None) -> Flow[bool]:
        """Where the dialogue behind the head has more than `limit` tokens, replace all but its last `keep` steps by a summary.

        To be called between two steps, before a model call; `limit` 0 does nothing. True when it did it, and noted it
        ("compressed": steps, tokens before and after, `lost` tokens that a prefix cache may have held). The summary is
        by rule (`sleuth.transcript.summary`), or what `summarise` makes of the replaced text, with the names, numbers
        and passage ids that it lost. It is at most a fourth of the limit (or half of what it replaces), and is written
        only once a fourth of the limit can be replaced: so most calls change nothing, and the cache is hit. Tokens are
        counted only where the number of characters leaves it open.
        """
        cut, first = self._kept_from(keep), int(bool(self._past))
        if limit <= 0 or cut <= first or self._at_most() <= limit:
            return False
        before = yield from self._tokens()
        size, middle = sum(map(_bytes, self.turns)), sum(map(_bytes, self.turns[first:cut]))
        if before <= limit or BLOCK * middle * before < limit * size:
            return False
        replaced = [*self._past, *self.turns[first:cut]]
        yield from self._replace(cut, replaced, limit, summarise)
        after = yield from self._tokens()
        past = len(steps(replaced))
        yield from note("compressed", f"steps 1 to {past}", steps=past, before=before, after=after, lost=before)
        return True

    def _replace(self, cut: int, replaced: list[Message], limit: int, summarise: Summary | None) -> Flow[None]:
        told = self._hops_by(cut)
        size = sum(len(turn.content) for turn in self.turns[:cut])
        most = min(max(limit * CHARACTERS // BLOCK, size // 2), size * 3 // 4)
        ids = [" ".join(passage.split()) for hop in self.hops[:told] for passage in _ids(hop)]
        if summarise is None:
            text = summarised(steps(replaced), ids, most)
        else:
            own = yield from summarise("".join(turn.content for turn in self.turns[:cut]))
            text = with_lost(own, steps(replaced), ids, most)
        opening = "" if self.head.endswith("\n") else "\n"
        self._past = replaced
        self.turns = [Message("observation", opening + text), *self.turns[cut:]]
        self._hops_at = [told, *self._hops_at[cut:]]
        self._steps = [at - cut + 1 for at in self._steps if at >= cut]
        self._counted = (0, 0)

    def _kept_from(self, keep: int) -> int:
        """The index of the first turn of the last `keep` steps."""
        first = int(bool(self._past))
        starts = [at for at in self._steps if at < len(self.turns)] or [
            at
            for at, turn in enumerate(self.turns)
            if at >= first and (at == first or (turn.role == "assistant" and self.turns[at - 1].role == "observation"))
        ]
        if len(starts) <= keep:
            return first
        return starts[-keep] if keep > 0 else len(self.turns)

    def _hops_by(self, turn: int) -> int:
        return self._hops_at[turn] if turn < len(self._hops_at) else len(self.hops)

    def _at_most(self) -> int:
        """No more tokens than this: those counted, and a token for each byte since."""
        turns, tokens = self._counted
        return tokens + sum(map(_bytes, self.turns[turns:]))

    def _tokens(self) -> Flow[int]:
        """Tokens of the turns; only those since the last count are counted."""
        turns, tokens = self._counted
        if turns < len(self.turns):
            tokens += yield from count("".join(turn.content for turn in self.turns[turns:]))
            self._counted = (len(self.turns), tokens)
        return tokens


def _bytes(turn: Message) -> int:
    return len(turn.content.encode(errors="surrogatepass"))


def _ids(hop: Hop) -> tuple[str, ...]:
    """The passage that the hop is cited to, or all that it found."""
    return (hop.citation.passage,) if hop.citation else tuple(passage.id for passage in hop.evidence)
