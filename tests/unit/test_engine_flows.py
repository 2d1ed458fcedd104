"""Flows, forks and failures: what the engine sends back, raises, tells, and in which order."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.runs import Clerk, Told, ask, drive

from sleuth.engine import Engine
from sleuth.engine.journal import ROOT, Journal
from sleuth.errors import (
    BadReply,
    Cancelled,
    ModelTimeout,
    SleuthError,
    SourceTimeout,
    ToolError,
    WrongUse,
)
from sleuth.events import Attempt, Closed, Finished, Opened, Started
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.types import Answer, Flow, Fork, Generate, Message, Page, Search, Similar, Task, ToolResult, Usage
from sleuth.verbs import call, cancel, count, fork, generate, join, next_of, note, open_page, search


def answer(text: str) -> Answer:
    return Answer(text, "answered", "final_answer")


# --- errors -----------------------------------------------------------------------------------------------------


def test_an_error_is_raised_in_the_flow_at_its_request() -> None:
    def flow() -> Flow[str]:
        try:
            yield from ask("a")
        except ModelTimeout as error:
            return f"caught {error.message} {error.details['after']}"
        return "not raised"

    value, told = drive(flow(), Script([ModelTimeout("slow", after=3)]))
    assert value == "caught slow 3"
    assert told.failures() == ["ModelTimeout"]


def test_a_source_error_is_no_empty_result() -> None:
    def flow() -> Flow[str]:
        try:
            return str((yield from search("q")))
        except SourceTimeout:
            return "timed out"

    assert drive(flow(), Script([]), Shelf(answers={"q": SourceTimeout("late")}))[0] == "timed out"
    assert drive(flow(), Script([]), Shelf(answers={"q": ""}))[0] == "()"


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (BadReply("what?", reply="x"), "unparsable"),
        (ModelTimeout("slow"), "model_error"),
        (SourceTimeout("slow"), "source_error"),
        (ToolError("no"), "source_error"),
        (Cancelled("stop"), "cancelled"),
    ],
)
def test_an_uncaught_failure_becomes_a_failed_answer(error: SleuthError, ended: str) -> None:
    def flow() -> Flow[Answer]:
        yield from note("before")
        raise error

    value, told = drive(flow(), Script([]))
    assert (value.text, value.status, value.ended, value.note) == ("", "failed", ended, str(error))
    assert told.events[-1].body == Closed(value)


@pytest.mark.parametrize("error", [WrongUse("mend it"), ZeroDivisionError("a bug")])
def test_wrong_use_and_bugs_are_raised_after_closed(error: Exception) -> None:
    def flow() -> Flow[Answer]:
        yield from note("before")
        raise error

    told = Told()
    with pytest.raises(type(error)) as raised:
        drive_into(told, flow(), Script([]))
    assert raised.value is error
    told.assert_whole()
    assert told.bodies(Closed)[0].answer.status == "failed"


def test_a_bug_in_a_fork_or_in_a_port_is_raised_and_stops_the_others() -> None:
    def broken() -> Flow[str]:
        yield from note("before")
        raise ZeroDivisionError

    def flow() -> Flow[str]:
        yield from fork(broken())
        return (yield from ask("!for ever"))

    class Buggy(Clerk):
        async def generate(self, request: Generate, **how: object) -> object:
            raise KeyError("bug")

    for model, kind in ((Clerk(), ZeroDivisionError), (Buggy(), KeyError)):
        told = Told()
        with pytest.raises(kind):
            drive_into(told, flow(), model)
        told.assert_whole()


def drive_into(told: Told, flow: Flow[object], model: object, source: object = None) -> object:
    import anyio

    return anyio.run(Engine(model, source, sinks=[told.events.append]).run, flow)  # type: ignore[arg-type]


def test_what_is_no_request_is_refused_in_the_flow() -> None:
    def flow() -> Flow[str]:
        try:
            yield search("forgotten yield from")  # type: ignore[misc]
        except WrongUse as error:
            return str(error)
        return "accepted"

    assert "yield from" in drive(flow(), Script([]))[0]


# --- forks ------------------------------------------------------------------------------------------------------


def failing(text: str) -> Flow[str]:
    yield from ask(text)
    raise BadReply(f"bad {text}", reply=text)


def test_a_forks_failure_is_raised_by_each_join_as_a_fresh_exception_caused_by_the_original() -> None:
    caught: list[BadReply] = []

    def joining(task: Task[str]) -> Flow[None]:
        try:
            yield from join(task)
        except BadReply as error:
            caught.append(error)

    def flow() -> Flow[str]:
        task = yield from fork(failing("x"))
        first = yield from fork(joining(task))
        second = yield from fork(joining(task))
        yield from join(first)
        yield from join(second)
        return "went on"

    assert drive(flow(), Clerk())[0] == "went on"
    first, second = caught
    assert first is not second
    assert first.__cause__ is second.__cause__
    assert isinstance(first.__cause__, BadReply)
    assert (first.message, first.details) == ("bad x", {"reply": "x"})


def test_a_failed_fork_is_silent_until_joined_and_its_siblings_go_on() -> None:
    def flow() -> Flow[str]:
        yield from fork(failing("x"))
        good = yield from fork(ask("slow"))
        return (yield from join(good))

    value, told = drive(flow(), Clerk({"slow": 0.02}))
    assert value == "SLOW"
    assert told.failures() == []


def test_forks_that_still_run_when_their_flow_ends_are_cancelled_and_so_are_theirs() -> None:
    def inner() -> Flow[str]:
        yield from fork(ask("!grandchild"))
        return (yield from ask("!child"))

    def flow() -> Flow[str]:
        yield from fork(inner())
        yield from ask("wait")
        return "done"

    model = Clerk({"wait": 0.02})
    value, told = drive(flow(), model)
    assert (value, sorted(model.stopped), model.busy) == ("done", ["!child", "!grandchild"], 0)
    assert told.failures("0") == ["Cancelled"]
    assert told.failures("0.0") == ["Cancelled"]


def test_a_fork_of_a_fork_outlives_no_flow_that_forked_it() -> None:
    def inner() -> Flow[str]:
        yield from fork(ask("!grandchild"))
        yield from ask("b")
        return "inner"

    def flow() -> Flow[str]:
        task = yield from fork(inner())
        first = yield from join(task)
        assert model.stopped == ["!grandchild"]
        return first

    model = Clerk()
    assert drive(flow(), model)[0] == "inner"


def test_cancel_gives_a_task_up_and_joining_it_raises_cancelled() -> None:
    def stubborn() -> Flow[str]:
        try:
            yield from ask("!never")
        except Cancelled:
            yield from note("cleanup", "still noted")
        return "a value all the same"

    def flow() -> Flow[str]:
        task = yield from fork(stubborn())
        yield from ask("a")
        yield from cancel(task)
        yield from cancel(task)
        assert model.stopped == ["!never"]
        try:
            yield from join(task)
        except Cancelled as error:
            return str(error)
        return "joined"

    model = Clerk()
    value, told = drive(flow(), model)
    assert value == "The task 0 was given up."
    assert told.notes("0") == ["still noted"]


def test_giving_a_task_up_reaches_its_own_forks_at_once() -> None:
    def caring() -> Flow[str]:
        below = yield from fork(ask("!below"))
        try:
            yield from ask("!child")
        except Cancelled:
            return (yield from join(below))
        return ""

    def flow() -> Flow[str]:
        task = yield from fork(caring())
        yield from ask("wait")
        yield from cancel(task)
        return "done"

    model = Clerk({"wait": 0.02})
    assert drive(flow(), model)[0] == "done"
    assert sorted(model.stopped) == ["!below", "!child"]


def test_a_task_may_give_itself_or_the_one_above_it_up() -> None:
    shared: list[Task[str]] = []

    def below() -> Flow[str]:
        yield from cancel(shared[0])
        return "not reached"

    def child(deep: bool) -> Flow[str]:
        yield from ask("wait")
        if deep:
            return (yield from join((yield from fork(below()))))
        return (yield from below())

    def flow(deep: bool) -> Flow[str]:
        shared[:] = [(yield from fork(child(deep)))]
        try:
            return (yield from join(shared[0]))
        except Cancelled as error:
            return str(error)

    for deep in (False, True):
        assert drive(flow(deep), Clerk({"wait": 0.01}))[0] == "The task 0 was given up."


def test_cancelling_an_ended_task_changes_nothing() -> None:
    def flow() -> Flow[str]:
        task = yield from fork(ask("a"))
        yield from join(task)
        yield from cancel(task)
        return (yield from join(task))

    assert drive(flow(), Clerk())[0] == "A"


def test_a_task_given_up_at_once_still_comes_to_its_first_request_and_is_refused_there() -> None:
    def flow() -> Flow[str]:
        task = yield from fork(ask("!never"))
        yield from cancel(task)
        return "done"

    model = Clerk()
    _, told = drive(flow(), model)
    assert model.asked == []
    assert told.failures("0") == ["Cancelled"]


def test_next_says_who_ended_first_and_ended_tasks_count() -> None:
    def flow() -> Flow[list[str]]:
        tasks = []
        for text in ("c", "a", "b"):
            tasks.append((yield from fork(ask(text))))
        order = []
        while tasks:
            first = yield from next_of(tasks)
            order.append((yield from join(first)))
            tasks.remove(first)
            yield from ask("pause")
        return order

    model = Clerk({"c": 0.06, "a": 0.02, "b": 0.04, "pause": 0.07})
    assert drive(flow(), model)[0] == ["A", "B", "C"]


def test_tasks_that_wait_for_each_other_are_told_so() -> None:
    shared: dict[str, Task[str]] = {}

    def waiting(other: str) -> Flow[str]:
        yield from ask("a")
        return (yield from join(shared[other]))

    def flow() -> Flow[str]:
        shared["x"] = yield from fork(waiting("y"))
        shared["y"] = yield from fork(waiting("x"))
        try:
            return (yield from join(shared["x"]))
        except WrongUse as error:
            return str(error)

    assert "wait for each other" in drive(flow(), Clerk())[0]


def test_a_circle_that_somebody_can_still_break_is_left_alone() -> None:
    shared: dict[str, Task[str]] = {}

    def waiting(other: str) -> Flow[str]:
        yield from ask("a")
        return (yield from join(shared[other]))

    def flow() -> Flow[str]:
        shared["x"] = yield from fork(waiting("y"))
        shared["y"] = yield from fork(waiting("x"))
        yield from ask("slow")
        yield from cancel(shared["x"])
        try:
            return (yield from join(shared["y"]))
        except Cancelled:
            return "broken from outside"

    assert drive(flow(), Clerk({"slow": 0.02}))[0] == "broken from outside"


@pytest.mark.parametrize("branch", ["", "7"])
def test_a_task_that_does_not_exist_is_wrong_use(branch: str) -> None:
    def flow(verb: object) -> Flow[str]:
        try:
            yield from verb(Task(branch))  # type: ignore[operator]
        except WrongUse as error:
            return str(error)
        return ""

    for verb in (join, cancel, lambda task: next_of([task])):
        assert "There is no task" in drive(flow(verb), Clerk())[0]


def test_next_of_nothing_is_wrong_use() -> None:
    def flow() -> Flow[str]:
        try:
            yield from next_of([])
        except WrongUse:
            return "refused"
        return ""

    assert drive(flow(), Clerk())[0] == "refused"


def test_branches_really_overlap() -> None:
    """Two staggered chains do not wait for each other: neither goes in waves of the slowest."""

    def chain(first: str, second: str) -> Flow[str]:
        return (yield from ask(first)) + (yield from ask(second))

    def flow() -> Flow[str]:
        one = yield from fork(chain("short 1", "long 1"))
        two = yield from fork(chain("long 2", "short 2"))
        return (yield from join(one)) + (yield from join(two))

    _, told = drive(flow(), Clerk({"short 1": 0.02, "short 2": 0.02, "long 1": 0.3, "long 2": 0.3}))

    def moment(text: str, kind: type) -> int:
        spans = {e.span for e in told.events if isinstance(e.body, Started) and text in str(e.body.request)}
        return told.index(lambda e: e.span in spans and isinstance(e.body, kind) and e.span.branch != "")

    assert moment("long 1", Started) < moment("long 2", Finished)


# --- identity ---------------------------------------------------------------------------------------------------


def wide(notes: bool, delays: bool = False) -> Flow[Answer]:
    def child(text: str) -> Flow[str]:
        if notes:
            yield from note("thought", text)
        one = yield from ask("same")
        if notes:
            yield from note("thought", text)
        return one + (yield from ask("same"))

    tasks = []
    for text in ("a", "b", "c"):
        tasks.append((yield from fork(child(text))))
    if notes:
        yield from note("plan", "joined next")
    texts = []
    for task in tasks:
        texts.append((yield from join(task)))
    return answer("".join(texts))


def test_equal_requests_of_a_branch_are_told_apart_by_ordinal_and_those_of_others_by_branch() -> None:
    _, told = drive(wide(notes=False), Clerk())
    calls = [
        (e.span.branch, e.body.ordinal)
        for e in told.events
        if isinstance(e.body, Started) and isinstance(e.body.request, Generate)
    ]
    assert sorted(calls) == [(branch, ordinal) for branch in "012" for ordinal in (0, 1)]
    assert len(told.identities()) == len(told.bodies(Started))


def test_notes_change_no_identity_and_no_request_number() -> None:
    _, plain = drive(wide(notes=False), Clerk())
    _, noted = drive(wide(notes=True), Clerk())
    assert plain.identities() == noted.identities()
    spans = [{(e.span, e.body.digest) for e in told.events if isinstance(e.body, Started)} for told in (plain, noted)]
    assert spans[0] == spans[1]


def test_branch_paths_come_from_the_order_of_forks_not_from_timing() -> None:
    def child(text: str) -> Flow[str]:
        yield from ask(text)
        task = yield from fork(ask(f"{text} below"))
        return (yield from join(task))

    def flow() -> Flow[str]:
        tasks = []
        for text in ("slow", "quick"):
            tasks.append((yield from fork(child(text))))
        return (yield from join(tasks[0])) + (yield from join(tasks[1]))

    for delays in ({"slow": 0.03}, {"quick": 0.03}):
        _, told = drive(flow(), Clerk(delays))
        asked = {branch: told.requests(Generate, branch)[0].messages[0].content for branch in ("0", "1", "0.0", "1.0")}
        assert asked == {"0": "slow", "1": "quick", "0.0": "slow below", "1.0": "quick below"}


# --- ports ------------------------------------------------------------------------------------------------------


class Adder:
    name = "add"

    async def call(self, arguments: str, *, report: object) -> str:
        report("retry", "once more", seconds=1)  # type: ignore[operator]
        return f"sum of {arguments}"


def test_each_request_is_performed_by_its_port() -> None:
    def flow() -> Flow[tuple[object, ...]]:
        found = yield from search("tower")
        page = yield from open_page("the tower")
        similar = yield from open_page("The Towel")
        tokens = yield from count("one two three")
        summed = yield from call("add", "[1, 2]")
        return (found[0].title, page, similar, tokens, summed)

    shelf = Shelf({"The Tower": "It is high. It is old."})
    (title, page, similar, tokens, summed), told = drive(flow(), Script([]), shelf, tools=[Adder()])
    assert title == "The Tower"
    assert isinstance(page, Page)
    assert page.sentences == ("It is high.", "It is old.")
    assert similar == Similar(("The Tower",))
    assert tokens == 3
    assert isinstance(summed, ToolResult)
    assert summed.text == "sum of [1, 2]"
    assert summed.id
    assert [(a.kind, a.text, a.data) for a in told.attempts()] == [("retry", "once more", {"seconds": 1})]
    assert told.spent().searches == 3


def test_what_an_engine_has_not_is_said_at_the_request() -> None:
    def flow(request: object) -> Flow[str]:
        try:
            yield request  # type: ignore[misc]
        except SleuthError as error:
            return type(error).__name__
        return ""

    from sleuth.types import Call

    assert drive(flow(Call("nope")), Script([]))[0] == "ToolError"
    assert drive(flow(Search("q")), Script([]))[0] == "WrongUse"


def test_each_role_may_have_its_own_model() -> None:
    def flow() -> Flow[str]:
        plan = yield from ask("q", role="plan")
        read = yield from ask("q", role="read")
        tokens = yield from count("one two", role="judge")
        return f"{plan} {read} {tokens}"

    class Counting(Script):
        async def count(self, messages: object) -> int:
            return 99

    models = {"read": Script(["reader"]), "judge": Counting([])}
    assert drive(flow(), Script(["planner"]), models=models)[0] == "planner reader 99"


def test_usage_is_one_call_or_one_search_and_the_engines_own_seconds() -> None:
    def flow() -> Flow[Answer]:
        yield from ask("slow")
        yield from search("q")
        return answer("x")

    value, told = drive(
        flow(),
        Clerk({"slow": 0.03}, usage=lambda r: Usage(calls=7, searches=9, read=5, cached=2, written=3, seconds=99)),
        Shelf(),
    )
    spent = told.bodies(Finished)[0].usage
    assert (spent.calls, spent.searches, spent.read, spent.cached, spent.written) == (1, 0, 5, 2, 3)
    assert 0.03 <= spent.seconds < 1
    assert told.bodies(Finished)[1].usage.searches == 1
    assert (value.usage.calls, value.usage.searches, value.usage.tokens) == (1, 1, 10)
    assert value.usage == told.spent()


# --- the stream -------------------------------------------------------------------------------------------------


def test_opened_is_first_closed_last_and_the_answer_carries_usage_and_run() -> None:
    value, told = drive(wide(notes=True), Clerk())
    assert isinstance(told.events[0].body, Opened)
    assert told.events[-1].body == Closed(value)
    assert value.run == told.events[0].run
    assert value.usage.calls == 6


def test_question_about_and_run_are_told_as_given() -> None:
    import anyio

    told = Told()

    async def main() -> Answer:
        engine = Engine(Clerk(), sinks=[told.events.append])
        return await engine.run(wide(False), question="Who?", about={"strategy": "wide"}, run="r1")

    assert anyio.run(main).run == "r1"
    assert told.events[0].body == Opened("Who?", {"strategy": "wide"})


def test_a_flow_may_return_anything() -> None:
    value, told = drive(ask("a"), Clerk())
    assert value == "A"
    assert told.bodies(Closed)[0].answer.text == "A"


def test_a_sink_that_raises_is_dropped_with_one_warning_and_the_run_goes_on() -> None:
    import anyio

    calls = []

    def broken(event: object) -> None:
        calls.append(event)
        raise OSError("disk full")

    told = Told()
    engine = Engine(Clerk(), sinks=[broken, told.events.append])
    with pytest.warns(RuntimeWarning, match="disk full") as warned:
        assert anyio.run(engine.run, wide(False)).text
    assert len(warned) == len(calls) == 1
    told.assert_whole()


def test_nothing_follows_closed() -> None:
    told = Told()
    journal = Journal("r", [told.events.append])
    journal.write(ROOT, Opened(""))
    journal.write(ROOT, Closed(answer("x")))
    journal.write(ROOT, Attempt("retry", "late"))
    told.assert_whole()
    late: list[Any] = []

    class Late(Clerk):
        async def generate(self, request: Generate, *, report: Any, pieces: Any = None) -> Any:
            late.extend([report, pieces])
            return await super().generate(request, report=report, pieces=pieces)

    _, told = drive(ask("a"), Late(), deltas=True)
    late[0]("retry", "too late")
    late[1]("too late")
    told.assert_whole()


def test_events_keep_no_traceback() -> None:
    raised: list[ModelTimeout] = []

    def flow() -> Flow[str]:
        try:
            yield from ask("a")
        except ModelTimeout as error:
            raised.append(error)
        return ""

    _, told = drive(flow(), Script([ModelTimeout("slow")]))
    assert raised[0].__traceback__ is not None
    assert told.failed()[0].error.__traceback__ is None


def test_a_flow_need_not_ask_for_anything() -> None:
    def idle() -> Flow[str]:
        return "idle"
        yield Fork(idle())

    def flow() -> Flow[str]:
        task = yield from fork(idle())
        return (yield from join(task))

    assert drive(idle(), Clerk())[0] == "idle"
    assert drive(flow(), Clerk())[0] == "idle"


def test_messages_reach_the_model_as_they_are() -> None:
    script = Script(["x"])

    def flow() -> Flow[str]:
        return (
            yield from generate([Message("system", "s"), Message("assistant", "p")], stop=("\n",), closing=True)
        ).text

    drive(flow(), script)
    assert script.requests == [
        Generate((Message("system", "s"), Message("assistant", "p")), stop=("\n",), closing=True)
    ]
