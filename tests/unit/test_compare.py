"""Comparing strategies on one question: rows folded from events, where hops part, failures that stop nothing."""

from __future__ import annotations

import itertools
import json
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.homes import private

import sleuth
from sleuth import Answer, Budget, Flow, Passage, Script, Shelf, Usage
from sleuth.app.compare import Comparison, Row, compared, difference, folded
from sleuth.app.comparing import arranged, entry, wait_for
from sleuth.errors import BadInput, ModelError, NoLibrary, UnknownName
from sleuth.events import Closed, Event, Failed, Finished, Noted, Opened
from sleuth.strategies import TABLE
from sleuth.trace import read_trace
from sleuth.types import Hop

QUESTION = "When was the tower completed?"
PAGES = {"Tower": "The tower was completed in 1889.", "Bridge": "The bridge was completed in 1870."}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def looking(*queries: str) -> Callable[..., Flow[Answer]]:
    """A strategy that searches these, then makes one call."""

    def flow(question: str, *, k: int = 1) -> Flow[Answer]:
        hops = []
        for query in queries:
            found = yield from sleuth.search(query, k)
            passages = [{"id": each.id, "title": each.title} for each in found]
            yield from sleuth.note("hop", query, query=query, passages=passages)
            hops.append(Hop(query, query, evidence=found))
        reply = yield from sleuth.generate([sleuth.Message("user", question)], closing=True)
        return Answer(reply.text, "answered", "final_answer", hops=tuple(hops))

    return flow


def crashing(question: str) -> Flow[Answer]:
    yield from sleuth.search(question, 1)
    yield from sleuth.note("hop", question, query=question)
    raise ZeroDivisionError("of its own")


def ask_all(strategies: Any, model: Any = None, **how: Any) -> Comparison:
    return sleuth.compare(
        QUESTION, strategies, model=model or Script(lambda _: " 1889"), library=how.pop("library", Shelf(PAGES)), **how
    )


# --- the fold -----------------------------------------------------------------------------------------------------


def told_by_hand(path: Path) -> dict[str, Any]:
    """What a row should say, added up from the trace in another way."""
    events = read_trace(path)
    answer = events[-1].body.answer if isinstance(events[-1].body, Closed) else None
    spent = [e.body.usage for e in events if isinstance(e.body, Finished | Failed)]
    assert answer is not None
    return {
        "answer": answer,
        "hops": answer.hops or tuple(e.body for e in events if isinstance(e.body, Noted) and e.body.kind == "hop"),
        "usage": sum(spent, Usage()),
        "span": events[-1].at - events[0].at,
    }


def assert_folds(comparison: Comparison) -> None:
    """Every row is what its trace file gives, read by itself; and what the trace says when it is counted otherwise."""
    for row in comparison.rows:
        assert row.trace is not None
        assert folded(read_trace(row.trace), trace=row.trace) == row
        told = told_by_hand(row.trace)
        assert row.answer == told["answer"]
        assert len(row.hops) == len(told["hops"])
        assert row.usage == told["usage"]
        assert row.answer.usage == row.usage
        assert row.seconds == pytest.approx(told["span"] - row.loading)


def test_every_row_is_the_fold_of_its_trace() -> None:
    comparison = ask_all(["link-then-read", "self-ask", "react:paper", "standard"])
    assert [row.name for row in comparison.rows] == ["link-then-read", "self-ask", "react:paper", "standard"]
    assert_folds(comparison)
    assert len({row.run for row in comparison.rows}) == 4


def test_a_run_asked_alone_folds_too_and_is_called_by_its_strategy_and_setting(tmp_path: Path) -> None:
    trace = tmp_path / "alone.jsonl"
    answer = sleuth.ask(
        QUESTION, strategy="standard", setting="paper", model=Script([" 1889"]), library=Shelf(), trace=trace
    )
    row = folded(read_trace(trace))
    assert (row.name, row.answer, row.usage) == ("standard:paper", answer, answer.usage)


def test_a_trace_that_was_torn_is_a_run_that_goes_on() -> None:
    row = ask_all([looking("tower", "bridge")]).rows[0]
    assert row.trace is not None
    events = read_trace(row.trace)
    first = next(number for number, event in enumerate(events) if isinstance(event.body, Noted))
    torn = folded(events[: first + 1])
    assert (torn.status, torn.answer, torn.text) == ("running", None, "")
    assert [hop.question for hop in torn.hops] == ["tower"]
    assert torn.hops[0].evidence[0].title == "Tower"


def test_the_loading_of_the_model_is_no_strategys_time() -> None:
    class Heavy(Script):
        async def generate(self, request: Any, *, report: Any, pieces: Any = None) -> Any:
            report("load", "loaded in 40 s", seconds=40.0)
            return await super().generate(request, report=report, pieces=pieces)

    events: list[Event] = []
    comparison = ask_all(["standard"], Heavy([" 1889"]), sinks=[events.append])
    row = comparison.rows[0]
    later = [Event(e.run, e.seq, e.at + (50.0 if isinstance(e.body, Closed) else 0.0), e.span, e.body) for e in events]
    assert row.loading == 40.0
    assert 10.0 <= folded(later).seconds < 11.0


# --- several ------------------------------------------------------------------------------------------------------


def test_every_strategy_is_asked_when_none_is_named() -> None:
    assert [row.name for row in ask_all(None).rows] == list(TABLE)


def test_strategies_share_question_source_and_limits() -> None:
    shelf, script = Shelf(PAGES), Script(lambda _: " 1889", usd=0.001)
    seen: list[Event] = []
    comparison = ask_all(
        ["retrieve-then-read", "self-ask"], script, library=shelf, budget=Budget(calls=3), sinks=[seen.append]
    )
    opened = [event.body for event in seen if isinstance(event.body, Opened)]
    assert {body.question for body in opened} == {QUESTION}
    assert [body.about["budget"] for body in opened] == [Budget(calls=3)] * 2
    assert sum(row.usage.searches for row in comparison.rows) == len(shelf.requests)
    assert all(row.usage.usd > 0 for row in comparison.rows)


def test_a_budget_is_each_ones_own() -> None:
    rows = ask_all(["standard", "standard", "standard"], budget=Budget(calls=1)).rows
    assert [row.status for row in rows] == ["answered"] * 3


def test_tools_and_guards_go_to_the_strategies_that_take_them() -> None:
    comparison = ask_all(["react", "standard"], tools=["calculator"], guards={"compress": 0})
    first, second = (read_trace(row.trace)[0].body.about for row in comparison.rows if row.trace)
    assert list(first["tools"]) == ["calculator"]
    assert first["params"]["guards"].compress == 0
    assert "tools" not in second
    assert "tools" not in second["params"]


def test_a_library_is_opened_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    from sleuth.app import libraries

    one = libraries.open_source
    monkeypatch.setattr(libraries, "open_source", lambda folder: opened.append(folder) or one(folder))
    comparison = sleuth.compare(
        QUESTION, ["retrieve-then-read", "link-then-read"], model=Script(lambda _: " 1889"), library="sample"
    )
    assert all(row.hops for row in comparison.rows)
    assert len(opened) == 1


@pytest.mark.parametrize(("at_once", "most"), [(1, 1), (2, 2), (3, 3)])
def test_runs_come_one_after_the_other_or_so_many_at_once(at_once: int, most: int) -> None:
    lock, going, peak = threading.Lock(), 0, 0

    def watch(event: Event) -> None:
        nonlocal going, peak
        with lock:
            going += isinstance(event.body, Opened) - isinstance(event.body, Closed)
            peak = max(peak, going)

    ask_all(["standard"] * 3, Script(lambda _: " 1889", delay=0.1), at_once=at_once, sinks=[watch])
    assert peak == most


def test_the_same_strategy_twice_is_two_runs() -> None:
    first, second = ask_all(["standard", "standard"]).rows
    assert (first.name, second.name) == ("standard", "standard")
    assert first.run != second.run


def test_a_name_may_carry_a_setting_and_parameters() -> None:
    found = entry("react:paper:steps=5")
    assert (found.strategy.card.name, found.setting, found.params) == ("react", "paper", {"steps": "5"})
    assert found.name == "react:paper:steps=5"
    row = ask_all(["self-ask:follow-ups=2"]).rows[0]
    assert row.name == "self-ask:follow_ups=2"
    assert row.trace is not None
    assert read_trace(row.trace)[0].body.about["params"]["follow_ups"] == 2


def test_the_setting_is_that_of_those_named_without_one() -> None:
    assert [row.name for row in ask_all(["standard", "self-ask:default"], setting="paper").rows] == [
        "standard:paper",
        "self-ask",
    ]


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        ({"strategies": ["raect"]}, UnknownName, "Did you mean 'react'"),
        ({"strategies": ["react:papr"]}, UnknownName, "setting of 'react'"),
        ({"strategies": ["react:stepz=3"]}, BadInput, "no parameter 'stepz'"),
        ({"strategies": ["react:=3"]}, BadInput, "no setting"),
        ({"strategies": ["react:"]}, BadInput, "no setting"),
        ({"strategies": []}, BadInput, "no strategy to compare"),
        ({"strategies": ["standard"], "at_once": 0}, BadInput, "0 runs at once"),
        ({"strategies": ["standard"], "tools": ["calculator"]}, BadInput, "None of these strategies uses tools"),
        ({"strategies": ["react"], "tools": ["calcualtor"]}, UnknownName, "calculator"),
        ({"strategies": ["react"], "guards": {"compres": 0}}, BadInput, "compres"),
        ({"strategies": ["standard"], "library": "samlpe"}, NoLibrary, "Did you mean 'sample'"),
    ],
)
def test_what_the_caller_can_mend_is_raised_before_anything_is_asked(
    how: dict[str, Any], error: type[Exception], says: str, home: Path
) -> None:
    script = Script([])
    with pytest.raises(error, match=says):
        ask_all(how.pop("strategies"), script, **how)
    assert script.requests == []
    assert not (home / "runs").exists()


def test_a_strategy_that_crashes_says_so_and_stops_no_other() -> None:
    comparison = ask_all([crashing, "standard"])
    crashed, other = comparison.rows
    assert (crashed.status, other.status, other.text) == ("failed", "answered", "1889")
    assert "ZeroDivisionError: of its own" in crashed.note
    assert isinstance(crashed.error, ZeroDivisionError)
    assert [hop.question for hop in crashed.hops] == [QUESTION]
    assert_folds(comparison)


def test_one_that_is_no_flow_is_a_failed_row_without_a_run() -> None:
    def flat(question: str) -> Any:
        return Answer("at once", "answered", "final_answer")

    broken, other = ask_all([flat, "standard"]).rows
    assert (broken.status, broken.answer, other.status) == ("failed", None, "answered")
    assert "is no flow" in broken.note


def test_when_all_fail_there_is_still_a_row_for_each() -> None:
    rows = ask_all(["standard", "retrieve-then-read"], Script(lambda _: ModelError("down"))).rows
    assert [(row.status, row.ended, row.text) for row in rows] == [("failed", "model_error", "")] * 2


def test_without_traces_nothing_is_written(home: Path) -> None:
    comparison = ask_all(["standard"], trace=False)
    assert comparison.rows[0].trace is None
    assert not (home / "runs").exists()


def test_an_interrupted_comparison_keeps_what_is_finished() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start without it
    runs = arranged(
        QUESTION,
        ["standard", "standard", "standard"],
        model=Script([" 1889", "late", "never"], delay=[0.0, 60.0, 0.0]),
        library=Shelf(PAGES),
    )
    timer = threading.Timer(0.0, lambda: _interrupt_when(lambda: runs.rows()[1].status == "running"))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        wait_for(runs)
    signal.signal(signal.SIGINT, before)
    timer.join()
    first, second, third = runs.so_far().rows
    assert (first.status, first.text) == ("answered", "1889")
    assert (second.status, second.ended) == ("failed", "cancelled")
    assert (third.status, third.began) == ("waiting", None)


def _interrupt_when(true: Callable[[], bool]) -> None:
    import _thread

    while not true():
        time.sleep(0.02)
    _thread.interrupt_main()


# --- differences --------------------------------------------------------------------------------------------------


def hop(question: str, query: str = "", *passages: str) -> Hop:
    return Hop(question, query, evidence=tuple(Passage(each, each, each, "") for each in passages))


def rows(*hops: tuple[Hop, ...]) -> list[Row]:
    return [Row(f"s{number}", hops=each) for number, each in enumerate(hops)]


SAME = hop("When?", "tower when", "Tower")


@pytest.mark.parametrize(
    ("one", "other", "place", "fields"),
    [
        ((SAME,), (hop("Who?", "tower when", "Tower"),), 1, ("question",)),
        ((SAME,), (hop("When?", "bridge", "Tower"),), 1, ("query",)),
        ((SAME,), (hop("When?", "tower when", "Tower", "Bridge"),), 1, ("passages",)),
        ((SAME,), (hop("Who?", "who", "Bridge"),), 1, ("question", "query", "passages")),
        ((SAME, SAME), (SAME, hop("Who?", "tower when", "Tower")), 2, ("question",)),
        ((SAME,), (SAME, SAME), 2, ()),
        ((SAME,), (), 1, ()),
    ],
)
def test_the_first_hop_that_differs_is_found_with_what_differs(
    one: tuple[Hop, ...], other: tuple[Hop, ...], place: int, fields: tuple[str, ...]
) -> None:
    found = difference(rows(one, other), (0, 1))
    assert found is not None
    assert (found.hop, found.fields) == (place, fields)
    assert found.hops == tuple(hops[place - 1] if len(hops) >= place else None for hops in (one, other))


def test_case_spacing_and_a_query_that_is_the_question_make_no_difference() -> None:
    assert (
        difference(rows((hop("When was  it?", "", "T"),), (hop("when WAS it?", "When was it?", "T"),)), (0, 1)) is None
    )
    assert difference(rows((), ()), (0, 1)) is None


def test_the_first_difference_of_all_is_among_those_that_looked_something_up() -> None:
    comparison = compared("?", rows((SAME, SAME), (SAME, SAME), (), (SAME, hop("Who?")), (SAME,)))
    assert [each.hop if each else None for each in comparison.differences] == [None, 1, 2, 2]
    found = comparison.first_difference
    assert found is not None
    assert (found.hop, found.rows, found.fields) == (2, (0, 1, 3, 4), ("question", "query", "passages"))
    assert [group for group, _ in found.groups()] == [(0, 1), (3,), (4,)]
    assert compared("?", rows((), (SAME,))).first_difference is None


HOPS = st.lists(st.sampled_from([SAME, hop("Who?"), hop("Who?", "x"), hop("When?", "", "A")]), max_size=3).map(tuple)


@given(st.lists(HOPS, min_size=2, max_size=4))
def test_over_all_rows_the_first_difference_is_the_earliest_of_the_pairs(drawn: list[tuple[Hop, ...]]) -> None:
    table = rows(*drawn)
    pairs = [difference(table, (0, other)) for other in range(1, len(table))]
    whole = difference(table, range(len(table)))
    assert (whole.hop if whole else None) == min((each.hop for each in pairs if each), default=None)


def test_real_runs_part_where_they_look_for_something_else() -> None:
    comparison = ask_all([looking("tower", "bridge"), looking("tower", "tower completed"), looking("tower", "bridge")])
    second, third = comparison.differences
    assert second is not None
    assert (second.hop, second.fields) == (2, ("question", "query", "passages"))
    assert third is None


# --- every strategy, any reply --------------------------------------------------------------------------------------

ANY_REPLIES = st.lists(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from(
            [
                " Yes.\nFollow up: When was the bridge completed?\n",
                "So the final answer is: 1889",
                " I look.\nAction 1: Search[tower]\nObservation 1:",
                "Finish[1889]",
                '{"steps": [{"id": "s1", "query": "When was the tower completed?", "depends_on": []}]}',
                '{"steps": [{"id": "s1", "query": "a", "depends_on": ["s1"]}]}',
                "The tower is tall. So the answer is: 1889.",
                "1889",
                "yes",
            ]
        ),
        st.just(ModelError("down")),
    ),
    min_size=1,
    max_size=8,
)


def assert_rows_fold(setting: str, replies: Any) -> None:
    """Every strategy of the table ends with an answer, whatever is replied, and its row is its trace's fold."""
    turns = itertools.cycle(replies)
    comparison = ask_all(None, Script(lambda _: next(turns)), setting=setting)
    assert [row.error for row in comparison.rows] == [None] * len(TABLE)
    assert all(row.answer is not None for row in comparison.rows)
    assert_folds(comparison)


@pytest.mark.parametrize("setting", ["default", "paper"])
@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(replies=ANY_REPLIES)
def test_no_reply_makes_a_strategy_of_the_table_crash_or_a_row_differ_from_its_trace(
    setting: str, replies: Any
) -> None:
    """More of the same is tried in tests/integration/test_every_strategy.py."""
    assert_rows_fold(setting, replies)


# --- the command line -----------------------------------------------------------------------------------------------


def test_the_row_for_machines_holds_what_the_table_shows(capsys: pytest.CaptureFixture[str]) -> None:
    from sleuth.cli.compared import put_comparison_json

    put_comparison_json(ask_all(["retrieve-then-read", looking("bridge"), "standard"]))
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"question", "rows", "first_difference", "differences"}
    assert told["question"] == QUESTION
    assert {
        *("strategy", "answer", "status", "ended", "note", "grounded", "confidence", "confidence_by", "citations"),
        *("verified", "hops", "usage", "seconds", "run", "trace"),
    } <= set(told["rows"][0])
    assert told["rows"][0]["answer"] == "1889"
    assert Path(told["rows"][0]["trace"]).is_file()
    assert told["first_difference"]["hop"] == 1
    assert [side["row"] for side in told["first_difference"]["sides"]] == [0, 1]
    assert told["differences"][1]["sides"][1] == {
        "row": 2,
        "strategy": "standard",
        "question": None,
        "query": None,
        "passages": None,
    }
