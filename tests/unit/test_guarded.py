"""A guarded flow behaves as the flow itself: only searches that find nothing, and the final answer, are another matter."""

from __future__ import annotations

import random
import re
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.runs import ACTIONS, Clerk, Forbidden, Told, ask, drive, in_loop, interpreted

from sleuth.engine import Engine
from sleuth.errors import BadReply, ModelTimeout, SourceTimeout, WrongUse
from sleuth.events import Finished, Noted, Started
from sleuth.guards.guarded import PAPER, Watch, extra_calls, guarded, own_dropped, within
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.trace import Cassette
from sleuth.transcript import Transcript
from sleuth.types import Answer, Budget, Flow, Guards, Listen, Note, Passage, Read, Search
from sleuth.verbs import fork, generate, join, next_of, note, open_page, search

programs = st.lists(
    st.sampled_from(ACTIONS) | st.tuples(st.just("fork"), st.lists(st.sampled_from(ACTIONS), max_size=4)), max_size=7
)
BRENN = Passage("b", "d", "Brenn", "Brenn is a town on the river Tarn.")


def answer(text: str) -> Answer:
    return Answer(text, "answered", "final_answer")


def over(flow: Flow[Any]) -> Flow[Any]:
    return Watch("feedback").over(flow)


def test_what_returns_no_answer_is_told_so() -> None:
    def unfinished() -> Flow[Any]:
        yield from note("x")
        return "Ada Tell"

    with pytest.raises(WrongUse, match="returned a str, not an Answer"):
        in_loop(Engine(Script([]), Shelf({})).run(guarded("q", Transcript(""), unfinished())))


# --- it is not there ----------------------------------------------------------------------------------------------


def outcome(program: Any, watched: bool) -> tuple[str, list[str]]:
    tasks: list[Any] = []

    def flow() -> Flow[Answer]:
        inner = interpreted(program, tasks)
        return answer("x" + (yield from over(inner) if watched else inner))

    told = Told()
    try:
        value = in_loop(Engine(Clerk(), Shelf(), sinks=[told.events.append]).run(flow()))
    except Exception as error:  # noqa: BLE001  (a program may do what no flow should; both must do the same)
        return repr(error), timeless(told)
    return value.text, timeless(told)


def timeless(told: Told) -> list[str]:
    return [re.sub(r'"seconds": [^,}]*', "", line) for line in told.lines()]


@settings(max_examples=150, deadline=None)
@given(programs)
def test_any_flow_behaves_and_is_told_as_without_the_guard_where_no_search_falls_back(program: Any) -> None:
    assert outcome(program, True) == outcome(program, False)


def test_what_is_thrown_into_the_guarded_flow_reaches_the_inner_one_at_its_request() -> None:
    def flow() -> Flow[str]:
        try:
            yield from ask("a")
        except ModelTimeout:
            return "caught"
        return "no"

    outer = over(flow())
    next(outer)
    with pytest.raises(StopIteration) as end:
        outer.throw(ModelTimeout("slow"))
    assert end.value.value == "caught"


def test_closing_the_guarded_flow_closes_the_inner_one() -> None:
    closed = []

    def flow() -> Flow[str]:
        try:
            yield from ask("a")
        finally:
            closed.append(True)
        return ""

    inner = flow()
    outer = over(inner)
    next(outer)
    outer.close()
    assert closed == [True]


def test_a_search_that_fails_fails_in_the_inner_flow_on_every_level() -> None:
    def flow() -> Flow[Answer]:
        try:
            yield from search("Where is Brenn?")
        except SourceTimeout as late:
            return answer(str(late))
        return answer("no")

    for answers in (
        {"Where is Brenn?": SourceTimeout("late")},
        {"Where is Brenn?": "", "Brenn": SourceTimeout("late")},
    ):
        assert drive(over(flow()), Script([]), Shelf(answers=answers))[0].text == "late"


# --- searches in the flow and its forks ---------------------------------------------------------------------------


def test_searches_of_forked_flows_fall_back_too_and_their_forks() -> None:
    def leaf() -> Flow[int]:
        return len((yield from search("What is Brenn?")))

    def branch() -> Flow[int]:
        return (yield from join((yield from fork(leaf()))))

    def flow() -> Flow[Answer]:
        return answer(str((yield from join((yield from fork(branch()))))))

    shelf = Shelf(answers={"What is Brenn?": "", "Brenn": [BRENN]})
    value, told = drive(guarded("q", Transcript("h"), flow(), Guards()), Script([]), shelf)
    assert value.text == "1"
    assert [e.span.branch for e in told.events if isinstance(e.body, Noted)] == ["0.0"]
    bare, told = drive(guarded("q", Transcript("h"), flow(), PAPER), Script([]), shelf)
    assert (bare.text, told.bodies(Noted)) == ("0", [])


def searching(query: str) -> Flow[tuple[Passage, ...]]:
    return (yield from search(query))


def test_a_branch_expands_by_what_it_found_was_given_or_joined_and_not_by_what_ran_beside_it() -> None:
    def lost(name: str) -> Flow[str]:
        yield from ask(name)
        yield from search("Tarn bridges")
        return name

    def flow() -> Flow[Answer]:
        first = yield from fork(searching("Brenn"))
        beside = yield from fork(lost("later"))
        yield from join(beside)
        yield from search("Tarn tolls")
        yield from join(first)
        yield from search("Tarn boats")
        yield from join((yield from fork(searching("Tarn fish"))))
        return answer("done")

    nothing = dict.fromkeys(("Tarn bridges", "Tarn tolls", "Tarn boats", "Tarn fish"), "")
    shelf = Shelf(answers={**nothing, "Brenn": [BRENN]})
    _, told = drive(over(flow()), Clerk(), shelf)
    wide = [body.data["instead_of"] for body in told.bodies(Noted) if body.kind == "fallback"]
    assert wide == ["Tarn boats", "Tarn fish"]


def test_a_page_that_was_opened_is_feedback_too() -> None:
    def flow() -> Flow[Answer]:
        yield from open_page("Brenn")
        yield from search("Tarn bridges")
        return answer("done")

    shelf = Shelf({"Brenn": BRENN.text}, answers={"Tarn bridges": ""})
    _, told = drive(over(flow()), Script([]), shelf)
    assert told.requests(Search)[1].query.startswith("Tarn bridges Brenn")


class Slow(Shelf):
    """A shelf that takes its time, by luck."""

    def __init__(self, seed: int) -> None:
        super().__init__({"Brenn": BRENN.text, "Ada Tell": "Ada Tell was born in Brenn."}, answers=LOST)
        self._luck = random.Random(seed)

    async def search(self, request: Search, *, report: Any) -> Any:
        await anyio.sleep(self._luck.random() / 100)
        return await super().search(request, report=report)


LOST = dict.fromkeys(("Where is Brenn?", "Who is Ada Tell?", "Which river?", "Tell of Brenn"), "")


def looking() -> Flow[Answer]:
    """Forks that search, joined in the order of finishing, and a search that builds on what was joined."""
    tasks = []
    for query in ("Where is Brenn?", "Who is Ada Tell?", "Ada Tell"):
        tasks.append((yield from fork(searching(query))))
    first = yield from next_of(tasks)
    yield from join(first)
    last = yield from search("Tell of Brenn")
    rest = []
    for task in tasks:
        rest.append(len((yield from join(task))))
    return answer(f"{first.branch} {rest} {[p.id for p in last]} {len((yield from search('Which river?')))}")


@pytest.mark.parametrize("seed", range(5))
def test_a_guarded_run_with_forks_replays_exactly_and_touches_no_port(seed: int) -> None:
    value, told = drive(guarded("q", Transcript("h"), looking()), Script([]), Slow(seed))
    assert any(body.kind == "fallback" for body in told.bodies(Noted))
    ports = Forbidden()
    again, retold = drive(guarded("q", Transcript("h"), looking()), ports, ports, recording=Cassette(told.events))
    assert retold.lines() == told.lines()
    assert again.text == value.text


@pytest.mark.parametrize("kept", range(2, 40, 3))
def test_a_guarded_run_resumes_without_searching_anything_again(kept: int) -> None:
    value, told = drive(guarded("q", Transcript("h"), looking()), Script([]), Slow(kept))
    recording = Cassette(told.events[:kept], strict=False)
    shelf = Slow(kept + 1)
    again, retold = drive(guarded("q", Transcript("h"), looking()), Script([]), shelf, recording=recording)
    done = sum(isinstance(e.outcome, Finished) and isinstance(e.request, Search) for e in recording.entries())
    asked = sum(isinstance(body.request, Search) for body in retold.bodies(Started))
    assert len(shelf.requests) <= asked - done
    assert value.status == again.status


# --- the model's expansion, and what it may cost --------------------------------------------------------------------


def test_the_model_is_asked_for_one_expansion_a_look_up_and_the_bound_says_so() -> None:
    def flow() -> Flow[Answer]:
        for query in ("Where is Brenn?", "Where is Orl?"):
            for _ in range(2):
                yield from search(query)
        return answer("done")

    script = Script(lambda request: "somewhere else")
    guards = Guards(fallback="model")
    shelf = Shelf(answers=dict.fromkeys(("Where is Brenn?", "Where is Orl?"), ""))
    value, _ = drive(guarded("q", Transcript("h"), flow(), guards), script, shelf)
    assert (value.text, len(script.requests)) == ("done", 2)
    assert extra_calls({"guards": guards}, 2) == 2
    assert [extra_calls({"guards": g}, 3) for g in (Guards(), Guards(judge=True), PAPER)] == [0, 1, 0]
    assert extra_calls({}, 9) == 0
    assert extra_calls({"guards": Guards(judge=True, citations="off")}, 3) == 0


def test_the_expansion_never_spends_the_answer() -> None:
    def flow() -> Flow[Answer]:
        yield from search("Where is Brenn?")
        reply = yield from generate([], closing=True)
        return answer(reply.text)

    shelf = Shelf(answers={"Where is Brenn?": ""})
    flow_ = guarded("q", Transcript("h"), flow(), Guards(fallback="model"))
    value, told = drive(flow_, Script(["final"]), shelf, budget=Budget(calls=1))
    assert value.text == "final"
    assert "budget" in [body.kind for body in told.bodies(Noted)]


def test_a_failure_becomes_an_answer_that_says_why() -> None:
    def flow() -> Flow[Answer]:
        yield from note("x")
        raise BadReply("no form")

    value, _ = drive(guarded("q", Transcript("h"), flow()), Script([]))
    assert (value.status, value.ended, value.grounded) == ("failed", "unparsable", None)


def test_a_strategy_inside_another_leaves_what_wraps_from_outside_to_it() -> None:
    inner = within(Guards(fallback="model", judge=True, compress=7))
    assert inner == Guards(fallback="off", citations="off", compress=7)


def test_nested_guards_search_each_query_of_the_fallback_no_further() -> None:
    def flow() -> Flow[Answer]:
        yield from search("Brenn")
        yield from search("What of the Tarn bridges?")
        return answer("done")

    shelf = Shelf(answers={"Brenn": [BRENN], "What of the Tarn bridges?": "", "Tarn bridges": ""})
    shelf._pages.clear()
    drive(over(over(flow())), Script([]), shelf)
    assert len(set(shelf.requests)) == 4
    assert len(shelf.requests) <= 6


def test_a_dropped_observation_is_noted_and_a_blank_one_is_not() -> None:
    assert list(own_dropped(" \n")) == []
    assert [(n.kind, n.text) for n in own_dropped("Observation: x") if isinstance(n, Note)] == [
        ("own_observation", "Observation: x")
    ]


def test_listened_replies_pass_through() -> None:
    def flow() -> Flow[str]:
        handle = yield Listen(None)  # type: ignore[arg-type]
        piece: str = yield Read(handle)
        return piece

    outer = over(flow())
    assert isinstance(next(outer), Listen)
    assert outer.send("handle") == Read("handle")  # type: ignore[arg-type]
    with pytest.raises(StopIteration) as end:
        outer.send("piece")
    assert end.value.value == "piece"
