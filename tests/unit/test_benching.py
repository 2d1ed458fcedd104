"""A bench before anything is asked: what it will ask, and everything wrong told at once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.homes import private
from tests.support.stub_server import StubServer

from sleuth.app import corpora, settings
from sleuth.app.benching import Benching, arranged, wait_for
from sleuth.bench.questions import Question, Task
from sleuth.bench.record import load
from sleuth.bench.summary import summary
from sleuth.errors import BadInput, NoLibrary, UnknownName

LABELS = ("SUPPORTS", "REFUTES")
MINE = Task(
    "mine", tuple(Question(f"q{n}", f"When was tower {n} completed?", ("1889",)) for n in range(7)), ("em", "f1")
)
CLAIMS = Task(
    "claims", (Question("c", "It was completed in 1889.", ("SUPPORTS",), "claim"),), ("label",), labels=LABELS
)
SAMPLE = {"mine": "sample", "claims": "sample"}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def bench(*named: str, tasks: tuple[Task, ...] = (MINE,), **more: Any) -> Benching:
    given = {"libraries": SAMPLE, "folder": Path("bench"), "models": ["http://127.0.0.1:9/v1#stub"], **more}
    return arranged(tasks, named, **given)


def test_each_strategy_is_a_method_for_every_task_and_told_of_claims() -> None:
    plan = bench("react:paper", "cot-sc:n=3", tasks=(MINE, CLAIMS)).plan
    assert [dict(method.entries) for method in plan.methods] == [
        {"mine": "react:paper", "claims": "react:paper:task=claim"},
        {"mine": "cot-sc:n=3", "claims": "cot-sc:n=3:task=claim"},
    ]
    assert len(list(plan.cells())) == 4


def test_a_strategy_that_judges_no_claims_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match="self-ask") as told:
        bench("self-ask", tasks=(CLAIMS,))
    assert "react" in told.value.hint


def test_the_closed_book_joins_as_a_baseline_unless_it_is_there() -> None:
    assert [m.name for m in bench("react", baselines=True).plan.methods] == ["react", "standard"]
    assert [m.name for m in bench("standard:paper", baselines=True).plan.methods] == ["standard:paper"]


@pytest.mark.parametrize(
    ("named", "more", "error"),
    [
        ((), {}, BadInput),
        (("react", "react"), {}, BadInput),
        (("reakt",), {}, UnknownName),
        (("react:n=5",), {}, BadInput),
        (("react",), {"libraries": {}}, BadInput),
        (("react",), {"libraries": {"mine": "nowhere"}}, NoLibrary),
        (("react",), {"numbers": {"samples": "5"}}, BadInput),
        (("react",), {"at_once": 0}, BadInput),
        (("react",), {"tasks": (replace(MINE, questions=()),)}, BadInput),
        (("react",), {"tasks": (MINE, MINE)}, BadInput),
        (("react",), {"models": ["nothing"]}, UnknownName),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_asked_or_written(
    named: tuple[str, ...], more: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        bench(*named, **more)
    assert not Path("bench").exists()


def test_passages_are_indexed_once_and_again_when_they_change(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps({"id": "a", "title": "Tower", "text": "It was completed in 1889."}) + "\n")
    task, chosen = replace(MINE, corpus=file), settings.load()
    name = corpora.built(task, chosen)
    made = (chosen.libraries / name).stat().st_mtime_ns
    assert corpora.built(task, chosen) == name
    assert (chosen.libraries / name).stat().st_mtime_ns == made
    file.write_text(json.dumps({"id": "a", "title": "Tower", "text": "It was completed in 1890."}) + "\n")
    assert corpora.built(task, chosen) != name


def test_the_pilot_is_of_five_questions_and_counts_and_its_price_is_that_of_the_rest() -> None:
    with StubServer(reply=" 1889.") as server:
        asking = bench("standard", "retrieve-then-read", models=[f"{server.url}#stub"])
        wait_for(asking, 5)
        assert len(server.posts) == 10
        price = asking.price()
        assert price is not None
        assert (price.questions, price.pilot) == (4, 10)
        assert price.calls.value == 4
        wait_for(asking)
        assert len(server.posts) == 14
        assert asking.price() is None
        assert (asking.so_far().done, asking.so_far().total) == (14, 14)
    [told] = summary(asking.folder)
    assert [(row.done, row.scores[0].value) for row in told.rows] == [(7, 1.0), (7, 1.0)]


def test_a_run_says_its_task_method_and_question_and_what_a_strategy_raises_stops_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sleuth

    @sleuth.strategy("broken")
    def broken(question: str) -> Any:
        raise ZeroDivisionError
        yield

    with StubServer(reply=" 1889.") as server:
        asking = bench("broken", "standard", models=[f"{server.url}#stub"])
        wait_for(asking)
    cells = list(asking.plan.cells())
    record = load(asking.folder.trace(cells[1], "q0"))
    assert (record.about["task"], record.about["method"], record.about["question_id"]) == ("mine", "standard", "q0")
    [told] = summary(asking.folder)
    assert [row.scores[0].value for row in told.rows] == [0.0, 1.0]
