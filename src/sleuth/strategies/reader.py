"""The short-answer call: passages and a question in, a few words out. What every default setting answers with.

Small models read best from bare question-and-answer lines, few short passages and a raw prompt, without a worked
example that has passages and without a sentence of reasoning first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, TypeAlias

from sleuth.errors import BadReply, BudgetExceeded
from sleuth.guards.citations import cite, defuse
from sleuth.guards.outcome import answered, unanswered
from sleuth.guards.scaffold import label, unwrapped
from sleuth.guards.searching import Looked, look_up
from sleuth.guards.stopping import ask_confidence, by_logprob, should_stop
from sleuth.guards.timing import Clock
from sleuth.transcript import Transcript
from sleuth.types import Answer, Citation, Completion, Flow, Guards, Message, Passage, Why
from sleuth.verbs import generate, note

INSTRUCTIONS = "Answer each question with a few words only. Use the passages where there are any."

EXAMPLES = (
    ("Which gas do green plants take in from the air?", "carbon dioxide"),
    ("Does a leap year have more days than a common year?", "yes"),
    ("Who repairs shoes for a living?", "a cobbler"),
)
"""Bare question-and-answer lines: they show the form, and name nothing that a question could be about."""

STOP = ("\n", " Question:")
LABELS = ("Question:", "Answer:", "Passage")
UNSURE = -0.8
"""Summed log-probability of the answer's tokens below which more is read (measured on development questions)."""
WORDS = 90
"""Most words of a passage that the reader is shown: longer ones cost more and are read worse."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A short answer, the passages it was read from, its quote, its summed log-probability, and what speaks against it.

    `asked` is how likely the model held it to be right, where it was asked.
    """

    text: str
    passages: tuple[Passage, ...]
    citation: Citation | None
    logprob: float | None
    doubt: str = ""
    asked: float | None = None

    @property
    def confidence(self) -> float | None:
        """Its probability: as the model said when asked, else by its tokens."""
        return by_logprob(self.logprob) if self.asked is None else self.asked


Known: TypeAlias = dict[tuple[str, tuple[str, ...]], Reading]
"""Readings made before, by what was asked and the ids of the passages."""


@dataclass(frozen=True, slots=True)
class Form:
    """What every reading starts with: instructions and bare (question, answer) lines. A user may replace both."""

    examples: Sequence[tuple[str, str]] = EXAMPLES
    instructions: str = INSTRUCTIONS

    def head(self) -> str:
        """The text, the same each time, so that a prefix cache holds it."""
        lines = "".join(f"Question: {question}\nAnswer: {answer}\n\n" for question, answer in self.examples)
        return f"{self.instructions}\n\n{lines}"


FORM = Form()


def prompt(question: str, passages: Sequence[Passage], form: Form = FORM) -> tuple[Message, ...]:
    """The messages of one reading."""
    shown = (
        Message(
            "observation",
            f"Passage {n}: {defuse(' '.join(p.title.split()), LABELS)}: {defuse(clipped(p.text), LABELS)}\n",
        )
        for n, p in enumerate(passages, 1)
    )
    gap = "\n" if passages else ""
    return (
        Message("user", form.head()),
        *shown,
        Message("user", f"{gap}Question: {question}\nAnswer:"),
    )


def harmless(question: str) -> str:
    """A question that was put together from answers or tool results, with what they hold of labels and marks defused."""
    return defuse(question, LABELS)


def clipped(text: str, words: int = WORDS) -> str:
    """Whole sentences from the start, up to so many words (at least one sentence)."""
    kept = ""
    for sentence in re.findall(r".+?(?:[.!?][\"')\]]*(?=\s)|$)\s*", text, re.DOTALL):
        if kept and len((kept + sentence).split()) > words:
            break
        kept += sentence
    return " ".join(kept.split()) or text[: words * 12]


def parse(reply: str) -> str:
    """The answer's words: the first line, without a label that the model repeats and without wrapping marks."""
    first = label("Answer:").sub("", reply.strip()).split("\n")[0].strip()
    bare = unwrapped(first)
    if bare.endswith(".") and not re.search(r"\b(?:[A-Z]|[JS]r|Inc|Co|Ltd|St)\.$", bare):
        bare = bare[:-1]
    return bare.strip(' "“”')


def read_answer(
    question: str, passages: Sequence[Passage], *, form: Form = FORM, closing: bool = True
) -> Flow[Reading]:
    """One short-answer call over the passages. Raises `BadReply` when the reply holds no answer."""
    reply: Completion = yield from generate(
        prompt(question, passages, form),
        role="read",
        stop=STOP,
        max_tokens=32,
        closing=closing,
        logprob=True,
    )
    text = parse(reply.text)
    if not text:
        raise BadReply("The model's short answer is empty.", reply=reply.text)
    told = reply.logprob is not None and not math.isnan(reply.logprob)
    return Reading(text, tuple(passages), cite(text, passages, context=question), reply.logprob if told else None)


def settled(
    question: str,
    t: Transcript,
    clock: Clock,
    passages: Sequence[Passage],
    form: Form = FORM,
    known: Known | None = None,
) -> Flow[Reading]:
    """Read the passages; where a date is known and speaks against the answer, read again (at most three times in all).

    `known` holds readings that were made before: these are not paid for again. `BudgetExceeded` and `BadReply` are
    raised for the first reading only: later ones are left out.
    """
    t.shown(passages)
    known = {} if known is None else known
    readings: list[Reading] = []
    for asking, shown in clock.readings(question, passages):
        attempt = _read_once(known, asking, shown, form)
        reading = (yield from further(attempt)) if readings else (yield from attempt)
        if reading is None:
            break
        readings.append(reading)
        yield from note(
            "read", readings[-1].text, logprob=readings[-1].logprob, question=asking, passages=[p.id for p in shown]
        )
        if not clock.contradicted(readings[-1].text, shown):
            return readings[-1]
        yield from note(
            "contradicted", f"{readings[-1].text}: the dates in these passages do not say so of {clock.when}"
        )
    return replace(readings[0], doubt=f"No date in the passages puts the answer at {clock.when}.")


def _read_once(
    known: Known, question: str, passages: Sequence[Passage], form: Form, *, closing: bool = True
) -> Flow[Reading]:
    """A reading, or the same one made before."""
    key = (question, tuple(p.id for p in passages))
    if key not in known:
        known[key] = yield from read_answer(question, passages, form=form, closing=closing)
    return known[key]


class Readings:
    """What a loop's default setting reads: provisional answers between hops, and the answer. One flow owns it.

    In a loop, after each hop: ``if (yield from readings.confident()): return "confident"``. Behind the loop, however
    it ended: ``return (yield from readings.answer(ended))``. What was read before is not paid for again.
    """

    def __init__(
        self, question: str, t: Transcript, clock: Clock, k: int = 3, guards: Guards = Guards(), form: Form = FORM
    ) -> None:
        self._question, self._t, self._clock, self._k, self._guards, self._form = question, t, clock, k, guards, form
        self._known: Known = {}
        self._own: dict[tuple[str, str], Looked] = {}
        self._judgements: dict[tuple[str, tuple[str, ...]], float] = {}
        self._told = True
        self._dated_at: int | None = None

    def confident(self) -> Flow[bool]:
        """After a hop: whether a short answer over what was found so far is surer than `guards.confidence`.

        One call at most (two where the model is asked how sure it is), none where the same passages were read before,
        no confidence is wanted, or the model does not tell its log-probabilities. Notes kind "confidence". A question
        about a moment needs its moment found and one more hop; an answer that dates contradict, or that no passage
        says, stops nothing. Never raises `BadReply` or `BudgetExceeded`: then the loop goes on.
        """
        threshold = self._guards.confidence
        if threshold is None or not self._told or not self._t.hops or (yield from self._undated()):
            return False
        passages = self._passages((yield from self._pair()))
        if not passages:
            return False
        asking, shown = self._clock.readings(self._question, passages)[0]
        reading = yield from further(self._provisional(asking, shown))
        if reading is None:
            return False
        sure, self._told = reading.confidence, reading.confidence is not None
        supported = reading.citation is not None and not self._clock.contradicted(reading.text, shown)
        hops = len(self._t.hops)
        stop = supported and should_stop(hops, hops + 1, sure, threshold) == "confident"
        by = self._guards.confidence_by
        yield from note("confidence", reading.text, confidence=sure, by=by, threshold=threshold, stop=stop)
        return stop

    def answer(self, ended: Why = "final_answer", unsure: float = UNSURE) -> Flow[Answer]:
        """Read what the hops were cited to beside the question's own best pair, at most `k` passages.

        An answer whose log-probability is under `unsure` is read again from that pair alone; the surer one counts.
        Without a single passage there is no answer.
        """
        own = yield from self._pair()
        pair, passages = own.passages[:2], self._passages(own)
        if not passages:
            return unanswered(
                self._t, own.ended() if ended in ("final_answer", "follow_up_limit") else ended, note=own.told()
            )
        best = yield from self._settled(passages)
        more = not self._clock.when and len(passages) > len(pair) > 0
        if more and best.logprob is not None and best.logprob < unsure:
            yield from note("unsure", f"{best.text}: log-probability {best.logprob:.2f}", threshold=unsure)
            again = yield from further(self._settled(pair))
            best = max(best, again, key=sureness) if again else best
        return concluded_by(self._t, (yield from further(self._judged(best))) or best, ended)

    def _settled(self, passages: Sequence[Passage]) -> Flow[Reading]:
        return (yield from settled(self._question, self._t, self._clock, passages, self._form, self._known))

    def _pair(self) -> Flow[Looked]:
        """What the question itself finds; searched again only when its moment has become known."""
        query, when = self._clock.query(self._question), self._clock.when
        if (query, when) not in self._own:
            self._own[query, when] = yield from look_up(query, max(2, self._k), together=True, when=when)
        return self._own[query, when]

    def _passages(self, own: Looked) -> list[Passage]:
        """The question's own pair, then what the hops were cited to, then the rest; at most `k`."""
        cited = [hop.citation.passage for hop in reversed(self._t.hops) if hop.citation]
        beside = [self._t.pool[passage] for passage in cited if passage in self._t.pool]
        return self._clock.narrowed(pooled(own.passages[:2], beside, own.passages, self._t.pool.values()))[: self._k]

    def _undated(self) -> Flow[bool]:
        """Whether the question is about a moment that is not known, or was not asked about since it is."""
        if not self._clock.event:
            return False
        yield from self._clock.heard(self._t.pool.values())
        if self._clock.when and self._dated_at is None:
            self._dated_at = len(self._t.hops)
        return self._dated_at is None or len(self._t.hops) == self._dated_at

    def _provisional(self, asking: str, shown: Sequence[Passage]) -> Flow[Reading]:
        reading = yield from _read_once(self._known, asking, shown, self._form, closing=False)
        return (yield from self._judged(reading))

    def _judged(self, reading: Reading) -> Flow[Reading]:
        """The reading with what the model says of it, where it is to be asked; asked once for each."""
        if self._guards.confidence_by != "asked":
            return reading
        key = (reading.text, tuple(p.id for p in reading.passages))
        if key not in self._judgements:
            self._judgements[key] = yield from ask_confidence(
                prompt(self._question, reading.passages, self._form), reading.text
            )
        return replace(reading, asked=self._judgements[key])


def answered_from_hops(
    question: str, t: Transcript, clock: Clock, k: int, ended: Why, unsure: float = UNSURE, guards: Guards = Guards()
) -> Flow[Answer]:
    """`Readings.answer` for a loop that reads nothing in between."""
    return (yield from Readings(question, t, clock, k, guards).answer(ended, unsure))


def further(reading: Flow[Reading]) -> Flow[Reading | None]:
    """A further reading beside one that is there; None, and a note, where it holds no answer or the budget does not reach."""
    try:
        return (yield from reading)
    except BudgetExceeded as short:
        yield from note("budget", str(short))
    except BadReply as empty:
        yield from note("unparsable", str(empty))
    return None


def sureness(reading: Reading) -> float:
    """The answer's summed log-probability, to compare readings by; minus infinity where the model does not tell."""
    return reading.logprob if reading.logprob is not None else float("-inf")


def concluded_by(t: Transcript, reading: Reading, ended: Why = "final_answer") -> Answer:
    """The answer of a reading, with the hops' citations and its own; its confidence is its probability."""
    final = (reading.citation,) if reading.citation else ()
    sure = reading.confidence
    by: Literal["", "asked", "logprob"] = (
        "asked" if reading.asked is not None else "logprob" if sure is not None else ""
    )
    note = reading.doubt or ("" if final else "The answer's words were not found in the passages it was read from.")
    ended = "final_answer" if reading.doubt and ended == "confident" else ended
    answer = answered(t, reading.text, ended, read=reading.passages, final=final, confidence=sure, note=note)
    return replace(answer, confidence_by=by)


def pooled(*lists: Iterable[Passage]) -> list[Passage]:
    """The passages of all lists, first come first, each once."""
    found: dict[str, Passage] = {}
    for passage in chain(*lists):
        found.setdefault(passage.id, passage)
    return list(found.values())
