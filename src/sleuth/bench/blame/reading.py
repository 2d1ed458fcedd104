"""The reader given exactly the gold: outside the run, since what was recorded must not answer."""

from __future__ import annotations

from dataclasses import replace

from sleuth.bench.blame.calls import Counted
from sleuth.bench.blame.gold import GoldPassages, silent
from sleuth.bench.metrics.answers import lenient
from sleuth.bench.questions import Question
from sleuth.bench.record import Record
from sleuth.errors import ModelError
from sleuth.guards.text import find, forms, words
from sleuth.strategies.reader import STOP, parse, prompt
from sleuth.types import Generate, Message


async def gold_read(
    model: Counted, record: Record, question: Question, gold: GoldPassages, known: str = ""
) -> str | None:
    """What the run's own reader says of the gold passages alone; None where no call was left. Raises `ModelError`."""
    fresh = prompt(question.text, gold.passages)
    request = Generate(fresh, "read", STOP, 32, closing=True, logprob=True)
    own = next((r.request for r in reversed(record.replies) if r.request.role == "read" and r.request.closing), None)
    if own is not None:
        request = replace(own, messages=_with(own.messages, fresh))
    if known:
        *before, last = request.messages
        request = replace(request, messages=(*before, Message("observation", known), last))
    try:
        reply = await model.generate(request, report=silent)
    except ModelError:
        if model.fault is not None:
            raise
        return None
    return parse(reply.text)


async def facts_read(model: Counted, record: Record, question: Question, gold: GoldPassages) -> str | None:
    """The same with the gold sub-questions and their answers listed; the last one's is the answer itself and is left out."""
    listed = [f"Known: {part.question} {part.answer}\n" for part in question.parts[:-1] if part.answer]
    return await gold_read(model, record, question, gold, "".join(listed)) if listed else None


def intermediates_right(record: Record, question: Question) -> bool:
    """Are the gold sub-answers known, and does each stand among the run's intermediate answers?"""
    hops = record.answer.hops if record.answer else ()
    said = [hop.answer for hop in hops]
    wanted = [part.answer for part in question.parts if part.answer]
    return bool(wanted) and all(
        any(lenient(answer, [one]) or stands_in(one, answer) for answer in said) for one in wanted
    )


def stands_in(needle: str, text: str) -> bool:
    """Do the needle's words stand in the text one after the other, whatever their accents and case?"""
    return find(forms(needle), words(text)) >= 0


def _with(messages: tuple[Message, ...], fresh: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with the observations of `fresh` in place of their own; what stands around them stays."""
    gold = tuple(message for message in fresh if message.role == "observation")
    at = next((n for n, message in enumerate(messages) if message.role == "observation"), len(messages) - 1)
    kept = [message for message in messages if message.role != "observation"]
    return (*kept[:at], *gold, *kept[at:])
