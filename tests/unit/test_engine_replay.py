"""Replay (strict): the same run again with no port touched. Resume: what was finished is not done twice."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.runs import ACTIONS, Clerk, Forbidden, Told, ask, drive, in_loop, interpreted

from sleuth.engine import Engine
from sleuth.errors import BadReply, CassetteMiss, Ended, ModelTimeout, SleuthError, WrongUse
from sleuth.events import Attempt, Delta, Event, Failed, Finished, Started
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.trace import Cassette
from sleuth.types import Answer, Budget, Completion, Flow, Generate, Message, Search, Usage
from sleuth.verbs import cancel, fork, generate, join, listen, next_of, note, read, search


def answer(text: str) -> Answer:
    return Answer(text, "answered", "final_answer")


def race(prompts: Sequence[str] = ("slow", "quick", "middle")) -> Flow[Answer]:
    """Forks, takes whichever comes first, gives one up, looks further in the order of finishing."""

    def child(text: str) -> Flow[str]:
        first = yield from ask(text)
        yield from note("half", first)
        found = yield from search(text)
        return first + (yield from ask(f"{text} then {len(found)}"))

    tasks = []
    for text in (*prompts, "!lost"):
        tasks.append((yield from fork(child(text))))
    first = yield from next_of(tasks)
    yield from cancel(tasks[-1])
    told = f"{first.branch}: {(yield from join(first))}"
    second = yield from next_of([task for task in tasks if task != first])
    try:
        told += f" {(yield from join(second))}"
    except Ended as error:
        told += f" {second.branch} {type(error).__name__}"
    yield from note("order", told)
    return answer((yield from ask(f"of {told}")))


def clerk(seed: int = 0) -> Clerk:
    luck = random.Random(seed)
    return Clerk({text: luck.random() / 30 for text in ("slow", "quick", "middle", "slow then 0", "quick then 0")})


def replayed(flow: Flow[Any], events: Sequence[Event], **how: Any) -> tuple[Any, Told]:
    ports = Forbidden()
    return drive(flow, ports, ports, recording=Cassette(events), **how)


@pytest.mark.parametrize("seed", range(6))
def test_a_parallel_run_with_next_and_cancel_replays_exactly_and_touches_no_port(seed: int) -> None:
    value, told = drive(race(), clerk(seed), Shelf())
    again, retold = replayed(race(), told.events)
    assert retold.lines() == told.lines()
    assert (again.text, again.usage) == (value.text, value.usage)
    assert again.run != value.run


def test_retries_and_pieces_are_told_again_in_their_places() -> None:
    class Telling(Clerk):
        async def generate(self, request: Generate, *, report: Any, pieces: Any = None) -> Completion:
            report("retry", "once more", seconds=1.5)
            pieces("half")
            return await super().generate(request, report=report, pieces=pieces)

    _, told = drive(race(), Telling(), Shelf(), deltas=True)
    assert told.bodies(Attempt)
    assert told.bodies(Delta)
    assert replayed(race(), told.events)[1].lines() == told.lines()


def test_a_trace_that_kept_no_pieces_replays_with_its_own_numbers() -> None:
    def flow() -> Flow[Answer]:
        return answer((yield from ask("a")) + (yield from ask("b")))

    _, told = drive(flow(), Script(["one two", "three"]), deltas=True)
    kept = Told([event for event in told.events if not isinstance(event.body, Delta)])
    assert len(kept.events) < len(told.events)
    retold = Told()
    anyio.run(Engine(Forbidden(), sinks=[retold.events.append], recording=Cassette(kept.events)).run, flow())
    assert retold.lines()[:-1] == kept.lines()[:-1]
    retold.assert_closed()


def test_a_deadline_is_replayed_without_waiting_for_it() -> None:
    def flow() -> Flow[Answer]:
        yield from fork(ask("!child"))
        try:
            yield from ask("!main")
        except Ended as error:
            yield from note("late", type(error).__name__)
        return answer("what there is")

    _, told = drive(flow(), Clerk(), budget=Budget(seconds=0.05))
    assert told.notes() == ["DeadlineExceeded"]
    assert replayed(flow(), told.events, budget=Budget(seconds=0))[1].lines() == told.lines()


def test_a_failed_run_replays_to_the_same_failure() -> None:
    def flow() -> Flow[Answer]:
        return answer((yield from ask("a")))

    value, told = drive(flow(), Script([ModelTimeout("slow")]))
    again, retold = replayed(flow(), told.events)
    assert (again.ended, again.note) == (value.ended, value.note) == ("model_error", "slow")
    assert retold.lines() == told.lines()


def test_a_changed_prompt_misses_with_the_nearest_recorded_request() -> None:
    _, told = drive(race(), clerk(), Shelf())
    retold = Told()
    engine = Engine(Forbidden(), Forbidden(), sinks=[retold.events.append], recording=Cassette(told.events))
    with pytest.raises(CassetteMiss) as missed:
        anyio.run(engine.run, race(("slow", "quicker", "middle")))
    assert "-" in str(missed.value)
    assert "quicker" in str(missed.value)
    retold.assert_closed()
    assert retold.closing().status == "failed"


def test_a_miss_cannot_be_caught_by_the_flow() -> None:
    def flow(text: str) -> Flow[Answer]:
        try:
            yield from ask(text)
        except SleuthError:
            yield from note("caught")
        return answer("x")

    _, told = drive(flow("a"), Clerk())
    with pytest.raises(CassetteMiss):
        replayed(flow("b"), told.events)


def test_a_run_that_no_longer_asks_for_what_was_recorded_is_told_so_instead_of_standing_still() -> None:
    def flow(first: bool) -> Flow[Answer]:
        task = yield from fork(ask("child"))
        if first:
            yield from ask("a")
        return answer((yield from join(task)))

    _, told = drive(flow(True), Clerk({"child": 0.02}))
    with pytest.raises(CassetteMiss, match="stands still"):
        replayed(flow(False), told.events)


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)])
def test_notes_added_or_removed_since_do_not_matter(before: bool, after: bool) -> None:
    def child(text: str, noted: bool) -> Flow[str]:
        if noted:
            yield from note("thought", text)
        one = yield from ask(text)
        if noted:
            yield from note("thought", one)
        return one

    def flow(noted: bool) -> Flow[Answer]:
        tasks = []
        for text in ("slow", "quick"):
            tasks.append((yield from fork(child(text, noted))))
        first = yield from next_of(tasks)
        return answer(first.branch + (yield from join(tasks[0])) + (yield from join(tasks[1])))

    value, told = drive(flow(before), Clerk({"slow": 0.02}))
    again, retold = replayed(flow(after), told.events)
    assert again.text == value.text == "1SLOWQUICK"
    assert len(retold.notes()) == (4 if after else 0)


def test_what_was_started_and_never_ended_waits_until_it_is_cancelled() -> None:
    def flow() -> Flow[Answer]:
        task = yield from fork(ask("!lost"))
        one = yield from ask("a")
        yield from cancel(task)
        return answer(one)

    _, told = drive(flow(), Clerk())
    torn = [
        event for event in told.events if not (event.span.branch == "0" and isinstance(event.body, Finished | Failed))
    ]
    assert len(torn) == len(told.events) - 1
    retold = Told()
    engine = Engine(Forbidden(), sinks=[retold.events.append], recording=Cassette(torn))
    assert anyio.run(engine.run, flow()).text == "A"


def test_a_torn_recording_misses_where_it_ends() -> None:
    _, told = drive(race(), clerk(), Shelf())
    with pytest.raises(CassetteMiss):
        replayed(race(), told.events[:9])


def test_a_replay_can_be_cancelled() -> None:
    def flow() -> Flow[Answer]:
        return answer((yield from ask("a")))

    _, told = drive(flow(), Clerk())
    engine = Engine(Forbidden(), sinks=[lambda event: engine.cancel()], recording=Cassette(told.events))
    assert anyio.run(engine.run, flow()).ended == "cancelled"


programs = st.recursive(
    st.lists(st.sampled_from(ACTIONS), max_size=3),
    lambda inner: st.lists(st.one_of(st.sampled_from(ACTIONS), st.tuples(st.just("fork"), inner)), max_size=6),
    max_leaves=8,
)


class Jittery(Clerk):
    """Takes some turns of the loop for each call, fails now and then, and gives its words in pieces."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._luck = random.Random(seed)

    async def generate(self, request: Generate, *, report: Any, pieces: Any = None) -> Completion:
        for _ in range(self._luck.randrange(6)):
            await anyio.lowlevel.checkpoint()
            if pieces:
                pieces("a b")
        if self._luck.random() < 0.2:
            raise ModelTimeout("unlucky")
        report("retry", "told")
        return Completion("done", usage=Usage(read=2, written=1))


@settings(max_examples=200, deadline=None)
@given(
    programs,
    st.integers(0, 10**6),
    st.sampled_from([Budget(), Budget(calls=3), Budget(tokens=1200), Budget(seconds=0.0)]),
)
def test_any_run_replays_exactly(program: list[Any], seed: int, budget: Budget) -> None:
    told, retold = Told(), Told()
    live = Engine(Jittery(seed), Shelf(), sinks=[told.events.append], budget=budget)
    in_loop(_run(live, program))
    replay = Engine(Forbidden(), Forbidden(), sinks=[retold.events.append], recording=Cassette(told.events))
    in_loop(_run(replay, program))
    assert retold.lines() == told.lines()


async def _run(engine: Engine, program: list[Any]) -> None:
    with anyio.fail_after(10), contextlib.suppress(WrongUse):
        await engine.run(interpreted(program, []))


# --- resume -----------------------------------------------------------------------------------------------------


def chain(count: int = 4) -> Flow[Answer]:
    text = ""
    for number in range(count):
        text += yield from ask(f"{number} {text}")
        text += str(len((yield from search(f"s{number}"))))
    return answer(text)


@pytest.mark.parametrize("kept", range(0, 20, 3))
def test_a_resumed_run_repeats_no_finished_call(kept: int) -> None:
    shelf, model = Shelf(), Clerk()
    value, told = drive(chain(), model, shelf)
    finished = [event.span.number for event in told.events[:kept] if isinstance(event.body, Finished)]
    shelf2, model2 = Shelf(), Clerk()
    again, retold = drive(chain(), model2, shelf2, recording=Cassette(told.events[:kept], strict=False))
    assert again.text == value.text
    assert len(model2.asked) + len(shelf2.requests) == 8 - len(finished)
    assert [attempt.kind for attempt in retold.attempts()] == ["cache"] * len(finished)
    assert (again.usage.calls, again.usage.searches, again.usage.tokens) == (4, 4, 8)


def test_a_parallel_run_resumes_in_the_recorded_order_of_finishing() -> None:
    value, told = drive(race(), Clerk({"slow": 0.05, "middle": 0.03}), Shelf())
    kept = told.events[
        : told.index(lambda e: isinstance(e.body, Finished) and hasattr(e.body.value, "branch") and e.span.number == 4)
        + 1
    ]
    model = Clerk({"quick": 0.2, "quick then 0": 0.2})
    again, retold = drive(race(), model, Shelf(), recording=Cassette(kept, strict=False))
    assert value.text.startswith("OF 1: ")
    assert again.text.startswith("OF 1: ")
    done = {e.body.request.messages for e in kept if _is_call(e) and _has_outcome(kept, e)}
    asked = {message for request in retold.requests(Generate) for message in [request.messages]}
    assert not any(text == messages[0].content for messages in done for text in model.asked)
    assert done <= asked


@pytest.mark.parametrize("strict", [True, False])
def test_who_ended_first_is_taken_from_the_recording(strict: bool) -> None:
    """Answered from the recording, both tasks end at once, and the first fork would be first."""

    def flow() -> Flow[Answer]:
        tasks = []
        for text in ("slow", "quick"):
            tasks.append((yield from fork(ask(text))))
        first = yield from next_of(tasks)
        yield from join(tasks[0])
        return answer((yield from ask(f"first {first.branch}")))

    value, told = drive(flow(), Clerk({"slow": 0.03}))
    assert value.text == "FIRST 1"
    again, _ = drive(flow(), Forbidden(), recording=Cassette(told.events, strict=strict))
    assert again.text == "FIRST 1"


def _is_call(event: Event) -> bool:
    return isinstance(getattr(event.body, "request", None), Generate)


def _has_outcome(events: Sequence[Event], started: Event) -> bool:
    return any(isinstance(event.body, Finished) and event.span == started.span for event in events)


@pytest.mark.parametrize(("error", "again"), [(ModelTimeout("slow"), True), (BadReply("odd"), False)])
def test_failures_of_the_surroundings_are_tried_again_and_others_are_not(error: SleuthError, again: bool) -> None:
    def flow() -> Flow[Answer]:
        try:
            return answer((yield from ask("a")))
        except BadReply:
            return answer("bad reply")

    _, told = drive(flow(), Script([error]))
    script = Script(["this time"])
    value, _ = drive(flow(), script, recording=Cassette(told.events, strict=False))
    assert value.text == ("this time" if again else "bad reply")
    assert value.usage.calls == (2 if again else 1)


@pytest.mark.parametrize("small", [Budget(calls=3), Budget(seconds=0.1)])
def test_a_run_that_was_stopped_by_its_budget_or_deadline_goes_on_with_a_larger_one(small: Budget) -> None:
    def flow() -> Flow[Answer]:
        text = ""
        for number in range(4):
            text += yield from ask(str(number))
        return answer(text)

    slow = Clerk({"2": 5.0} if small.seconds else {})
    _, told = drive(flow(), slow, budget=small)
    assert told.closing().ended == ("deadline" if small.seconds else "budget")
    more = Clerk()
    value, _ = drive(flow(), more, recording=Cassette(told.events, strict=False), budget=Budget(calls=20))
    assert (value.text, more.asked) == ("0123", ["2", "3"])


def test_what_the_recorded_run_spent_counts_in_the_resumed_one() -> None:
    _, told = drive(chain(), Clerk(), Shelf())
    kept = told.events[: told.index(lambda e: e.span.number == 4 and isinstance(e.body, Finished)) + 1]
    model = Clerk()
    value, _ = drive(chain(), model, Shelf(), recording=Cassette(kept, strict=False), budget=Budget(calls=4))
    assert (value.ended, len(model.asked)) == ("budget", 0)


@settings(max_examples=100, deadline=None)
@given(programs, st.integers(0, 10**6), st.integers(0, 60))
def test_any_torn_run_resumes_to_an_end_without_repeating_what_was_finished(
    program: list[Any], seed: int, kept: int
) -> None:
    told, retold = Told(), Told()
    in_loop(_run(Engine(Jittery(seed), Shelf(), sinks=[told.events.append]), program))
    recording, shelf = Cassette(told.events[:kept], strict=False), Shelf()
    in_loop(_run(Engine(Jittery(seed + 1), shelf, sinks=[retold.events.append], recording=recording), program))
    retold.assert_whole()
    finished = {
        (entry.branch, entry.digest, entry.ordinal)
        for entry in recording.entries()
        if isinstance(entry.outcome, Finished)
    }
    asked = [e for e in retold.events if isinstance(e.body, Started) and isinstance(e.body.request, Search | Generate)]
    again = [e for e in asked if (e.span.branch, e.body.digest, e.body.ordinal) in finished]
    cached = {e.span for e in retold.events if isinstance(e.body, Attempt) and e.body.kind == "cache"}
    refused = {e.span for e in retold.events if isinstance(e.body, Failed) and isinstance(e.body.error, Ended)}
    assert {e.span for e in again} <= cached | refused


# --- listening --------------------------------------------------------------------------------------------------


def heard(until: str | None = "\n", most: int = 99) -> Flow[Answer]:
    handle = yield from listen(Generate((Message("user", "q"),)))
    pieces: list[str] = []
    for _ in range(most):
        piece = yield from read(handle, until)
        if isinstance(piece, Completion):
            return answer("|".join(pieces) + "=" + piece.text)
        pieces.append(piece)
    return answer("|".join(pieces))


def test_a_reply_is_read_line_by_line_while_it_is_written() -> None:
    value, told = drive(heard(), Script(["one\ntwo and\nthree"], delay=0.02))
    assert value.text == "one\n|two and\n|three=one\ntwo and\nthree"
    assert value.usage.calls == 1
    assert told.spent().written == 4
    assert replayed(heard(), told.events)[1].lines() == told.lines()


def test_without_a_mark_to_read_to_whatever_has_come_is_given() -> None:
    value, told = drive(heard(None), Script(["one two three"], delay=0.06))
    assert value.text == "one |two |three=one two three"
    assert replayed(heard(None), told.events)[1].lines() == told.lines()


def test_reading_overlaps_with_writing() -> None:
    """A search started at the first line takes place while the model still writes the second."""

    def flow() -> Flow[Answer]:
        handle = yield from listen(Generate((Message("user", "q"),)))
        line = yield from read(handle, "\n")
        found = yield from search(str(line).strip())
        rest = yield from read(handle, None)
        return answer(f"{len(found)} {rest}")

    value, told = drive(flow(), Script(["one\nlast words here"], delay=0.2), Shelf({"one": "one"}))
    kinds = [type(request).__name__ for request in told.requests(object)]
    assert kinds == ["Listen", "Read", "Search", "Read", "Read"]
    assert value.text.startswith("1 last")


def test_a_model_without_pieces_is_read_all_the_same() -> None:
    assert drive(heard(), Clerk())[0].text == "Q=Q"


def test_what_a_flow_leaves_unread_is_stopped_charged_and_told() -> None:
    model = Clerk()

    def flow() -> Flow[Answer]:
        yield from listen(Generate((Message("user", "!q"),), max_tokens=9))
        yield from ask("a", max_tokens=5)
        return answer("enough")

    value, told = drive(flow(), model, budget=Budget(tokens=50, closing_tokens=0))
    assert model.stopped == ["!q"]
    assert (value.usage.calls, value.usage.tokens) == (2, 1 + 9 + 2)
    assert told.failures() == ["Cancelled"]
    assert replayed(flow(), told.events)[1].lines() == told.lines()


def test_a_failing_reply_fails_at_its_read() -> None:
    def flow() -> Flow[Answer]:
        handle = yield from listen(Generate((Message("user", "q"),)))
        try:
            yield from read(handle)
        except ModelTimeout:
            return answer("failed at the read")
        return answer("")

    value, told = drive(flow(), Script([ModelTimeout("slow")]))
    assert value.text == "failed at the read"
    assert value.usage.calls == 1
    assert replayed(flow(), told.events)[1].lines() == told.lines()


def test_a_listened_call_is_resumed_from_its_recording_only_if_it_was_heard_to_the_end() -> None:
    def flow() -> Flow[Answer]:
        first = yield from heard()
        return answer(first.text + (yield from ask("after")))

    value, told = drive(flow(), Script(["one\ntwo", "end"]))
    after = told.index(lambda e: isinstance(e.body, Finished) and isinstance(e.body.value, Completion)) + 1
    script = Script(["end"])
    assert drive(flow(), script, recording=Cassette(told.events[:after], strict=False))[0].text == value.text
    script = Script(["one\ntwo", "end"])
    assert drive(flow(), script, recording=Cassette(told.events[: after - 2], strict=False))[0].text == value.text


def test_search_requests_are_recorded_as_they_were_asked() -> None:
    _, told = drive(chain(1), Clerk(), Shelf())
    assert told.requests(Search) == [Search("s0")]


def test_a_reply_is_told_piece_by_piece_only_where_somebody_wants_it() -> None:
    def flow() -> Flow[Answer]:
        completion = yield from generate([Message("user", "q")])
        return answer(completion.text)

    assert drive(flow(), Script(["one two"]))[1].bodies(Delta) == []
    deltas = drive(flow(), Script(["one two"]), deltas=True)[1].bodies(Delta)
    assert "".join(delta.text for delta in deltas) == "one two"
