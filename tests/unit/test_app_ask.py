"""`ask`, `aask` and `stream`: one run behind three faces, with a scripted model and a shelf."""

import asyncio
import threading
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from tests.support.homes import private

import sleuth
from sleuth.app import compose
from sleuth.errors import BadInput, DownloadError, NoLibrary, UnknownName, WrongUse
from sleuth.events import Closed, Delta, Event, Opened
from sleuth.trace import read_trace
from sleuth.types import Answer, Flow


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def brief(question: str, *, k: int = 1) -> Flow[Answer]:
    """Search, then one call."""
    found = yield from sleuth.search(question, k)
    yield from sleuth.note("hop", question, query=question, answer=found[0].text if found else "")
    reply = yield from sleuth.generate([sleuth.Message("user", question)], closing=True)
    return Answer(reply.text, "answered", "final_answer")


def shelf() -> sleuth.Shelf:
    return sleuth.Shelf({"Tower": "The tower was completed in 1889."})


def test_ask_answers_and_says_what_it_cost() -> None:
    answer = sleuth.ask("When?", strategy=brief, model=sleuth.Script(["1889"]), library=shelf())
    assert (answer.text, answer.status, answer.usage.calls, answer.usage.searches) == ("1889", "answered", 1, 1)


def test_ask_twice_and_from_several_threads() -> None:
    def once(into: list[str], reply: str) -> None:
        into.append(sleuth.ask("When?", strategy=brief, model=sleuth.Script([reply]), library=shelf()).text)

    said: list[str] = []
    once(said, "first")
    threads = [threading.Thread(target=once, args=(said, str(n))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["0", "1", "2", "3", "first"]


def test_ask_works_inside_a_running_loop() -> None:
    async def cell() -> str:
        return sleuth.ask("When?", strategy=brief, model=sleuth.Script(["1889"]), library=shelf()).text

    assert asyncio.run(cell()) == "1889"


def test_aask_leaves_the_callers_loop_free() -> None:
    async def beside() -> tuple[str, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        model = sleuth.Script(["1889"], delay=0.2)
        answer = await sleuth.aask("When?", strategy=brief, model=model, library=shelf())
        ticking.cancel()
        return answer.text, ticks

    text, ticks = asyncio.run(beside())
    assert text == "1889"
    assert ticks >= 5


def test_stream_hands_over_the_events_and_closes_with_the_answer() -> None:
    async def watch() -> list[Event]:
        run = sleuth.stream("When?", strategy=brief, model=sleuth.Script(["1889"]), library=shelf())
        return [event async for event in run]

    events = asyncio.run(watch())
    assert isinstance(events[0].body, Opened)
    assert isinstance(events[-1].body, Closed)
    assert events[-1].body.answer.text == "1889"
    assert [event.seq for event in events] == list(range(len(events)))


@pytest.mark.parametrize("deltas", [True, False])
def test_a_stream_tells_pieces_of_replies_only_when_asked(deltas: bool) -> None:
    async def watch() -> str:
        model = sleuth.Script(["It was 1889."])
        run = sleuth.stream("When?", strategy=brief, model=model, library=shelf(), deltas=deltas)
        return "".join([event.body.text async for event in run if isinstance(event.body, Delta)])

    assert asyncio.run(watch()) == ("It was 1889." if deltas else "")


def test_leaving_a_stream_early_cancels_the_run() -> None:
    async def leave() -> None:
        run = sleuth.stream("When?", strategy=brief, model=sleuth.Script(["late"], delay=30), library=shelf())
        async with aclosing(run):
            async for event in run:
                if isinstance(event.body, sleuth.Noted):
                    break

    asyncio.run(leave())
    assert last_answer().ended == "cancelled"


def test_cancelling_aask_cancels_the_run() -> None:
    async def give_up() -> None:
        with anyio.move_on_after(0.2) as scope:
            model = sleuth.Script(["late"], delay=30)
            await sleuth.aask("When?", strategy=brief, model=model, library=shelf())
        assert scope.cancelled_caught

    asyncio.run(give_up())
    assert last_answer().ended == "cancelled"


def last_answer() -> Answer:
    newest = compose.store(compose.settings.load()).runs()[0]
    body = read_trace(newest.path)[-1].body
    assert isinstance(body, Closed)
    return body.answer


def test_a_run_is_traced_and_the_trace_says_what_it_was_made_of(home: Path) -> None:
    answer = sleuth.ask("When?", strategy=brief, model=sleuth.Script(["1889"]), library=shelf(), k=2)
    [path] = (home / "runs").iterdir()
    events = read_trace(path)
    assert path.stem == answer.run == events[0].run
    assert isinstance(events[0].body, Opened)
    about = events[0].body.about
    assert (about["strategy"], about["setting"], about["params"]) == ("brief", "default", {"k": 2})
    assert about["model"] == "script"


def test_a_trace_can_be_elsewhere_or_nowhere(home: Path, tmp_path: Path) -> None:
    made = {"strategy": brief, "library": shelf()}
    sleuth.ask("When?", model=sleuth.Script(["x"]), trace=tmp_path / "here.jsonl", **made)
    sleuth.ask("When?", model=sleuth.Script(["x"]), trace=False, **made)
    assert read_trace(tmp_path / "here.jsonl")
    assert not (home / "runs").exists()
    with pytest.raises(BadInput, match="folder that exists"):
        sleuth.ask("When?", model=sleuth.Script(["x"]), trace=tmp_path / "no" / "here.jsonl", **made)


def test_sinks_see_every_event() -> None:
    seen: list[Event] = []
    sleuth.ask("When?", strategy=brief, model=sleuth.Script(["x"]), library=shelf(), sinks=[seen.append])
    assert isinstance(seen[0].body, Opened)
    assert isinstance(seen[-1].body, Closed)


def test_a_failing_model_is_a_failed_answer_not_an_exception() -> None:
    answer = sleuth.ask("When?", strategy=brief, model=sleuth.Script([]), library=shelf())
    assert (answer.text, answer.status, answer.ended) == ("", "failed", "model_error")


def test_a_budget_ends_the_run() -> None:
    def three(question: str) -> Flow[Answer]:
        for _ in range(3):
            yield from sleuth.generate([sleuth.Message("user", question)])
        return Answer("too far", "answered", "final_answer")

    budget = sleuth.Budget(calls=2)
    answer = sleuth.ask("When?", strategy=three, model=sleuth.Script(["a"] * 3), library=shelf(), budget=budget)
    assert (answer.status, answer.ended) == ("failed", "budget")


def test_a_bug_in_a_flow_reaches_the_caller() -> None:
    def broken(question: str) -> Flow[Answer]:
        yield from sleuth.note("about to break")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sleuth.ask("When?", strategy=broken, model=sleuth.Script([]), library=shelf())


def test_asking_inside_a_run_is_refused_instead_of_waiting_for_ever() -> None:
    told: list[Exception] = []

    def nosy(event: Event) -> None:
        if isinstance(event.body, Opened):
            try:
                sleuth.ask("Inner?", strategy=brief, model=sleuth.Script(["x"]), library=shelf())
            except WrongUse as error:
                told.append(error)

    sleuth.ask("Outer?", strategy=brief, model=sleuth.Script(["x"]), library=shelf(), sinks=[nosy])
    assert "inside a run" in str(told[0])


def test_aask_without_asyncio_is_told() -> None:
    with pytest.raises(WrongUse, match="asyncio"):
        sleuth.aask("When?", strategy=brief, model=sleuth.Script(["x"]), library=shelf()).send(None)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"question": " "}, BadInput, "empty"),
        ({"question": "x" * 100_000}, BadInput, "100,000 characters"),
        ({"strategy": "recat"}, UnknownName, "Did you mean 'react'"),
        ({"model": "gpt"}, UnknownName, "A model is one of"),
        ({"model": "opnai:x"}, UnknownName, "Did you mean 'openai'"),
        ({"model": "openai:x"}, BadInput, "OPENAI_API_KEY"),
        ({"model": "http://127.0.0.1:9/v1"}, BadInput, "names a server, but no model"),
        ({"model": "anthropic:x"}, UnknownName, "not supported yet"),
        ({"model": "local:missing.gguf"}, UnknownName, "no model file 'missing.gguf'"),
        ({"model": "local", "offline": True}, DownloadError, "sleuth models pull"),
        ({"library": "samlpe"}, NoLibrary, "Did you mean 'sample'.*sleuth index"),
        ({"library": Path("nowhere")}, NoLibrary, "no library in nowhere"),
        ({"setting": "papr"}, UnknownName, "setting"),
        ({"kk": 3}, BadInput, "no parameter 'kk'"),
        ({"model": "http://127.0.0.1:9/v1#m", "budget": sleuth.Budget(usd=1)}, BadInput, "prices"),
    ],
)
def test_wrong_use_is_one_clear_paragraph(wrong: dict[str, object], error: type[Exception], says: str) -> None:
    good = {"question": "When?", "strategy": brief, "model": sleuth.Script(["x"]), "library": shelf()}
    with pytest.raises(error, match=says) as caught:
        sleuth.ask(**{**good, **wrong})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_roles_get_the_models_that_the_settings_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_READ_MODEL", "http://127.0.0.1:9/v1#reader")
    order = compose.prepare("When?", strategy=brief, model="http://127.0.0.1:9/v1#planner", library=shelf())
    assert order.models == {"read": "http://127.0.0.1:9/v1#reader"}
    assert order.about["models"] == {"read": "http://127.0.0.1:9/v1#reader"}
