"""A Python function as a tool: what a model is told of it, what it is given, and what becomes of its results and faults."""

from __future__ import annotations

import contextvars
import dataclasses
import datetime
import functools
import itertools
import json
import threading
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

import anyio
import anyio.lowlevel
import pytest

import sleuth
from sleuth.errors import BadInput, SourceError, ToolError
from sleuth.sources.functions import FunctionTool, tool


@dataclasses.dataclass
class Place:
    """Somewhere."""

    name: str
    height: int = 0


def told(made: FunctionTool[..., Any], arguments: Any = None) -> str:
    """The result of a call."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return anyio.run(functools.partial(made.call, text, report=lambda *_, **__: None))


# --- what a model is told -------------------------------------------------------------------------------------------


def test_name_description_and_schema_come_from_the_function() -> None:
    @tool
    def weather(city: str, days: int = 3, *, unit: Literal["C", "F"] = "C", note: str | None = None) -> str:
        """Forecast the weather
        of a city.

        It is made up.

        Args:
            city: its name, in English
            days (int): how many days on
        Returns:
            note: not a parameter's words
        """
        return f"{city} {days} {unit} {note}"

    assert weather.name == weather.spec.name == "weather"
    assert weather.spec.description == "Forecast the weather of a city."
    assert json.loads(weather.spec.parameters) == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "its name, in English"},
            "days": {"type": "integer", "description": "how many days on", "default": 3},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert told(weather, {"city": "Ys"}) == "Ys 3 C None"


def test_it_stays_the_function_it_was() -> None:
    @sleuth.tool(name="plus", description="Adds.", timeout=5, most=10)
    def add(a: int, b: int) -> int:
        """Not this."""
        return a + b

    assert add(1, b=2) == 3
    assert (add.spec.name, add.spec.description, add.timeout, add.most) == ("plus", "Adds.", 5, 10)
    assert sleuth.tool(len_of).name == "len_of"
    assert repr(add) == "<tool plus>"


def len_of(text: Annotated[str, "any text"]) -> int:
    return len(text)


def test_without_a_docstring_the_name_describes_it() -> None:
    assert tool(len_of).spec.description == "len of"
    assert json.loads(tool(len_of).spec.parameters)["properties"]["text"]["description"] == "any text"


def test_parameters_may_be_named_as_pydantics_own_things_are() -> None:
    @tool
    def odd(schema: str, copy: int, model_config: int, title: str = "t", _hidden: int = 1) -> str:
        return f"{schema}{copy}{model_config}{title}{_hidden}"

    assert told(odd, {"schema": "s", "copy": 1, "model_config": 2, "_hidden": 3}) == "s12t3"
    assert list(json.loads(odd.spec.parameters)["properties"]) == ["schema", "copy", "model_config", "title", "_hidden"]


def test_dataclasses_dates_and_lists_are_read_and_written_as_json() -> None:
    @tool
    def moved(place: Place, on: datetime.date, by: list[int]) -> list[Any]:
        return [dataclasses.replace(place, height=sum(by)), on + datetime.timedelta(1), {"é"}]

    result = told(moved, {"place": {"name": "Ys"}, "on": "1889-03-31", "by": [1, 2]})
    assert result == '[{"name": "Ys", "height": 3}, "1889-04-01", ["é"]]'


def test_methods_and_callable_objects_are_functions_too() -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = 0

        def add(self, n: int) -> int:
            """Add to the total."""
            self.total += n
            return self.total

        def __call__(self, n: int) -> int:
            return -n

    counter = Counter()
    adding = tool(counter.add)
    assert (told(adding, {"n": 2}), told(adding, {"n": 3}), counter.total) == ("2", "5", 5)
    assert told(tool(counter, name="negate"), {"n": 2}) == "-2"


def test_a_wrapped_function_is_told_by_what_it_wraps() -> None:
    @functools.wraps(len_of)
    def wrapper(*args: Any, **kwargs: Any) -> int:
        return 10 * len_of(*args, **kwargs)

    assert tool(wrapper).spec == tool(len_of).spec
    assert told(tool(wrapper), {"text": "abc"}) == "30"


def test_a_result_type_that_only_a_type_checker_knows_is_no_matter() -> None:
    def gives(n: int) -> Nowhere:  # type: ignore[name-defined]  # noqa: F821
        return n

    assert told(tool(gives), {"n": 1}) == "1"


# --- what no model could call ---------------------------------------------------------------------------------------


def untyped(a, b: int):  # type: ignore[no-untyped-def]
    return a


def starred(*a: int) -> None: ...


def keyed(**a: int) -> None: ...


def positional(a: int, /) -> None: ...


def unknown(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def passed(a: Callable[[int], int]) -> None: ...


def handle(a: threading.Lock) -> None: ...


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (untyped, "parameter 'a' of the tool untyped has no type. Write a: str"),
        (starred, r"takes '\*a', which a model cannot fill in.*no \*args"),
        (keyed, r"takes '\*\*a'"),
        (positional, "nothing before a /"),
        (unknown, "type hints of unknown cannot be read.*Nowhere"),
        (passed, "a type that cannot be told as JSON.*Use str"),
        (handle, "a type that cannot be told as JSON"),
        (lambda: 1, "called '<lambda>'. Give name="),
        (Place, "is no function"),
        (3, "is no function"),
    ],
)
def test_a_definition_that_no_model_could_call_is_refused_at_once(function: Any, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        tool(function)


def test_a_tool_of_a_tool_a_bad_name_and_no_time_are_refused() -> None:
    with pytest.raises(BadInput, match="is a tool already"):
        tool(tool(len_of))
    with pytest.raises(BadInput, match="called 'two words'"):
        tool(len_of, name="two words")
    with pytest.raises(BadInput, match="more than none"):
        tool(len_of, timeout=0)


# --- calls ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"text": 3}, "The arguments of len_of do not fit: text: input should be a valid string. It takes: text"),
        ({}, "text: field required"),
        ({"text": "x", "more": 1}, "more: extra inputs are not permitted"),
        ("[1]", "should be an object"),
        ("text", "invalid JSON"),
    ],
)
def test_wrong_arguments_are_a_tool_error_that_says_what_is_wrong(arguments: Any, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        told(tool(len_of), arguments)


class Odd(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such city"), "The tool broken failed: ValueError: no such city"),
        (KeyError("Ys"), "The tool broken failed: KeyError: 'Ys'"),
        (Odd(), "The tool broken failed: Odd"),
        (StopIteration("over"), "The tool broken failed: StopIteration: over"),
        (SystemExit(3), "The tool broken failed: SystemExit: 3"),
        (KeyboardInterrupt(), "The tool broken failed: KeyboardInterrupt"),
        (SourceError("The page is away.", hint="Wait."), "The tool broken failed: The page is away. Wait."),
        (ToolError("Not today.", hint="Tomorrow."), "Not today. Tomorrow."),
        (ValueError("x\n" * 2000), "The tool broken failed: ValueError: x x"),
    ],
)
def test_what_the_function_raises_is_a_tool_error_with_its_text(error: BaseException, said: str) -> None:
    def plain() -> None:
        raise error

    async def asynchronous() -> None:
        raise error

    own = isinstance(error, StopIteration | KeyboardInterrupt)  # which Python keeps to itself in a coroutine
    for function in (plain,) if own else (plain, asynchronous):
        with pytest.raises(ToolError) as caught:
            told(tool(function, name="broken"))
        assert str(caught.value).startswith(said)
        assert len(str(caught.value)) < 500
        assert "Traceback" not in str(caught.value)


def test_a_plain_function_does_not_hold_up_the_loop() -> None:
    @tool
    def slow() -> str:
        time.sleep(0.3)
        return threading.current_thread().name

    async def beside() -> tuple[str, int]:
        ticks, result = 0, ""

        async def call() -> None:
            nonlocal result
            result = await slow.call("{}", report=lambda *_, **__: None)
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            while True:
                await anyio.sleep(0.01)
                ticks += 1
        return result, ticks

    result, ticks = anyio.run(beside)
    assert result == "sleuth tool"
    assert ticks > 10


def test_a_call_that_never_ends_is_cut_by_its_timeout() -> None:
    never = threading.Event()

    def plain() -> str:
        never.wait(20)
        return "late"

    async def asynchronous() -> str:
        await anyio.sleep_forever()
        return "late"

    for function in (plain, asynchronous):
        made = tool(function, name="never", timeout=0.2)
        began = time.monotonic()
        with pytest.raises(ToolError, match=r"The tool never took longer than 0\.2 s"):
            told(made)
        assert time.monotonic() - began < 2
    never.set()


def test_a_result_without_end_is_cut_by_the_timeout_too() -> None:
    def endless() -> Any:
        while True:
            time.sleep(0.01)
            yield 1

    @tool(timeout=0.2)
    def numbers() -> Any:
        return endless()

    with pytest.raises(ToolError, match="took longer"):
        told(numbers)


def test_an_iterator_without_end_is_not_gathered_without_end() -> None:
    def numbers() -> Any:
        return itertools.count()

    assert told(tool(numbers, most=10)).startswith("[0, 1, 2,  [cut: ")


def test_a_plain_function_sees_the_callers_context() -> None:
    who = contextvars.ContextVar("who", default="nobody")

    @tool
    def asked_by() -> str:
        return who.get()

    who.set("me")
    assert told(asked_by) == "me"


def test_a_plain_function_that_gives_a_coroutine_is_awaited() -> None:
    async def later(n: int) -> int:
        await anyio.lowlevel.checkpoint()
        return n + 1

    def wrapped(n: int) -> Any:
        return later(n)

    assert told(tool(wrapped), {"n": 1}) == "2"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is\n", "as it is\n"),
        (None, "null"),
        (1.5, "1.5"),
        ({"é": [1, (2, 3)]}, '{"é": [1, [2, 3]]}'),
        (b"x", '"x"'),
        ("x" * 41, "x" * 40 + " [cut: 41 characters in all]"),
        ("half \ud83d", "half ?"),
    ],
)
def test_results_are_text_or_json_and_cut_where_it_shows(result: Any, text: str) -> None:
    def gives() -> Any:
        return result

    assert told(tool(gives, most=40)) == text


def test_a_result_that_is_no_json_is_a_tool_error() -> None:
    def gives() -> Any:
        return object()

    with pytest.raises(ToolError, match="its result, a object, cannot be written as JSON"):
        told(tool(gives))
