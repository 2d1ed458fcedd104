"""``sleuth plan``: a plan drawn, checked, priced, saved, edited and run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.homes import private
from tests.support.stub_server import StubServer

import sleuth
from sleuth import Budget, Script, Shelf
from sleuth.app import planning
from sleuth.app.planning import read_plan, write_plan
from sleuth.cli import main
from sleuth.errors import BadInput, BadReply, BudgetExceeded, ModelError
from sleuth.guards.plans import from_json
from sleuth.types import Generate

Capture = pytest.CaptureFixture[str]
QUESTION = "How did the stock of Varrow and its rivals react after it cut prices?"
STEPS: list[dict[str, Any]] = [
    {"id": "s1", "query": "When did Varrow cut prices?", "depends_on": []},
    {"id": "s2", "query": "How did the stock of Varrow react on {s1.date}?", "depends_on": ["s1"]},
    {"id": "s3", "query": "How did rivals of Varrow react after {s1.date}?", "depends_on": ["s1"]},
    {"id": "s4", "query": "Synthesize {s2} and {s3}", "depends_on": ["s2", "s3"]},
]
LOOSE = [*STEPS[:2], {"id": "s3", "query": "How did rivals of Varrow react?", "depends_on": ["s1"]}]
CYCLE = [{**STEPS[0], "depends_on": ["s2"]}, STEPS[1], {**STEPS[2], "depends_on": ["s9"]}]


def written(steps: list[dict[str, Any]]) -> str:
    return json.dumps({"steps": steps})


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    return private(monkeypatch, tmp_path)


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer(reply=f" {written(STEPS)}") as running:
        yield running


def run(capsys: Capture, server: StubServer, *words: str, command: str = "plan") -> tuple[int, str, str]:
    status = main([command, *words, "--model", f"{server.url}#stub"])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_the_plan_shows_its_steps_their_order_and_what_a_run_costs(capsys: Capture, server: StubServer) -> None:
    status, out, _ = run(capsys, server, QUESTION)
    lines = out.splitlines()
    assert status == 0
    assert lines[0] == "s1  When did Varrow cut prices?"
    assert lines[2] == "    after s1"
    assert "s4  Synthesize {s2} and {s3}  (not searched)" in lines
    assert "order    s1 then s2 and s3 then s4" in lines
    assert "finding  s4 puts the answers together: it is not searched." in lines
    assert any(line.startswith("run      about ") and "calls and" in line for line in lines)
    assert len(server.posts) == 1


def test_what_the_output_says_is_not_told_on_the_way_and_a_repair_is(capsys: Capture, server: StubServer) -> None:
    replies = iter([written(CYCLE), written(STEPS)])
    server.reply = lambda _: next(replies)
    _, out, err = run(capsys, server, QUESTION)
    assert out.count("puts the answers together") == 1
    assert [line.split(":")[0].strip() for line in err.splitlines()] == ["repair"]


def test_planning_looks_nothing_up_and_keeps_no_run(capsys: Capture, server: StubServer, home: Path) -> None:
    run(capsys, server, QUESTION)
    assert not (home / "runs").exists()
    assert not (home / "libraries").exists()


def test_the_plan_for_machines(capsys: Capture, server: StubServer) -> None:
    status, out, _ = run(capsys, server, QUESTION, "--json")
    told = json.loads(out)
    assert status == 0
    assert set(told) == {"question", "steps", "groups", "findings", "estimate", "usage"}
    assert told["question"] == QUESTION
    assert told["groups"] == [["s1"], ["s2", "s3"], ["s4"]]
    assert [step["depends_on"] for step in told["steps"]] == [[], ["s1"], ["s1"], ["s2", "s3"]]
    assert told["steps"][3]["synthesis"] is True
    assert told["estimate"]["calls"] >= 5
    assert told["estimate"]["tokens"] > 1000
    assert told["usage"]["calls"] == 1
    assert {finding["code"] for finding in told["findings"]} == {"synthesis"}


def test_the_json_of_a_plan_is_itself_a_plan_file(capsys: Capture, server: StubServer) -> None:
    _, out, _ = run(capsys, server, QUESTION, "--json")
    Path("whole.json").write_text(out)
    assert read_plan(Path("whole.json")).json == sleuth.plan(QUESTION, model=Script([written(STEPS)])).json


def test_the_plan_as_a_mermaid_flowchart(capsys: Capture, server: StubServer) -> None:
    _, out, _ = run(capsys, server, QUESTION, "--mermaid")
    assert out.startswith("flowchart TD\n")
    assert out.count("-->") == 4


def test_a_plan_is_saved_edited_shown_again_and_run(capsys: Capture, server: StubServer) -> None:
    status, _, err = run(capsys, server, QUESTION, "--output", "plan.json")
    assert status == 0
    assert "Saved: plan.json" in err
    text = Path("plan.json").read_text()
    assert [step.id for step in from_json(text).steps] == ["s1", "s2", "s3", "s4"]
    Path("plan.json").write_text(text.replace("When did Varrow cut prices?", "Which day did Varrow cut prices?"))
    posts = len(server.posts)
    _, out, _ = run(capsys, server, "--file", "plan.json")
    assert out.startswith("s1  Which day did Varrow cut prices?")
    assert len(server.posts) == posts
    server.reply = lambda _: " 12 May 2021"
    status, out, _ = run(capsys, server, QUESTION, "--plan", "plan.json", "--json", command="ask")
    told = json.loads(out)
    assert (status, told["strategy"]) == (0, "plan-and-solve")
    assert "Which day did Varrow cut prices?" in {hop["question"] for hop in told["hops"]}
    assert len(told["hops"]) == 3
    assert not any("Output as JSON" in json.dumps(post.body) for post in server.posts[posts:])
    assert main(["runs", "replay", told["run"]]) == 0


def test_a_plan_that_cannot_be_saved_after_all_is_shown(
    capsys: Capture, server: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "check_new", lambda path: None)
    status, out, err = run(capsys, server, QUESTION, "--output", "gone/plan.json")
    assert status == 2
    assert out.startswith("s1  When did Varrow cut prices?")
    assert "cannot be written to gone/plan.json" in err


def test_a_read_only_folder_is_told_before_the_model_is_asked(
    capsys: Capture, server: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    status, _, err = run(capsys, server, QUESTION, "--output", "plan.json")
    assert (status, server.posts) == (2, [])
    assert "read-only" in err


def test_a_file_without_an_end_is_no_plan(capsys: Capture, server: StubServer) -> None:
    status, _, err = run(capsys, server, "--file", "/dev/zero")
    assert status == 2
    assert "larger than 1,000,000 bytes" in err


def test_a_plan_that_an_editor_saved_with_a_byte_order_mark_is_read(capsys: Capture, server: StubServer) -> None:
    Path("plan.json").write_text(f"\ufeff{written(STEPS)}")
    assert run(capsys, server, "--file", "plan.json")[0] == 0


def test_a_plan_file_is_not_written_over(capsys: Capture, server: StubServer) -> None:
    Path("plan.json").write_text("mine")
    status, out, err = run(capsys, server, QUESTION, "--output", "plan.json")
    assert (status, out) == (2, "")
    assert "it exists already" in err
    assert server.posts == []
    with pytest.raises(BadInput, match="cannot be written"):
        write_plan(sleuth.plan(QUESTION, model=Script([written(STEPS)])), Path("plan.json"))
    assert Path("plan.json").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (written(CYCLE), ["plan.json cannot be run", "s9, which is no step", "s1 -> s2 -> s1"]),
        (written([]), ["plan.json", "holds no steps"]),
        ("no plan at all", ["plan.json", "holds no steps"]),
        (written([STEPS[0]] * 2), ["The id s1 is used twice"]),
        (None, ["plan.json cannot be read"]),
        ("\udcff", ["plan.json cannot be read", "not UTF-8"]),
    ],
)
@pytest.mark.parametrize("words", [("plan", "--file", "plan.json"), ("ask", QUESTION, "--plan", "plan.json")])
def test_a_wrong_plan_file_is_status_2_and_one_paragraph_with_all_findings(
    capsys: Capture, server: StubServer, words: tuple[str, ...], text: str | None, says: list[str]
) -> None:
    if text is not None:
        Path("plan.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    status, out, err = run(capsys, server, *words[1:], command=words[0])
    assert (status, out) == (2, "")
    assert err.startswith("Error: ")
    assert len(err.strip().splitlines()) == 1, err
    for part in says:
        assert part in err
    assert server.posts == []


def test_a_plan_for_a_strategy_that_takes_none_is_told(capsys: Capture, server: StubServer) -> None:
    Path("plan.json").write_text(written(STEPS))
    words = (QUESTION, "--plan", "plan.json", "--strategy", "standard")
    status, _, err = run(capsys, server, *words, command="ask")
    assert status == 2
    assert "no parameter 'plan'" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("",), "The question is empty"),
        ((QUESTION, "--steps", "0"), "leaves nothing to plan"),
        ((QUESTION, "--json", "--mermaid"), "two forms of one output"),
        ((QUESTION, "--output", "no/plan.json"), "no such folder"),
    ],
)
def test_wrong_use_is_status_2(capsys: Capture, server: StubServer, words: tuple[str, ...], says: str) -> None:
    status, _, err = run(capsys, server, *words)
    assert status == 2
    assert says in err


def test_a_plan_that_cannot_be_run_twice_is_status_1_and_says_why(capsys: Capture, server: StubServer) -> None:
    server.reply = lambda _: written(CYCLE)
    status, out, err = run(capsys, server, QUESTION)
    assert (status, out) == (1, "")
    assert "s9, which is no step" in err.splitlines()[-1]
    assert len(server.posts) == 2


# --- from Python --------------------------------------------------------------------------------------------------


def test_a_plan_in_python_is_a_value_that_can_be_run() -> None:
    drawn = sleuth.plan(QUESTION, model=Script([written(STEPS)]))
    assert [step.id for step in drawn.plan.steps] == ["s1", "s2", "s3", "s4"]
    assert drawn.groups == (("s1",), ("s2", "s3"), ("s4",))
    assert [finding.code for finding in drawn.findings] == ["synthesis"]
    assert drawn.usage.calls == 1
    shelf = Shelf({"Varrow": "Varrow cut prices on 12 May 2021."})
    for plan in (drawn.json, drawn.plan):
        answer = sleuth.ask(
            QUESTION, strategy="plan-and-solve", plan=plan, model=Script(lambda _: " 12 May 2021"), library=shelf
        )
        assert answer.status == "answered"
        assert len(answer.hops) == 3


def test_the_findings_are_those_of_the_plan_that_stands_after_a_repair() -> None:
    drawn = sleuth.plan(QUESTION, model=Script([written(CYCLE), written(LOOSE)]))
    assert [(finding.code, finding.step) for finding in drawn.findings] == [("not_referenced", "s3")]
    assert drawn.usage.calls == 2


def test_failures_are_raised_as_what_they_are() -> None:
    with pytest.raises(BadReply, match="cannot be run"):
        sleuth.plan(QUESTION, model=Script(["no plan", "none either"]))
    with pytest.raises(ModelError, match="down"):
        sleuth.plan(QUESTION, model=Script([ModelError("down")]))
    with pytest.raises(BadInput, match="empty"):
        sleuth.plan(" ", model=Script([]))


def test_limits_hold_and_nothing_is_kept_back_for_an_answer() -> None:
    assert sleuth.plan(QUESTION, model=Script([written(STEPS)]), budget=Budget(calls=1)).usage.calls == 1
    with pytest.raises(BudgetExceeded):
        sleuth.plan(QUESTION, model=Script([written(CYCLE), written(STEPS)]), budget=Budget(calls=1))
    used = sleuth.plan(QUESTION, model=Script([written(STEPS)])).usage
    reserved = used.read + 13 * 60
    assert (
        sleuth.plan(QUESTION, model=Script([written(STEPS)]), budget=Budget(tokens=reserved)).usage.tokens
        == used.tokens
    )
    with pytest.raises(BudgetExceeded):
        sleuth.plan(QUESTION, model=Script([written(STEPS)]), budget=Budget(tokens=used.read))


def test_the_planning_is_the_strategys_own() -> None:
    """What `plan` shows is what plan-and-solve would do: the same first request."""

    def first(script: Script) -> Generate:
        return script.requests[0]

    one, other = Script([written(STEPS)]), Script(lambda _: written(STEPS))
    sleuth.plan(QUESTION, model=one)
    sleuth.ask(QUESTION, strategy="plan-and-solve", model=other, library=Shelf({}))
    assert first(one) == first(other)
