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

from sleuth.errors import BadReply, BudgetExceeded
from sleuth.guards.citations import cite, defuse
from sleuth.guards.outcome import answered, unanswered
from sleuth.guards.scaffold import label, unwrapped
from sleuth.guards.searching import look_up
from sleuth.guards.timing import Clock
from sleuth.transcript import Transcript
from sleuth.types import Answer, Citation, Completion, Flow, Message, Passage, Why
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
    """A short answer, the passages it was read from, its quote, its summed log-probability, and what speaks against it."""

    text: str
    passages: tuple[Passage, ...]
    citation: Citation | None
    logprob: float | None
    doubt: str = ""


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
    question: str, t: Transcript, clock: Clock, passages: Sequence[Passage], form: Form = FORM
) -> Flow[Reading]:
    """Read the passages; where a date is known and speaks against the answer, read again (at most three times in all).

    `BudgetExceeded` and `BadReply` are raised for the first reading only: later ones are left out.
    """
    t.shown(passages)
    readings: list[Reading] = []
    for asked, shown in clock.readings(question, passages):
        attempt = read_answer(asked, shown, form=form)
        reading = (yield from further(attempt)) if readings else (yield from attempt)
        if reading is None:
            break
        readings.append(reading)
        yield from note(
            "read", readings[-1].text, logprob=readings[-1].logprob, question=asked, passages=[p.id for p in shown]
        )
        if not clock.contradicted(readings[-1].text, shown):
            return readings[-1]
        yield from note(
            "contradicted", f"{readings[-1].text}: the dates in these passages do not say so of {clock.when}"
        )
    return replace(readings[0], doubt=f"No date in the passages puts the answer at {clock.when}.")


def answered_from_hops(
    question: str, t: Transcript, clock: Clock, k: int, ended: Why, unsure: float = UNSURE
) -> Flow[Answer]:
    """Read what the hops were cited to beside the question's own best pair, at most `k` passages.

    An answer whose log-probability is under `unsure` is read again from that pair alone; the surer one counts.
    Without a single passage there is no answer.
    """
    own = yield from look_up(clock.query(question), max(2, k), together=True, when=clock.when)
    pair = own.passages[:2]
    cited = [hop.citation.passage for hop in reversed(t.hops) if hop.citation]
    beside = [t.pool[passage] for passage in cited if passage in t.pool]
    passages = clock.narrowed(pooled(pair, beside, own.passages, t.pool.values()))[:k]
    if not passages:
        return unanswered(t, own.ended() if ended == "final_answer" else ended, note=own.told())
    best = yield from settled(question, t, clock, passages)
    if not clock.when and best.logprob is not None and best.logprob < unsure and len(passages) > len(pair) > 0:
        yield from note("unsure", f"{best.text}: log-probability {best.logprob:.2f}", threshold=unsure)
        again = yield from further(settled(question, t, clock, pair))
        best = max(best, again, key=sureness) if again else best
    return concluded_by(t, best, ended)


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
    sure = math.exp(min(0.0, reading.logprob)) if reading.logprob is not None else None
    note = reading.doubt or ("" if final else "The answer's words were not found in the passages it was read from.")
    ended = "final_answer" if reading.doubt and ended == "confident" else ended
    return answered(t, reading.text, ended, read=reading.passages, final=final, confidence=sure, note=note)


def pooled(*lists: Iterable[Passage]) -> list[Passage]:
    """The passages of all lists, first come first, each once."""
    found: dict[str, Passage] = {}
    for passage in chain(*lists):
        found.setdefault(passage.id, passage)
    return list(found.values())
