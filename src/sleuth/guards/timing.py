"""Questions of the form "who held X when Y happened": the date is found, the search narrowed, the answer checked.

Small models do not reason over dates: with two office-holders before them they name whichever stands first. So
dates and intervals are read by rule (`sleuth.guards.dates`), and everything done with them is noted.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Sequence

from sleuth.guards import dates
from sleuth.guards.citations import contradicts, says
from sleuth.guards.text import same, sentences, stem, stems
from sleuth.transcript import plain_words
from sleuth.types import Flow, Passage
from sleuth.verbs import note

QUALIFIERS = frozenset(
    {
        "vice",
        "deputy",
        "acting",
        "interim",
        "assistant",
        "associate",
        "former",
        "honorary",
        "lieutenant",
        "crown",
        "shadow",
    }
)
"""Words that make another office of the one behind them."""
CLOSE = 0.7
"""A second office-holder is read beside the best when it speaks of the role at least this well, relative to it."""


def says_no_more(follow_up: str, question: str) -> bool:
    """Whether a follow-up only repeats its question: nothing new in it, and most of the question is there."""
    if same(follow_up, question):
        return True
    asked, whole = stems(follow_up), stems(question)
    return asked <= whole and len(asked) >= 0.8 * len(whole)


def spoken(when: str) -> str:
    """An ISO date, month or year as English prose says it: "31 March 1889", "March 1889", "1889"."""
    year, *rest = when.split("-")
    if not rest or not year:
        return when
    month = calendar.month_name[int(rest[0])]
    return " ".join([str(int(rest[1])), month, year] if len(rest) > 1 else [month, year])


class Clock:
    """What is known of the moment a question is about. One flow owns it."""

    def __init__(self, question: str) -> None:
        timed = dates.is_time_question(question)
        self.event = (dates.event_of(question) or "") if timed else ""
        self.role = (dates.role_of(question) or "").rstrip("?") if self.event else ""
        self.when = ""
        self.dated_by: Passage | None = None
        self._asked = stems(question)
        self._role = stems(_spelled_out(self.role))

    def follow_up(self) -> str:
        """The follow-up that the rules would ask next: when the event was, then who held the role then; or ""."""
        if self.event and not self.when:
            return dates.when_question(self.event) or ""
        return f"{self.role} on {spoken(self.when)}?" if self.role and self.when else ""

    def refuses(self, follow_up: str) -> bool:
        """Whether the date is known and the follow-up makes no use of it ("Who was president at the time?")."""
        return bool(self.when) and not dates.moments(follow_up) and stems(follow_up) <= self._asked

    def query(self, otherwise: str) -> str:
        """What to search: the role alone once the date is known (the date narrows the result), else `otherwise`."""
        return self.role if self.role and self.when else otherwise

    def heard(self, passages: Iterable[Passage]) -> Flow[None]:
        """Look for the event's date in these passages; the first found is kept and noted."""
        if self.when or not self.event:
            return
        wanted, named = stems(self.event), stems(" ".join(re.findall(r"\b[^\W\d_a-z]\w*", self.event)))
        for passage in passages:
            moment = dates.moment_for(self.event, passage.text, title=passage.title)
            told = stems(f"{passage.title} {passage.text}")
            if moment and named <= told and len(wanted & told) >= min(2, len(wanted)):
                self.when, self.dated_by = dates.iso(moment), passage
                yield from note(
                    "when",
                    f"{self.event}: {spoken(self.when)}",
                    when=self.when,
                    passage=passage.id,
                    title=passage.title,
                )
                return

    def narrowed(self, passages: Sequence[Passage]) -> list[Passage]:
        """What is worth reading once the date is known; the passages unchanged before, or where none holds it.

        That is the passage that speaks of the role at that moment (two where they speak equally well), then the one
        that gave the date. Those whose dates exclude the moment are not read: a small model names whichever it sees.
        """
        if not self.when:
            return list(passages)
        worth = {p.id: self._worth(p) for p in passages}
        best = max(worth.values(), default=0.0)
        if not best:
            return list(passages)
        holders = sorted((p for p in passages if worth[p.id] > CLOSE * best), key=lambda p: -worth[p.id])
        return holders[:2] + ([self.dated_by] if self.dated_by else [])

    def _worth(self, passage: Passage) -> float:
        """How well a passage speaks of the role at the moment, by its best sentence (read with the one before it).

        Share of the moment that the sentence's dates hold, times share of the role's words said; a fifth of it where
        the role is said only with a qualifier that was not asked for ("vice president" for "president").
        """
        if self.dated_by and passage.id == self.dated_by.id:
            return 0.0
        best, before = 0.0, ""
        for a, b in sentences(passage.text):
            sentence = passage.text[a:b]
            if held := dates.overlap(sentence, self.when):
                words = plain_words(_spelled_out(f"{passage.title} {before} {sentence}")).split()
                said = len(self._role & {stem(word) for word in words}) / max(1, len(self._role))
                best = max(best, held * said * (0.2 if self._other_role(words) else 1.0))
            before = sentence
        return best

    def _other_role(self, words: Sequence[str]) -> bool:
        """Whether some word of the role is said only behind a qualifier that was not asked for."""
        asked = frozenset(plain_words(self.role).split())
        bare: set[str] = set()
        qualified: set[str] = set()
        for before, word in zip(("", *words), words, strict=False):
            if (form := stem(word)) in self._role:
                (qualified if before in QUALIFIERS - asked else bare).add(form)
        return bool(qualified - bare)

    def readings(self, question: str, passages: Sequence[Passage]) -> list[tuple[str, Sequence[Passage]]]:
        """What to read, most promising first: a question and passages for each try; one try where no date is known.

        With a date: the role at that date over the office-holder and the event; then the question as it was, event
        first; then the office-holder alone. Which of these a small model gets right varies, the check does not.
        """
        if not self.when:
            return [(question, passages)]
        dated = self.follow_up() or question
        holders = [p for p in passages if self._worth(p) > 0.0]
        if not holders or not self.dated_by:
            return [(dated, passages), (question, passages)]
        return [(dated, [*holders, self.dated_by]), (question, [self.dated_by, *holders]), (dated, holders)]

    def contradicted(self, answer: str, passages: Sequence[Passage]) -> bool:
        """Whether the dates speak against the answer: it is not whom a passage that holds the moment is about or names then."""
        if not self.when:
            return False
        holders = [p for p in passages if self._worth(p) > 0.0]
        if not holders:
            return contradicts(answer, passages, self.when, about=self.role)
        return not any(says(p.title, answer) or says(answer, p.title) or self._then(answer, p) for p in holders)

    def _then(self, answer: str, passage: Passage) -> bool:
        """Whether a sentence whose dates hold the moment names the answer, and is not about the page's own subject."""
        own = re.compile("|".join(["he", "she", "they", "his", "her", *map(re.escape, passage.title.lower().split())]))
        whole = (passage.text[a:b] for a, b in sentences(passage.text))
        return any(says(s, answer) and not own.match(s.lower()) and dates.overlap(s, self.when) for s in whole)


def _spelled_out(text: str) -> str:
    return re.sub(r"\bUK\b|\bU\.K\.", "United Kingdom", re.sub(r"\bUS\b|\bU\.S\.|\bAmerican\b", "United States", text))
