"""A bench and a batch whose questions, folders or surroundings are hostile: told in words, and nothing is lost or made up."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.benches import begun, put
from tests.support.homes import private
from tests.support.stub_server import StubServer, broken

import sleuth
from sleuth.app.batch_folder import BatchFolder
from sleuth.app.benching import Benching, arranged, wait_for
from sleuth.bench.folder import BenchFolder, Cell, own_name
from sleuth.bench.metrics import TABLE, find
from sleuth.bench.questions import Question, Task
from sleuth.bench.record import Record
from sleuth.bench.report.reading import read
from sleuth.bench.scores import score
from sleuth.bench.summary import summary
from sleuth.cli.bench import COMMANDS, app
from sleuth.cli.entry import main
from sleuth.errors import BadInput, ContextTooLong, EnvironmentFault, ModelError, WrongUse
from sleuth.events import Closed, Event, Failed, Opened, Span
from sleuth.trace import TraceWriter
from sleuth.types import Answer
from sleuth.verbs import search

MINE = Task("mine", tuple(Question(f"q{n}", f"When was tower {n} completed?", ("1889",)) for n in range(4)), ("em",))
ENDS = "One\u2028two\u2029three\x85four\x0bfive\x1csix?"
DEEP = "[" * 100_000
RIGHT = Answer("1889", "answered", "final_answer")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def bench(server: StubServer, *named: str, task: Task = MINE) -> Benching:
    libraries = {"mine": "sample"}
    return arranged((task,), named, libraries=libraries, folder=Path("bench"), models=[f"{server.url}#stub"])


def done(folder: BenchFolder) -> list[tuple[int, list[float]]]:
    return [(row.done, [each.value for each in row.scores]) for row in summary(folder)[0].rows]


def test_questions_with_every_end_of_a_line_are_read_again(tmp_path: Path) -> None:
    questions = (Question(ENDS, ENDS, (ENDS,)), Question("q", "Who?", ("x",)))
    assert begun(tmp_path / "bench", questions, ["react"]).questions("t") == questions
    batch = BatchFolder(tmp_path / "batch")
    for _ in range(2):
        with batch.held({}, [(ENDS, ENDS)]):
            assert batch.check({}, []) == {ENDS: ENDS}


@pytest.mark.parametrize("names", [("a", "A"), ("con", "CON", "nul.x"), ("../../x", "..", "", "/x"), ("é", "É", "😀")])
def test_ids_have_files_of_their_own_where_case_does_not_count(names: tuple[str, ...]) -> None:
    made = [own_name(name) for name in names]
    assert len({name.lower() for name in made}) == len(names)
    assert not {"con", "nul.x", "..", ""} & {name.lower() for name in made}
    assert not any("/" in name or "\\" in name for name in made)
    assert own_name("q1") == "q1"


@pytest.mark.parametrize("told", [DEEP, "[]", "\udcff", '{"version": "x"}'])
@pytest.mark.parametrize("file", ["bench.json", "tasks/t.jsonl"])
def test_a_damaged_folder_is_told_by_its_file(tmp_path: Path, file: str, told: str) -> None:
    folder = begun(tmp_path, (Question("q", "Who?", ("x",)),), ["react"])
    (tmp_path / file).write_bytes(told.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput, match=Path(file).name):
        summary(folder)


@pytest.mark.parametrize("spoilt", [b"\0" * 900, b"", b'{"trace":"sleuth","version":1}\n\0\0\n{}\n', DEEP.encode()])
def test_a_damaged_trace_is_a_run_that_is_not_done_and_is_made_again_from_the_calls(spoilt: bytes) -> None:
    with StubServer(reply=" 1889.") as server:
        wait_for(bench(server, "standard"))
        asking = bench(server, "standard")
        asking.folder.trace(next(asking.plan.cells()), "q1").write_bytes(spoilt)
        assert done(asking.folder) == [(3, [1.0])]
        wait_for(asking)
        assert done(asking.folder) == [(4, [1.0])]
        assert len(server.posts) == 4


def test_a_trace_of_a_newer_sleuth_or_of_another_question_is_neither_overwritten_nor_scored() -> None:
    with StubServer(reply=" 1889.") as server:
        asking = bench(server, "standard")
        wait_for(asking)
        one, other = (asking.folder.trace(next(asking.plan.cells()), name) for name in ("q1", "q2"))
        other.write_bytes(one.read_bytes())
        assert done(asking.folder) == [(3, [1.0])]
        newer = one.read_bytes().replace(b'"version":1', b'"version":9', 1)
        one.write_bytes(newer)
        with pytest.raises(BadInput, match="newer"):
            wait_for(bench(server, "standard"))
        assert one.read_bytes() == newer


def test_two_processes_do_not_ask_the_same_bench_and_what_one_added_stays() -> None:
    with StubServer(reply=" 1889.") as server:
        first, second = bench(server, "standard"), bench(server, "retrieve-then-read")
        with first.folder.held():
            for asking in (first, second):
                with pytest.raises(BadInput, match="Another process"):
                    wait_for(asking)
        assert not first.folder.exists
        wait_for(first)
        wait_for(second)
        assert [method.name for method in first.folder.plan().methods] == ["standard", "retrieve-then-read"]
        assert len(server.posts) == 8


def test_what_failed_because_the_model_was_gone_has_no_score_and_a_prompt_too_long_has() -> None:
    questions = tuple(Question(name, "Who?", ("1889",)) for name in ("fine", "gone", "long"))
    folder, cell = begun(Path("bench"), questions, ["react"]), Cell("t", "m", "react")
    put(folder, cell, "fine", RIGHT)
    for name, error in (("gone", ModelError("It is gone.")), ("long", ContextTooLong("Too long."))):
        with TraceWriter(folder.trace(cell, name)) as told:
            told(Event("r", 0, 0.0, Span("", 0), Opened("q", {})))
            told(Event("r", 1, 0.5, Span("", 1), Failed(error)))
            told(Event("r", 2, 1.0, Span("", 0), Closed(Answer("", "failed", "model_error"))))
    found = score(folder, find(["em"]))
    assert found.values[cell]["em"] == {"fine": 1.0, "long": 0.0}
    assert found.unfinished[cell] == ("gone",)


def test_a_model_that_is_gone_for_a_while_spoils_no_score() -> None:
    with StubServer(reply=" 1889.") as server:
        server.faults.extend([broken(400)] * 2)
        asking = bench(server, "standard")
        wait_for(asking)
        assert done(asking.folder) == [(2, [1.0])]
        wait_for(bench(server, "standard"))
        assert done(asking.folder) == [(4, [1.0])]
        assert len(server.posts) == 6


def test_a_run_that_cannot_begin_is_told_and_stops_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"question": text, "answers": ["1889"]} for text in ("When?", "h" * 30_000)]
    Path("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with StubServer(reply=" 1889.") as server:
        words = ["bench", "run", "q.jsonl", "--library", "sample", "--strategy", "standard", "--yes"]
        assert main([*words, "--model", f"{server.url}#stub"]) == 2
    out, err = capsys.readouterr()
    assert "1 of 2" in out
    assert "1 run could not begin" in err
    assert "30,000 characters" in err


def test_a_bench_stops_when_its_runs_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: TraceWriter, file: Any, data: bytes) -> None:
        if b"Closed" in data:
            raise OSError(28, "No space left on device")
        file.write(data)

    many = replace(MINE, questions=tuple(Question(f"q{n}", f"Tower {n}?", ("1889",)) for n in range(50)))
    with StubServer(reply=" 1889.") as server:
        with monkeypatch.context() as spoilt:
            spoilt.setattr(TraceWriter, "_append", full)
            with pytest.raises(EnvironmentFault, match="cannot be kept"):
                wait_for(bench(server, "standard", task=many))
        assert len(server.posts) == 1
        wait_for(bench(server, "standard", task=many))
        assert len(server.posts) == 50


def test_a_strategy_that_raises_is_its_own_failure_and_stops_no_other() -> None:
    @sleuth.strategy("raises")
    def raises(question: str) -> Any:
        raise ZeroDivisionError
        yield

    with StubServer(reply=" 1889.") as server:
        asking = bench(server, "raises", "standard")
        wait_for(asking)
    assert done(asking.folder) == [(4, [0.0]), (4, [1.0])]
    assert not asking.refused


@pytest.mark.parametrize("wrong", [5, None, Answer(None, "answered", "final_answer")])  # type: ignore[arg-type]
def test_what_is_no_answer_is_a_failure_and_never_scored_as_one(wrong: Any) -> None:
    @sleuth.strategy("answers-nothing")
    def nothing(question: str) -> Any:
        yield from search(question)
        return wrong

    gold = replace(MINE, questions=(Question("q", "Who?", ("5", "None")),))
    with StubServer(reply=" 5.") as server:
        asking = bench(server, "answers-nothing", task=gold)
        wait_for(asking)
        for _ in range(2):
            [outcome] = sleuth.batch(["Who?"], strategy="answers-nothing", model=f"{server.url}#stub", library="sample")
            assert isinstance(outcome.error, WrongUse)
    assert done(asking.folder) == [(1, [0.0])]


def test_an_endless_number_is_scored_at_once() -> None:
    record, began = Record(answer=Answer("9" * 20_000, "answered", "final_answer")), time.monotonic()
    for metric in TABLE.values():
        metric.score(record, MINE.questions[0])
    assert time.monotonic() - began < 2


def test_a_damaged_bench_hides_no_other_in_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b", "c"):
        begun(Path(name), (Question("q", "Who?", ("x",)),), ["react"])
    Path("b/bench.json").write_text("{")
    assert main(["bench", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["bench"] for each in found] == ["a", "b", "c"]
    assert "damaged" in found[1]["done"]
    assert found[2]["done"] == "0 of 1 runs"


def test_a_line_too_deep_in_what_was_blamed_is_told(tmp_path: Path) -> None:
    folder = begun(tmp_path, (Question("q", "Who?", ("x",)),), ["react"])
    (tmp_path / "blame.jsonl").write_text(DEEP)
    with suppress(BadInput):  # or passed over
        read(folder)


def test_every_module_of_commands_is_there() -> None:
    assert set(COMMANDS) <= set(app)
