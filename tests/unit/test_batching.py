"""A batch in its folder: what is asked must stay the same, one process at a time, and it ends when nothing works any more."""

from __future__ import annotations

import gc
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from tests.support.batches import CALLS, Pages, Teller, two_calls
from tests.support.homes import private

import sleuth
from sleuth.app import compose, libraries
from sleuth.app.batch import Outcome
from sleuth.app.batching import PATIENCE, arranged
from sleuth.errors import BadInput, ContextTooLong, EnvironmentFault, ModelError, SourceError, UnknownName
from sleuth.sources.shelf import Shelf

FAR = 500
"""Questions that a batch which nothing works for must never come to."""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def batch(questions: Any, model: Any = None, **more: Any) -> list[Outcome]:
    given = {"strategy": two_calls, "library": Pages(), "folder": "batch", **more}
    return list(sleuth.batch(questions, model=model or Teller(), **given))


def texts(told: list[Outcome]) -> dict[str, str]:
    return {each.key: each.answer.text if each.answer else "" for each in told}


def test_texts_texts_by_id_and_files_are_asked() -> None:
    Path("q.csv").write_text("id,question\nx,What?\n")
    assert texts(batch({"x": "What?"})) == {"x": "SECOND: WHAT? FIRST: WHAT?"}
    assert batch(Path("q.csv"))[0].reused
    [first, second] = batch(["Who?", "Who?"], folder="other")
    assert first.key != second.key
    assert batch(["New?", "Who?"], folder="other")[1].key == first.key


def test_the_same_call_goes_on_in_a_folder_of_its_own_and_another_has_another(home: Path) -> None:
    batch(["Who?"], folder=None)
    model = Teller()
    assert batch(["Who?"], model, folder=None)[0].reused
    assert not batch(["Who?"], model, folder=None, k=2)[0].reused
    assert not batch(["Who?", "When?"], model, folder=None)[0].reused
    assert len(list((home / "batches").iterdir())) == 3


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"k": 2}, "params.k was null, now 2"),
        ({"budget": sleuth.Budget(calls=9)}, "budget.calls was null, now 9"),
        ({"strategy": "standard"}, 'strategy was "two_calls", now "standard"'),
        ({"library": "sample"}, 'library was "shelf", now "sample"'),
        ({"guards": {"compress": 0}, "strategy": "react"}, "params.guards"),
    ],
)
def test_the_same_folder_with_other_settings_is_refused_and_the_difference_named(
    other: dict[str, Any], told: str
) -> None:
    batch(["Who?"], strategy="react" if "guards" in other else two_calls)
    with pytest.raises(BadInput) as refused:
        batch(["Who?"], **{"strategy": two_calls, **other})
    assert told in str(refused.value)
    assert "--output" in refused.value.hint


def test_another_model_is_refused() -> None:
    batch(["Who?"])
    other = Teller()
    other.name = "other"
    with pytest.raises(BadInput, match='model was "teller", now "other"'):
        batch(["Who?"], other)


def test_questions_may_be_added_and_none_may_change() -> None:
    batch({"a": "Who?"})
    assert [each.reused for each in batch({"b": "When?", "a": "Who?"})] == [False, True]
    with pytest.raises(BadInput, match='"Who\\?", now "Where\\?"'):
        batch({"a": "Where?"})
    assert batch({"b": "When?"})[0].reused


def test_what_is_wrong_is_told_before_anything_is_asked_or_written() -> None:
    model = Teller()
    for questions, more in (
        ([], {}),
        ("Who?", {}),
        ({"a": "Who?", "b": "When?"}, {"at_once": 0}),
        (["Who?"], {"k": "many"}),
        ([3], {}),
    ):
        with pytest.raises(sleuth.SleuthError):
            sleuth.batch(questions, model=model, strategy=two_calls, library=Pages(), folder="batch", **more)  # type: ignore[arg-type]
    with pytest.raises(UnknownName):
        sleuth.batch(["Who?"], strategy="no-such", folder="batch")
    assert not model.made
    assert not Path("batch").exists()


@pytest.mark.parametrize(
    "damaged", ["", "[]", '{"version": 1}', '{"version": 1, "about": 3}', '{"version": 2, "about": {}}']
)
def test_a_damaged_or_newer_folder_is_refused(damaged: str) -> None:
    batch(["Who?"])
    Path("batch/batch.json").write_text(damaged)
    with pytest.raises(BadInput, match=r"batch\.json"):
        batch(["Who?"])


def test_a_second_process_is_refused_while_the_first_lives() -> None:
    going = sleuth.batch(["Who?", "When?"], model=Teller(), strategy=two_calls, library=Pages(), folder="batch")
    next(going)
    with pytest.raises(BadInput, match=rf"Another process.*{os.getpid()}.*batch"):
        batch(["Who?", "When?"])
    going.close()  # type: ignore[attr-defined]
    assert len(batch(["Who?", "When?"])) == 2


def test_leaving_the_loop_stops_the_batch_and_what_is_done_stays() -> None:
    model = Teller(takes=0.02)
    questions = [f"q{n}" for n in range(9)]
    for outcome in sleuth.batch(questions, model=model, strategy=two_calls, library=Pages(), folder="batch"):
        assert outcome.answer is not None
        break
    made = model.made.total()
    assert made < 9
    told = batch(questions, model)
    assert told[0].reused
    assert all(each.answer and each.answer.status == "answered" for each in told)
    assert model.made.total() <= CALLS * 9 + 1  # one was under way


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_model_that_is_gone_stops_the_batch_with_a_message(at_once: int) -> None:
    questions = [f"q{n}" for n in range(FAR)]
    good: list[str] = []
    model = Teller(lambda prompt: good.append(prompt) if len(good) < 10 else ModelError("The server is gone."))
    with pytest.raises(EnvironmentFault, match=f"{PATIENCE} questions running failed: The server is gone") as stopped:
        batch(questions, model, at_once=at_once)
    assert "--again failed" in stopped.value.hint
    assert model.made.total() < 10 + CALLS * (PATIENCE + at_once)
    mended = Teller()
    told = batch(questions, mended, again="failed")
    assert all(each.answer and each.answer.status == "answered" for each in told)
    assert mended.made.total() + 10 == FAR * CALLS


def test_a_source_that_is_gone_stops_the_batch() -> None:
    source = Pages()
    source.fault = SourceError("The library is gone.")
    with pytest.raises(EnvironmentFault, match="The library is gone"):
        batch([f"q{n}" for n in range(FAR)], library=source)
    assert source.searches == PATIENCE


def test_a_disk_that_takes_nothing_stops_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compose, "TraceWriter", full)
    model = Teller()
    with pytest.raises(EnvironmentFault, match="No space left"):
        batch([f"q{n}" for n in range(FAR)], model)
    assert not model.made


def test_questions_that_are_too_long_stop_no_other() -> None:
    long = Teller(lambda prompt: None if "q5" in prompt else ContextTooLong("too long"))
    told = batch([f"q{n}" for n in range(2 * PATIENCE)], long)
    assert [bool(each.answer and each.answer.text) for each in told] == [False] * 5 + [True]


def test_what_a_strategy_raises_stops_no_other() -> None:
    def odd(question: str) -> sleuth.Flow[sleuth.Answer]:
        reply = yield from sleuth.generate([sleuth.Message("user", question)])
        return sleuth.Answer(reply.text[: 10 // question.count("5")], "answered", "final_answer")

    told = batch([f"q{n}" for n in range(2 * PATIENCE)], strategy=odd)
    assert [type(each.error) for each in told] == [ZeroDivisionError] * 5 + [type(None)]


def test_failures_that_are_not_running_stop_nothing() -> None:
    gone = ModelError("now and then")
    odd = Teller(lambda prompt: gone if prompt.startswith("first") and int(prompt[-1]) % 2 else None)
    assert len(batch([f"q{n}" for n in range(10)], odd)) == 10


def test_searches_that_fail_now_and_then_stop_nothing() -> None:
    class Odd(Pages):
        async def search(self, request: Any, *, report: Any) -> Any:
            self.fault = SourceError("now and then") if self.searches % 2 else None
            return await super().search(request, report=report)

    assert len(batch([f"q{n}" for n in range(10)], library=Odd())) == 10


def test_the_library_is_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    real = libraries.open_source
    monkeypatch.setattr(libraries, "open_source", lambda folder: opened.append(folder) or real(folder))
    assert len(batch(["Who?", "When?", "Where?"], library="sample", at_once=2)) == 3
    assert len(opened) == 1


def test_progress_counts_what_is_done_and_reckons_the_rest_from_what_was_asked_now() -> None:
    batch([f"q{n}" for n in range(5)])
    model = Teller(lambda prompt: ModelError("gone") if "q6" in prompt else None, takes=0.01)
    with pytest.raises(BadInput):
        arranged([("x", "Who?")], folder=Path("batch"), strategy=two_calls, model=model, library=Pages(), at_once=0)
    from sleuth.bench.tasks import named

    asking = arranged(
        named([f"q{n}" for n in range(10)]), folder=Path("batch"), strategy=two_calls, model=model, library=Pages()
    )
    seen = [asking.so_far()]
    asking.wait(lambda _: seen.append(asking.so_far()))
    assert [each.done for each in seen] == list(range(11))
    assert (seen[0].left, seen[5].left) == (None, None)
    assert seen[6].left is not None
    assert seen[8].left is not None
    assert 0 < seen[8].left < seen[6].left * 5 < 60
    last = seen[-1]
    assert (last.total, last.answered, last.failed, last.running, last.waiting, last.left) == (10, 9, 1, 0, 0, 0.0)


class Counting(Teller):
    """A model that counts the process's open files."""

    files = 0

    async def generate(self, request: Any, *, report: Any, pieces: Any = None) -> Any:
        self.files = max(self.files, open_files())
        self.made.clear()
        return await super().generate(request, report=report, pieces=pieces)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


@pytest.mark.parametrize(("few", "many"), [(50, 250), pytest.param(200, 2000, marks=pytest.mark.slow)])
def test_many_questions_need_no_more_files_and_hardly_more_memory_than_few(few: int, many: int) -> None:
    shelf, model = Shelf({"Tower": "The tower was completed. " + "It stands. " * 300}), Counting()
    questions = [f"When was tower {n} completed?" for n in range(many)]
    sizes = {}
    tracemalloc.start()
    try:
        told = sleuth.batch(questions, model=model, strategy=two_calls, library=shelf, folder="big", at_once=8)
        for number, outcome in enumerate(told, 1):
            assert outcome.answer is not None
            if number in (few, many):
                gc.collect()
                sizes[number] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    traces = sum(file.stat().st_size for file in Path("big/runs").iterdir())
    assert sizes[many] - sizes[few] < traces / 3  # as events they would be many times their files
    assert model.files < 100
    again = sleuth.batch(questions, model=model, strategy=two_calls, library=shelf, folder="big")
    assert sum(each.reused for each in again) == many


def test_the_folder_says_what_was_asked_and_holds_a_trace_for_each(tmp_path: Path) -> None:
    batch({"a/b": "Who?", "a_b": "When?"})
    about = json.loads(Path("batch/batch.json").read_text())["about"]
    assert (about["strategy"], about["model"], about["library"]) == ("two_calls", "teller", "shelf")
    assert [json.loads(line)["id"] for line in Path("batch/questions.jsonl").read_text().splitlines()] == ["a/b", "a_b"]
    assert len(list(Path("batch/runs").iterdir())) == 2
