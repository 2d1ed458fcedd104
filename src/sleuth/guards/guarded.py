"""A flow under its guards: search with fallback, the check of the citations, and failures made an `Answer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from sleuth.errors import WrongUse
from sleuth.guards.grounding import checked
from sleuth.guards.outcome import concluded
from sleuth.guards.searching import Fallback, Findings, searched
from sleuth.transcript import Transcript
from sleuth.types import Answer, Flow, Fork, Guards, Join, Open, Page, Request, Search, Task
from sleuth.verbs import note

T = TypeVar("T")

PAPER = Guards(confidence=None, fallback="off", compress=0, repeats="exact", citations="off")
"""What a paper's setting has: nothing that its source does not describe."""


def guarded(question: str, t: Transcript, flow: Flow[Answer], guards: Guards = Guards()) -> Flow[Answer]:
    """Run the flow: its searches fall back, its failures become an `Answer`, its answer is checked against the cited hops.

    Every search that the flow or a flow it forks makes is seen, whoever wrote it; all other requests pass through, and
    what is thrown at them reaches the flow. A strategy that runs another inside gives it ``within(guards)``.
    """
    watched = flow if guards.fallback == "off" else Watch(guards.fallback).over(flow)
    answer: object = yield from concluded(t, watched)
    if not isinstance(answer, Answer):
        raise WrongUse(
            f"A guarded flow returned a {type(answer).__name__}, not an Answer.",
            hint='End it with `return sleuth.Answer(text, "answered", "final_answer")`.',
        )
    return (yield from checked(question, answer, guards.citations, judge=guards.judge))


def within(guards: Guards) -> Guards:
    """The guards for a strategy that runs inside another guarded one: what wraps from outside is left to the outer."""
    return replace(guards, fallback="off", citations="off", judge=False)


def extra_calls(params: Mapping[str, Any], searches: int) -> int:
    """Model calls that the guards may add, at most, to a strategy of these parameters that looks up `searches` times."""
    guards: Guards = params.get("guards", Guards())
    return searches * (guards.fallback == "model") + (guards.judge and guards.citations != "off")


def own_dropped(dropped: str) -> Flow[None]:
    """Note what a model wrote in place of an observation, and that it was dropped; nothing where it is blank."""
    if dropped.strip():
        yield from note("own_observation", dropped)


class Watch:
    """Stands between the flows of one guarded run and the engine, for their searches. Used once.

    A flow knows what it found itself, what was found when it was forked, and what the flows found that it joined: all
    of that is the same in a replay, whichever of two forks came first.
    """

    def __init__(self, fallback: Fallback) -> None:
        self._fallback = fallback
        self._forked: dict[str, Findings] = {}

    def over(self, flow: Flow[T], findings: Findings | None = None) -> Flow[T]:
        """The flow with its searches watched. What is thrown into this one is thrown into it; closed, it is closed."""
        own = Findings() if findings is None else findings
        go_on: Callable[[], Request[Any]] = partial(flow.send, None)
        while True:
            try:
                request = go_on()
            except StopIteration as end:
                returned: T = end.value
                return returned
            try:
                go_on = partial(flow.send, (yield from self._performed(request, own)))
            except GeneratorExit:
                flow.close()
                raise
            except BaseException as thrown:  # noqa: BLE001  (as `yield from` does: it is for the flow to hear)
                go_on = partial(flow.throw, thrown)

    def _performed(self, request: Request[Any], own: Findings) -> Flow[Any]:
        match request:
            case Search():
                return (yield from searched(request, own, self._fallback))
            case Fork(flow):
                findings = own.forked()
                task: Task[Any] = yield Fork(self.over(flow, findings))
                self._forked[task.branch] = findings
                return task
            case Join(task):
                value = yield request
                if (theirs := self._forked.get(task.branch)) is not None:
                    own.joined(theirs)
                return value
        result = yield request
        if isinstance(request, Open) and isinstance(result, Page):
            own.add(result.passages)
        return result
