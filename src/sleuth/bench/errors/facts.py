"""What can be said of a run by looking: which gold was found, and where the answer and the gold answer stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sleuth.bench.folder import Run
from sleuth.bench.metrics import exact_match, normalised
from sleuth.bench.metrics.amounts import amount
from sleuth.bench.metrics.answers import found_share, lenient, right_label
from sleuth.bench.metrics.evidence import is_gold, passages_of, title_key
from sleuth.bench.record import Record
from sleuth.guards.text import stem
from sleuth.types import Passage

CLOSED = ("yes", "no", "true", "false", "supports", "refutes", "not enough info", "supported", "notsupported")
"""Answers that stand in no passage: they are said of one. Normalised."""
GIVEN_UP = (
    "unknown",
    "not known",
    "i do not know",
    "i dont know",
    "not found",
    "no answer",
    "no information",
    "not mentioned",
)
"""Answers that are none, normalised."""


@dataclass(frozen=True)
class Facts:
    """A run and its gold, looked at once. Nothing here is a judgement."""

    run: Run
    record: Record

    @property
    def answer(self) -> str:
        """What was answered; "" where nothing was, or where it says only that nothing is known."""
        text = self.record.text.strip()
        return "" if normalised(text) in GIVEN_UP and not self.is_right else text

    @property
    def gold(self) -> Sequence[str]:
        """The gold answers."""
        return self.run.question.answers

    @cached_property
    def is_right(self) -> bool:
        """By exact match (HotpotQA's); the label of a claim; every field and value of a gold answer of several fields."""
        text, question = self.record.text.strip(), self.run.question
        if not self.record.is_answered or not self.gold:
            return False
        if question.kind == "claim":
            return right_label(text, self.gold) == 1.0
        if question.structured:
            return found_share(text, [*question.structured, *question.structured.values()]) == 1.0
        return exact_match(text, self.gold) == 1.0

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
    def observed(self) -> tuple[Passage, ...]:
        """All that was seen, as passages: gold ones first, then the others, whole pages, and what tools said."""
        rest = [passage for passage in self.seen if passage not in self.gold_seen]
        for number, look in enumerate(self.record.lookups):
            if look.page is not None and look.page.sentences:
                rest.append(Passage(f"page {number}", "", look.page.title, " ".join(look.page.sentences)))
            if look.kind == "call" and look.text:
                rest.append(Passage(look.asked[:80], "", "", look.text))
        return (*self.gold_seen, *rest)

    @cached_property
    def gold_seen(self) -> tuple[Passage, ...]:
        """The gold passages among those seen."""
        return tuple(passage for passage in self.seen if is_gold(passage, self.run.question))

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Gold documents (or titles) of which nothing was seen; () also where no gold is known."""
        return self._lacking(self.seen, {title_key(look.page.title) for look in self.record.lookups if look.page})

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """Gold documents (or titles) that the call that answered did not have before it."""
        return self._lacking(self.read, set())

    def told(self, documents: Sequence[str]) -> str:
        """Gold documents as people know them: by their titles, where these are known."""
        question = self.run.question
        known = dict(zip(question.documents, question.supporting, strict=False))
        paired = len(question.documents) == len(question.supporting)
        return ", ".join(known.get(each, each) if paired else each for each in documents)

    def _lacking(self, passages: Iterable[Passage], titles: set[str]) -> tuple[str, ...]:
        """Of alternative sets of evidence (FEVER) the one that lacks least counts."""
        question, passages = self.run.question, tuple(passages)
        if question.documents:
            found = {passage.document for passage in passages}
            return tuple(document for document in question.documents if document not in found)
        found = titles | {title_key(passage.title) for passage in passages}
        wanted = [tuple(dict.fromkeys(title for title, _ in one)) for one in question.evidence] or [question.supporting]
        return min((tuple(t for t in one if title_key(t) not in found) for one in wanted), key=len)

    @property
    def knows_gold(self) -> bool:
        """Is it known which documents hold the answer?"""
        return bool(self.run.question.documents or self.run.question.supporting)

    @property
    def is_closed(self) -> bool:
        """Is the answer a yes, a no or a label?"""
        return normalised(self.answer) in CLOSED

    @property
    def gold_is_closed(self) -> bool:
        """Is the gold answer a yes, a no or a label?"""
        return any(normalised(gold) in CLOSED for gold in self.gold)

    @property
    def is_chosen(self) -> bool:
        """Is the answer one of the question's own choices: a yes, a no, a label, or what the question names?"""
        return self.is_closed or self.in_question

    @property
    def is_amount(self) -> bool:
        """Is the answer an amount, which may have been reckoned from what was found?"""
        return amount(self.answer) is not None

    @cached_property
    def answer_stands(self) -> str:
        """The title of a passage, gold ones first, in which the answer stands; "" where it stands in none."""
        return "" if self.is_closed else standing(self.answer, self.observed)

    @cached_property
    def answer_told(self) -> str:
        """The title of a passage that holds every word of the answer, in whatever order; "" where none does."""
        return self.answer_stands or ("" if self.is_closed else telling(self.answer, self.observed))

    @cached_property
    def gold_stands(self) -> str:
        """The title of a passage in which a gold answer stands; "" where none does, or where it is a yes or a no."""
        if self.gold_is_closed:
            return ""
        return next((title for gold in self.gold if (title := standing(gold, self.observed))), "")

    @property
    def is_invented(self) -> bool:
        """Does the answer stand neither in what was found, in whatever order, nor in the question?"""
        return bool(self.answer) and not self.is_chosen and not self.answer_told

    @property
    def both_stand(self) -> bool:
        """Do both answers stand in what was found, and the question names neither? Then it may allow both."""
        return bool(self.answer_stands and self.gold_stands) and not self.in_question

    @cached_property
    def unsupported(self) -> str:
        """An intermediate answer of a look-up that stands in nothing that was found; "" where there is none."""
        hops = self.record.answer.hops if self.record.answer else ()
        said = (hop.answer for hop in hops if hop.answer and not hop.grounded and hop.outcome != "nothing")
        told = (text for text in said if normalised(text) not in (*CLOSED, *GIVEN_UP) and amount(text) is None)
        return next((text for text in told if not telling(text, self.observed)), "")

    @property
    def in_question(self) -> bool:
        """Does the answer stand in the question?"""
        return stands(self.answer, self.run.question.text)

    @cached_property
    def same(self) -> str:
        """How the answer says the gold one in other words; "" where it does not."""
        if not self.answer:
            return ""
        if self.is_closed or self.gold_is_closed:
            first = normalised(self.answer).split()[:1]
            said = not self.is_closed and any(first == [normalised(gold)] for gold in self.gold)
            return "it begins with it" if said else ""
        if lenient(self.answer, self.gold):
            return "the same in other signs"
        for gold in self.gold:
            if holds(gold, self.answer) or holds(self.answer, gold):
                return "one holds the other"
        return ""

    @cached_property
    def repeated(self) -> str:
        """What was asked for again, where that happened twice or ended the run; "" else.

        A look-up is the same when it brings the same: ``Lookup[x]`` again goes on to the next place. The question itself
        does not count: strategies search it of their own accord, at the start and for the reader.
        """
        again = [note.text for note in self.record.notes if note.kind == "repeat_told"]
        before, own = set[tuple[str, ...]](), title_key(self.run.question.text)
        for look in self.record.lookups:
            brought = (look.error, look.text, *(passage.text for passage in look.passages))
            action = (look.kind, title_key(look.asked), *brought)
            again += [look.asked] if action in before and action[1] != own else []
            before.add(action)
        asked = {action[1] for action in before} - {own}
        again += [note.text for note in self.record.notes if note.kind == "refused" and title_key(note.text) in asked]
        if self.record.answer is not None and self.record.answer.ended == "repeated":
            return next(iter(again), "it ended as repeated")
        return again[0] if len(again) > 1 else ""

    @cached_property
    def empty(self) -> int:
        """How many look-ups brought nothing."""
        return sum(look.is_empty for look in self.record.lookups)


def holds(long: str, short: str) -> bool:
    """Do the words of the one stand in the other, in their order, with others between ("Victor Mature" in "Victor John Mature")?"""
    words, wanted = iter(map(stem, normalised(long).split())), [stem(word) for word in normalised(short).split()]
    return bool(wanted) and all(word in words for word in wanted)


def telling(text: str, passages: Iterable[Passage]) -> str:
    """The title of the first passage with every word of the text (by stem), in whatever order; "" where there is none."""
    wanted = {stem(word) for word in normalised(text).split()}
    for passage in passages if wanted else ():
        if wanted <= {stem(word) for word in normalised(f"{passage.title} {passage.text}").split()}:
            return passage.title or passage.id
    return ""


def standing(text: str, passages: Iterable[Passage]) -> str:
    """The title of the first passage in which the text stands; "" where it stands in none."""
    return next((p.title or p.id for p in passages if stands(text, f"{p.title} . {p.text}")), "")


def stands(text: str, within: str) -> bool:
    """Does the text stand in the other, as whole words, both normalised as for exact match?"""
    wanted = normalised(text)
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", normalised(within)) is not None
