"""Back-off: one strategy, and where its answer does not do, another (ReAct, section 3.2, "Combining internal and external knowledge").

`back_off` takes any two flows and a condition; the packaged pairs are `react_then_cot_sc` and `cot_sc_then_react`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sleuth.errors import BadReply, EnvironmentFault
from sleuth.guards.grounding import checked
from sleuth.guards.outcome import failed
from sleuth.strategies.trajectories import Task
from sleuth.types import Answer, Citation, Flow, Guards, Hop
from sleuth.verbs import note

OVER = ("budget", "deadline", "cancelled")
"""Ends after which there is nothing left to back off with."""


def back_off(
    first: Flow[Answer],
    wanted: Callable[[Answer], str],
    second: Callable[[Answer], Flow[Answer]],
    *,
    names: tuple[str, str] = ("first", "second"),
    chosen: Callable[[Answer, Answer], Answer] | None = None,
) -> Flow[Answer]:
    """Run `first`; where `wanted` gives a reason ("" is none), run `second`, which is offered the first's answer.

    The second's answer counts where it has one, else the first's; `chosen` may decide otherwise between two answers.
    Hops, citations, dialogue and spending of both are kept. The switch is noted (kind "switch"), with `names`.
    """
    found = yield from settled_by(first)
    reason = wanted(found)
    if not reason:
        return found
    yield from note("switch", reason, **{"from": names[0], "to": names[1], "reason": reason, "answer": found.text})
    then = yield from settled_by(second(found))
    if found.text and then.text:
        kept = chosen(found, then) if chosen else then
    else:
        kept = found if found.text or not then.text else then
    return joined(found, then, kept, reason if kept is then else f"{reason} {names[1]} did not do better: {then.note}")


def settled_by(flow: Flow[Answer]) -> Flow[Answer]:
    """The flow's answer; a reply or a source that it could not deal with is a failed answer, and no end of both."""
    try:
        return (yield from flow)
    except (BadReply, EnvironmentFault) as error:
        return failed(error)


def joined(first: Answer, second: Answer, kept: Answer, note: str) -> Answer:
    """The answer that is kept, with what both found, said and spent."""
    hops: tuple[Hop, ...] = first.hops + tuple(hop for hop in second.hops if hop not in first.hops)
    quotes: dict[tuple[str, str], Citation] = {(c.passage, c.quote): c for c in first.citations + second.citations}
    return replace(
        kept,
        hops=hops,
        citations=tuple(quotes.values()),
        transcript="\n".join(text for text in (first.transcript, second.transcript) if text),
        usage=first.usage + second.usage,
        note=" ".join(text for text in (kept.note, note) if text).strip(),
    )


def checked_by(question: str, answer: Answer, task: Task, guards: Guards) -> Flow[Answer]:
    """The answer checked against what both looked up: a vote has no evidence of its own, and may follow from the other's.

    What was checked already is left as it is, and so is a claim: its label stands in no passage.
    """
    if task == "claim":
        return answer
    return (yield from checked(question, answer, guards.citations, judge=guards.judge))


def no_answer(answer: Answer) -> str:
    """The reason to back off from a strategy that returned no answer; "" where it did, or where the run is over."""
    if answer.text or answer.ended in OVER:
        return ""
    return f"No answer (ended: {answer.ended.replace('_', ' ')})."


def unsure(least: float) -> Callable[[Answer], str]:
    """A condition: no answer, or one whose confidence is known to be under `least`."""

    def condition(answer: Answer) -> str:
        if answer.text and answer.confidence is not None and answer.confidence < least and answer.ended not in OVER:
            return f"Its confidence {answer.confidence:.2f} ({answer.confidence_by}) is under {least:.2f}."
        return no_answer(answer)

    return condition


def surer(first: Answer, second: Answer) -> Answer:
    """Whichever says the higher confidence; the second where one does not say."""
    if first.confidence is None or second.confidence is None:
        return second
    return first if first.confidence > second.confidence else second
