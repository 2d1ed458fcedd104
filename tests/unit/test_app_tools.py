"""Tools in a run: given by name or as functions, told to strategies, kept in traces, replayed and resumed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.homes import private
from tests.support.stub_server import StubServer

import sleuth
from sleuth.app import compose, runs, tools
from sleuth.cli import main
from sleuth.errors import BadInput, ToolError, UnknownName
from sleuth.events import Closed, Opened
from sleuth.trace import read_trace
from sleuth.types import Answer, Flow, ToolSpec


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def double(n: int) -> int:
    """Twice the number."""
    called.append(n)
    return 2 * n


called: list[int] = []
FILE = '''
import sleuth

def triple(n: int) -> int:
    """Three times the number."""
    return 3 * n

@sleuth.tool
def quadruple(n: int) -> int:
    """Four times the number."""
    return 4 * n

seven = 7
'''


def by_name(question: str) -> Flow[Answer]:
    """Call the tools that the question names, each with its arguments; then one call."""
    said = []
    for line in question.splitlines():
        name, _, arguments = line.partition(" ")
        try:
            said.append((yield from sleuth.call(name, arguments)).text)
        except ToolError as error:
            said.append(error.message)
    reply = yield from sleuth.generate([sleuth.Message("user", question)])
    return Answer(", ".join(said) + reply.text, "answered", "final_answer")


def offered(question: str, *, tools: tuple[ToolSpec, ...] = ()) -> Flow[Answer]:
    """Say which tools are offered."""
    yield from sleuth.note("offered")
    return Answer(", ".join(spec.name for spec in tools), "answered", "final_answer")


def ask(question: str, strategy: Any = by_name, model: Any = None, **more: Any) -> Answer:
    model = model or sleuth.Script(["!"])
    return sleuth.ask(question, strategy=strategy, model=model, library=sleuth.Shelf({}), **more)


def last_trace(home: Path) -> Path:
    return max((home / "runs").iterdir())


def about(home: Path) -> Mapping[str, Any]:
    body = read_trace(last_trace(home))[0].body
    assert isinstance(body, Opened)
    return body.about


# --- given ----------------------------------------------------------------------------------------------------------


def test_names_functions_and_tools_are_usable_in_one_run() -> None:
    question = 'calculator {"expression": "20% of 50"}\ndates {"expression": "1889 - 1837"}\ndouble {"n": 21}'
    answer = ask(question, tools=["Calculator", "dates", double])
    assert answer.text == "10, 52 years by the years alone, from 1837 to 1889, 42!"


def test_all_three_faces_take_tools() -> None:
    question, more = 'double {"n": 21}', {"strategy": by_name, "library": sleuth.Shelf({})}

    async def watch() -> tuple[str, str]:
        answer = await sleuth.aask(question, model=sleuth.Script(["!"]), tools=[double], **more)
        run = sleuth.stream(question, model=sleuth.Script(["!"]), tools=double, **more)
        closed = [event.body async for event in run][-1]
        assert isinstance(closed, Closed)
        return answer.text, closed.answer.text

    assert asyncio.run(watch()) == ("42!", "42!")


def test_a_flow_with_a_parameter_for_tools_is_told_of_them_in_order() -> None:
    assert ask("Which?", offered, tools=[double, "dates"]).text == "double, dates"
    assert ask("Which?", offered, tools="calculator").text == "calculator"
    assert ask("Which?", offered).text == ""


def test_a_tool_of_ones_own_making_needs_a_spec() -> None:
    class Bare:
        name = "bare"

        async def call(self, arguments: str, *, report: Any) -> str:
            return arguments

    class Told(Bare):
        spec = ToolSpec("bare", "Says the same.")

    class Other(Bare):
        spec = ToolSpec("other", "Says the same.")

    assert ask('bare {"x": 1}', tools=[Told()]).text == '{"x": 1}!'
    with pytest.raises(BadInput, match=r"A Bare is no tool. Give a function with type hints, a tool with a spec"):
        ask("bare", tools=[Bare()])
    with pytest.raises(BadInput, match=r"'other'.* differ"):
        ask("bare", tools=[Other()])


def test_what_is_no_tool_is_told_before_anything_starts(home: Path) -> None:
    for given, error, why in [
        (["calculater"], UnknownName, "no tool named 'calculater'. Did you mean 'calculator'.*FILE.py:function"),
        ([3], BadInput, "A int is no tool"),
        (3, BadInput, "A int is no tool"),
        ([double, double], BadInput, "two tools named 'double'"),
        ([lambda x: x], BadInput, "Give name="),
    ]:
        with pytest.raises(error, match=why):
            ask("Which?", offered, tools=given)
    assert not (home / "runs").exists()


def test_a_packaged_strategy_without_tools_says_which_have_them() -> None:
    with pytest.raises(BadInput, match=r"'retrieve-then-read' uses no tools. Strategies that do: .*react"):
        ask("When?", "retrieve-then-read", tools=["dates"])


@pytest.mark.parametrize("strategy", ["react", "plan-and-solve"])
def test_a_tool_named_like_an_action_is_told_before_anything_starts(strategy: str) -> None:
    def search(text: str) -> str:
        return text

    model = sleuth.Script([])
    with pytest.raises(BadInput, match="cannot be named 'search'"):
        ask("When?", strategy, model, tools=search)
    assert model.requests == []


def test_a_function_of_a_file_is_a_tool() -> None:
    Path("own.py").write_text(FILE)
    assert ask('triple {"n": 2}\nquadruple {"n": 2}', tools=["own.py:triple", "own.py:quadruple"]).text == "6, 8!"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("away.py:f", "There is no file .*away.py"),
        ("own.py:none", "no function 'none' in .*own.py. Functions there: .*triple"),
        ("own.py:seven", "no function 'seven'"),
        ("bad.py:f", "bad.py cannot be run: SyntaxError"),
        ("exits.py:f", "exits.py cannot be run: SystemExit: 4"),
        ("untyped.py:f", "has no type"),
    ],
)
def test_a_file_that_has_no_such_tool_is_told(name: str, why: str) -> None:
    for file, text in {"own": FILE, "bad": "def", "exits": "raise SystemExit(4)", "untyped": "def f(a): ..."}.items():
        Path(f"{file}.py").write_text(text)
    with pytest.raises(BadInput, match=why):
        tools.find([name])


# --- in traces ------------------------------------------------------------------------------------------------------


def test_a_trace_tells_the_tools_and_a_replay_calls_none(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sleuth.strategy("by-name")(by_name)
    called.clear()
    question = 'double {"n": 5}\ncalculator {"expression": "1/0"}'
    ask(question, "by-name", tools=[double, "calculator"])
    assert called == [5]
    assert about(home)["tools"]["double"] == {
        "from": "given",
        "description": "Twice the number.",
        "parameters": tools.find(double)[0].spec.parameters,
    }
    replayed = runs.replay(last_trace(home))
    assert (replayed.same, replayed.answer.text) == (True, "10, Something is divided by zero.!")
    assert called == [5]
    assert main(["runs", "show", last_trace(home).stem]) == 0
    assert "double (given), calculator (built in)" in capsys.readouterr().out


def test_a_strategy_that_is_told_of_tools_replays_without_them(home: Path) -> None:
    sleuth.strategy("offered")(offered)
    ask("Which?", "offered", tools=[double])
    assert runs.replay(last_trace(home)).same


def interrupted(home: Path) -> Path:
    """The trace of a finished run, cut before its last model call."""
    lines = last_trace(home).read_text().splitlines(keepends=True)
    calls = [number for number, line in enumerate(lines) if '"Generate"' in line]
    path = home / "runs" / "19990101-000000-000000-abcdef.jsonl"
    path.write_text("".join(lines[: calls[-1]]).replace(last_trace(home).stem, path.stem))
    return path


def test_a_resume_finds_built_in_tools_and_wants_functions_again(home: Path) -> None:
    sleuth.strategy("by-name")(by_name)
    Path("own.py").write_text(FILE)
    with StubServer(reply=" done") as server:
        model = f"{server.url}#stub"
        sleuth.ask('calculator {"expression": "6*7"}', strategy="by-name", model=model, tools=["calculator"])
        assert [each.spec.name for each in runs.resumed(interrupted(home)).tools] == ["calculator"]
        called.clear()
        sleuth.ask('double {"n": 5}', strategy="by-name", model=model, tools=[double, "dates"])
        path = interrupted(home)
        with pytest.raises(
            BadInput, match=r"used the tool 'double', a function that its trace does not hold.*--tool FILE"
        ):
            runs.resumed(path)
        with pytest.raises(BadInput, match="did not have: calculator"):
            runs.resumed(path, tools=["calculator"])
        order = runs.resumed(path, tools=[double])
        assert [each.spec.name for each in order.tools] == ["double", "dates"]
        assert compose_and_wait(order).text == "10 done"
    assert called == [5]


def test_a_function_named_like_a_built_in_tool_is_not_taken_for_it(home: Path) -> None:
    sleuth.strategy("by-name")(by_name)
    with StubServer(reply=" done") as server:
        own = sleuth.tool(double, name="calculator")
        sleuth.ask('calculator {"n": 5}', strategy="by-name", model=f"{server.url}#stub", tools=[own])
        with pytest.raises(BadInput, match="'calculator', a function"):
            runs.resumed(interrupted(home))


def compose_and_wait(order: compose.Order) -> Answer:
    from sleuth.app.asking import wait_for

    return wait_for(order)


def test_a_resume_runs_no_file_that_a_trace_names(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sleuth.strategy("by-name")(by_name)
    Path("own.py").write_text(FILE)
    with StubServer(reply=" done") as server:
        sleuth.ask('triple {"n": 5}', strategy="by-name", model=f"{server.url}#stub", tools=["own.py:triple"])
        path = interrupted(home)
        Path("own.py").write_text("raise AssertionError('it was run')")
        assert main(["runs", "resume", path.stem]) == 2
        assert "own.py:triple" in capsys.readouterr().err
        Path("mine.py").write_text(FILE)
        assert main(["runs", "resume", path.stem, "--tool", "mine.py:triple"]) == 0
        assert capsys.readouterr().out.startswith("15 done")


# --- on the command line --------------------------------------------------------------------------------------------


def test_the_command_line_takes_tools(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.py").write_text(FILE)
    words = ["ask", "How much is 20% of 8,848?", "--strategy", "react", "--setting", "paper", "--json"]
    replies = iter([" Calculate it.\nAction 1: Calculator[20% of 8,848]", " Done.\nAction 2: Finish[1769.6]"])
    with StubServer(reply=lambda body: next(replies)) as server:
        status = main([*words, "--model", f"{server.url}#stub", "--tool", "calculator", "--tool", "own.py:triple"])
        prompt = str(server.posts[-1])
    made = json.loads(capsys.readouterr().out)
    assert (status, made["answer"]) == (0, "1769.6")
    assert list(made["tools"]) == ["calculator", "triple"]
    assert "Triple[n]: Three times the number." in prompt
    assert "Calculator[20% of 8,848]" in prompt


LOUD = '''
print("loaded")

def loud(n: int) -> int:
    """Says so."""
    print("called")
    return n
'''


@pytest.mark.parametrize("words", [("ask", "How many?", "--strategy"), ("compare", "How many?", "--strategies")])
def test_what_a_tool_prints_is_no_part_of_the_result(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    Path(f"{words[0]}.py").write_text(LOUD)
    with StubServer(reply=" Count.\nAction 1: Loud[3]") as server:
        main([*words, "react", "--model", f"{server.url}#stub", "--tool", f"{words[0]}.py:loud", "--json"])
    told = capsys.readouterr()
    json.loads(told.out)
    assert "loaded" in told.err
    assert "called" in told.err


def test_parameters_are_told_to_machines_by_their_fields(capsys: pytest.CaptureFixture[str]) -> None:
    with StubServer(reply=" Done.\nAction 1: Finish[3]") as server:
        words = ["ask", "How many?", "--strategy", "react", "--model", f"{server.url}#stub"]
        main([*words, "--tool", "dates", "--guard", "compress=7", "--json"])
    params = json.loads(capsys.readouterr().out)["params"]
    assert params["tools"][0]["name"] == "dates"
    assert params["guards"]["compress"] == 7


def test_tools_are_no_plain_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            ["ask", "When?", "--strategy", "react", "--param", "tools=calculator", "--model", "http://127.0.0.1:9/v1#x"]
        )
        == 2
    )
    assert "--tool calculator" in capsys.readouterr().err
