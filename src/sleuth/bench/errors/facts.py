"""What can be said of a run by looking: which gold was found, and where the answer and the gold answer stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from sleuth.bench.folder import Run
from sleuth.bench.metrics import exact_match, normalised
from sleuth.bench.metrics.answers import lenient, right_label
from sleuth.bench.metrics.evidence import is_gold, passages_of, title_key
from sleuth.bench.record import Record
from sleuth.guards.text import stem
from sleuth.types import Passage

CLOSED = ("yes", "no", "supports", "refutes", "not enough info", "supported", "not supported")
"""Answers that stand in no passage: they are said of one."""


@dataclass(frozen=True)
class Facts:
    """A run and its gold, looked at once. Nothing here is a judgement."""

    run: Run
    record: Record

    @property
    def answer(self) -> str:
        """What was answered; "" where nothing was."""
        return self.record.text.strip()

    @property
    def gold(self) -> Sequence[str]:
        """The gold answers."""
        return self.run.question.answers

    @cached_property
    def is_right(self) -> bool:
        """By exact match (HotpotQA's), or the label of a claim."""
        if not self.record.is_answered:
            return False
        if self.run.question.kind == "claim":
            return right_label(self.answer, self.gold) == 1.0
        return exact_match(self.answer, self.gold) == 1.0

    @cached_property
    def looked(self) -> bool:
        """Was anything looked up?"""
        return bool(self.record.lookups)

    @cached_property
    def seen(self) -> tuple[Passage, ...]:
        """Every passage of the run."""
        return passages_of(self.record)

    @cached_property
    def read(self) -> tuple[Passage, ...]:
        """The passages before the call that answered; all that was seen, where the run does not tell."""
        answer = self.record.answer
        return answer.read if answer is not None and answer.read else self.seen

    @cached_property
    def gold_seen(self) -> tuple[Passage, ...]:
        """The gold passages among those seen."""
        return tuple(passage for passage in self.seen if is_gold(passage, self.run.question))

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Gold documents (or titles) of which nothing was seen; () also where no gold is known."""
        question = self.run.question
        if question.documents:
            found = {passage.document for passage in self.seen}
            return tuple(document for document in question.documents if document not in found)
        titles = {title_key(passage.title) for passage in self.seen}
        return tuple(title for title in question.supporting if title_key(title) not in titles)

    @property
    def knows_gold(self) -> bool:
        """Is it known which documents hold the answer?"""
        return bool(self.run.question.documents or self.run.question.supporting)

    @property
    def is_closed(self) -> bool:
        """Is the answer, or the gold one, a yes, a no or a label?"""
        return normalised(self.answer) in CLOSED or any(normalised(gold) in CLOSED for gold in self.gold)

    @cached_property
    def answer_stands(self) -> str:
        """The title of a passage, gold ones first, in which the answer stands; "" where it stands in none."""
        return standing(self.answer, (*self.gold_seen, *self.seen))

    @cached_property
    def gold_stands(self) -> str:
        """The title of a passage in which a gold answer stands; "" where none does."""
        return next((title for gold in self.gold if (title := standing(gold, self.seen))), "")

    @property
    def in_question(self) -> bool:
        """Does the answer stand in the question?"""
        return stands(self.answer, self.run.question.text)

    @cached_property
    def same(self) -> str:
        """How the answer says the gold one in other words; "" where it does not."""
        if not self.answer:
            return ""
        if lenient(self.answer, self.gold):
            return "the same in other signs"
        for gold in self.gold:
            if holds(gold, self.answer) or holds(self.answer, gold):
                return "one holds the other"
        return ""

    @cached_property
    def repeated(self) -> str:
        """A look-up that was made twice in a row or was refused as a repeat; "" where there is none."""
        told = next((note.text for note in self.record.notes if note.kind in ("repeat_told", "refused")), "")
        asked = [title_key(look.asked) for look in self.record.lookups]
        again = next((a for a, b in pairwise(asked) if a == b), "")
        ended = self.record.answer.ended if self.record.answer else ""
        return told or again or ("it ended as repeated" if ended == "repeated" else "")

    @cached_property
    def empty(self) -> int:
        """How many look-ups brought nothing."""
        return sum(look.is_empty for look in self.record.lookups)


def holds(long: str, short: str) -> bool:
    """Do the words of the one stand in the other, in their order, with others between ("Victor Mature" in "Victor John Mature")?"""
    words, wanted = iter(map(stem, normalised(long).split())), [stem(word) for word in normalised(short).split()]
    return bool(wanted) and all(word in words for word in wanted)


def standing(text: str, passages: Iterable[Passage]) -> str:
    """The title of the first passage in which the text stands; "" where it stands in none."""
    return next((p.title or p.id for p in passages if stands(text, f"{p.title} . {p.text}")), "")


def stands(text: str, within: str) -> bool:
    """Does the text stand in the other, as whole words, both normalised as for exact match?"""
    wanted = normalised(text)
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", normalised(within)) is not None
