"""How a run is stopped: deadline, `Engine.cancel`, a cancellation from outside; and that it always stops."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.runs import ACTIONS, Clerk, Forbidden, Told, ask, drive, in_loop, interpreted

from sleuth.engine import Engine
from sleuth.errors import Cancelled, DeadlineExceeded, Ended, ModelTimeout, SleuthError, WrongUse
from sleuth.events import Closed, Failed
from sleuth.models.script import Script
from sleuth.trace import Cassette
from sleuth.types import Answer, Budget, Completion, Flow, Generate, Message
from sleuth.verbs import fork, generate, join, listen, note


def answer(text: str) -> Answer:
    return Answer(text, "answered", "final_answer")


def endless(text: str = "!for ever") -> Flow[Answer]:
    return answer((yield from ask(text)))


def rescuing() -> Flow[Answer]:
    """Catches whatever stops it, looks after its tasks, and returns what it has."""
    quick = yield from fork(ask("quick"))
    slow = yield from fork(ask("!slow"))
    try:
        yield from ask("!main")
    except Ended as error:
        why = type(error).__name__
    yield from note("stopped", why)
    refused = ""
    for request in (ask("again"), fork(ask("more"))):
        try:
            yield from request
        except Ended as error:
            refused += type(error).__name__ + " "
    kept = yield from join(quick)
    try:
        yield from join(slow)
    except Ended as error:
        return answer(f"{why} {refused}{kept} {type(error).__name__}")
    return answer("not reached")


def test_the_deadline_is_raised_in_the_flow_which_may_still_return_what_it_has() -> None:
    model = Clerk()
    begun = time.perf_counter()
    value, told = drive(rescuing(), model, budget=Budget(seconds=0.1))
    assert time.perf_counter() - begun < 5
    assert value.text == "DeadlineExceeded DeadlineExceeded DeadlineExceeded QUICK DeadlineExceeded"
    assert sorted(model.stopped) == ["!main", "!slow"]
    assert "again" not in model.asked
    assert told.notes() == ["DeadlineExceeded"]


def test_an_uncaught_deadline_is_a_failed_answer() -> None:
    value, told = drive(endless(), Clerk(), budget=Budget(seconds=0.03))
    assert (value.status, value.ended) == ("failed", "deadline")
    assert "0.03 seconds" in value.note
    assert told.failures() == ["DeadlineExceeded"]


def test_a_deadline_stops_a_flow_that_never_waits() -> None:
    def busy() -> Flow[str]:
        while True:
            yield from ask("a")

    class Instant(Clerk):
        async def generate(self, request: Generate, **how: object) -> Completion:
            return Completion("x")

    value, _ = drive(busy(), Instant(), budget=Budget(seconds=0.05))
    assert value.ended == "deadline"


def test_engine_cancel_returns_an_answer_that_says_so() -> None:
    model, told = Clerk(), Told()
    engine = Engine(model, sinks=[told.events.append])

    async def main() -> Answer:
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                await anyio.sleep(0.02)
                engine.cancel()
                engine.cancel()

            group.start_soon(stop)
            return await engine.run(rescuing())
        raise AssertionError

    assert anyio.run(main).text == "Cancelled Cancelled Cancelled QUICK Cancelled"
    told.assert_whole()
    assert sorted(model.stopped) == ["!main", "!slow"]
    engine.cancel()


def test_a_sink_may_cancel_the_run() -> None:
    model = Clerk()
    engine = Engine(model, sinks=[lambda event: engine.cancel() if event.seq == 1 else None])
    value = anyio.run(engine.run, endless())
    assert (value.ended, model.asked) == ("cancelled", [])


@pytest.mark.parametrize("how", ["wait_for", "task.cancel", "anyio scope"])
def test_a_cancellation_from_outside_reaches_the_flow_the_trace_and_then_the_caller(how: str) -> None:
    model, told = Clerk(), Told()
    seen: list[str] = []

    def flow() -> Flow[Answer]:
        try:
            yield from ask("!main")
        except Cancelled:
            seen.append("cancelled")
            yield from note("stopped", "cleaned up")
            raise
        return answer("")

    async def wait_for() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(engine.run(flow()), 0.03)

    async def task_cancel() -> None:
        task = asyncio.ensure_future(engine.run(flow()))
        await asyncio.sleep(0.03)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    async def scope() -> None:
        with anyio.move_on_after(0.03) as scope:
            await engine.run(flow())
            raise AssertionError("the cancellation was swallowed")
        assert scope.cancelled_caught

    engine = Engine(model, sinks=[told.events.append])
    asyncio.run({"wait_for": wait_for, "task.cancel": task_cancel, "anyio scope": scope}[how]())
    assert seen == ["cancelled"]
    assert (model.stopped, model.busy) == (["!main"], 0)
    told.assert_whole()
    assert told.notes() == ["cleaned up"]
    assert told.bodies(Closed)[0].answer.ended == "cancelled"


def test_a_cancelled_call_is_charged_in_full() -> None:
    def flow() -> Flow[Answer]:
        yield from generate([Message("user", "!one two three")], max_tokens=50)
        return answer("")

    value, told = drive(flow(), Clerk(usd=0.01), budget=Budget(tokens=5000, usd=60, seconds=0.03))
    charged = told.bodies(Failed)[0].usage
    assert (charged.calls, charged.read, charged.written, charged.usd) == (1, 3, 50, 0.53)
    assert 0.02 < charged.seconds < 1
    assert value.usage == charged


def test_a_flow_that_never_takes_no_for_an_answer_is_closed() -> None:
    def stubborn() -> Flow[str]:
        while True:
            try:
                yield from ask("!main")
            except SleuthError:
                continue

    value, told = drive(stubborn(), Clerk(), budget=Budget(seconds=0.02))
    assert value.ended == "deadline"
    value, told = drive(stubborn(), Clerk(), budget=Budget(calls=0))
    assert value.ended == "budget"
    assert 100 <= len(told.failures()) <= 102


def only_notes() -> Flow[str]:
    while True:
        yield from note("thought", "again")


def only_joins() -> Flow[str]:
    task = yield from fork(ask("a"))
    while True:
        yield from join(task)


def only_mistakes() -> Flow[str]:
    while True:
        try:
            yield 5
        except WrongUse:
            continue


def deaf() -> Flow[str]:
    while True:
        try:
            yield from ask("!main")
        except Ended:
            yield from note("thought", "once more")


def notes_beside() -> Flow[str]:
    yield from fork(only_notes())
    return (yield from ask("!main"))


ASKS_NOTHING = [only_notes, only_joins, only_mistakes, deaf, notes_beside]


@pytest.mark.parametrize("flow", ASKS_NOTHING)
@pytest.mark.parametrize("how", ["deadline", "cancelled"])
def test_a_flow_that_asks_nothing_of_the_outside_is_stopped_too(flow: Callable[[], Flow[str]], how: str) -> None:
    told = Told()
    engine = Engine(Clerk(), sinks=[told.events.append], budget=Budget(seconds=0.05 if how == "deadline" else None))

    async def main() -> Answer:
        async with anyio.create_task_group() as group:
            if how == "cancelled":
                group.start_soon(lambda: _later(engine.cancel))
            with anyio.fail_after(20):
                return await engine.run(flow())  # type: ignore[return-value]  # it is stopped
        raise AssertionError

    began = time.perf_counter()
    assert anyio.run(main).ended == how
    assert time.perf_counter() - began < 5
    told.assert_whole()


@pytest.mark.parametrize("flow", [only_notes, only_joins, only_mistakes, deaf])
def test_a_run_that_was_closed_so_is_replayed_to_the_same_end(flow: Callable[[], Flow[str]]) -> None:
    value, told = drive(flow(), Clerk(), budget=Budget(seconds=0.05))
    again, seen = drive(flow(), Forbidden(), recording=Cassette(told.events))
    assert replace(again, run="") == replace(value, run="")
    assert seen.lines() == told.lines()


async def _later(what: Callable[[], object]) -> None:
    await anyio.sleep(0.05)
    what()


def test_many_last_notes_are_kept() -> None:
    def flow() -> Flow[Answer]:
        try:
            yield from ask("!main")
        except Ended:
            for number in range(900):
                yield from note("found", str(number))
        return answer("kept")

    value, told = drive(flow(), Clerk(), budget=Budget(seconds=0.02))
    assert (value.text, len(told.notes())) == ("kept", 900)


def test_a_listened_reply_is_stopped_at_once_too() -> None:
    def flow() -> Flow[Answer]:
        yield from listen(Generate((Message("user", "!heard"),)))
        try:
            yield from ask("!main")
        except DeadlineExceeded:
            for _ in range(5):
                yield from note("meanwhile", ",".join(sorted(model.stopped)))
        return answer("x")

    model = Clerk()
    _, told = drive(flow(), model, budget=Budget(seconds=0.03))
    assert told.notes()[-1] == "!heard,!main"


def test_two_runs_of_one_engine_do_not_mix() -> None:
    told = Told()
    engine = Engine(Clerk({"a": 0.02}), sinks=[told.events.append])

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for run in ("r1", "r2"):
                group.start_soon(lambda run=run: engine.run(endless("a"), run=run))

    anyio.run(main)
    for run in ("r1", "r2"):
        Told([event for event in told.events if event.run == run]).assert_whole()


# --- any flow ends ----------------------------------------------------------------------------------------------

programs = st.recursive(
    st.lists(st.sampled_from(ACTIONS[:2] + ACTIONS[3:]), max_size=3),
    lambda inner: st.lists(st.one_of(st.sampled_from(ACTIONS), st.tuples(st.just("fork"), inner)), max_size=6),
    max_leaves=8,
)
replies = st.lists(
    st.one_of(st.text(max_size=20), st.sampled_from([ModelTimeout("slow"), Cancelled("odd"), DeadlineExceeded("odd")])),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(programs, replies, st.sampled_from([Budget(), Budget(calls=3), Budget(tokens=900), Budget(seconds=0.0)]))
def test_any_flow_over_any_script_ends_with_a_whole_stream(
    program: list[object], said: list[object], budget: Budget
) -> None:
    async def main() -> None:
        told = Told()
        engine = Engine(Script(said), sinks=[told.events.append], budget=budget)
        with anyio.fail_after(10):
            with contextlib.suppress(SleuthError):
                await engine.run(interpreted(program, []))
        told.assert_whole()

    in_loop(main())
