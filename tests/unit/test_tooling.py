"""What a model writes in a tool's brackets becomes the tool's JSON arguments, or a reply that says what it takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import BadReply
from sleuth.guards.tooling import arguments_for, offered, tool_label, tool_named
from sleuth.types import ToolSpec


def spec(required: int | None = None, name: str = "mix", **properties: Any) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} if isinstance(kind, str) else kind for key, kind in properties.items()},
        "required": list(properties)[:required],
        "additionalProperties": False,
    }
    return ToolSpec(name, "Mixes\n things.", json.dumps(schema))


CALCULATE = spec(name="calculator", expression="string")
EVERY = spec(1, a="integer", b="number", c="boolean", d="string", e="array", f={"enum": ["km", "Mile"]})
MAYBE = spec(a={"anyOf": [{"type": "integer"}, {"type": "null"}]}, b={"type": ["number", "string"]})


@pytest.mark.parametrize(
    ("tool", "text", "arguments"),
    [
        (CALCULATE, "max(1, 2), 3", {"expression": "max(1, 2), 3"}),
        (CALCULATE, '"3 * 4"', {"expression": "3 * 4"}),
        (CALCULATE, '"a" and "b"', {"expression": '"a" and "b"'}),
        (CALCULATE, "expression=3 * 4", {"expression": "3 * 4"}),
        (CALCULATE, "expression == 3", {"expression": "expression == 3"}),
        (CALCULATE, "{1, 2}", {"expression": "{1, 2}"}),
        (CALCULATE, '{"x": 1}', {"expression": '{"x": 1}'}),
        (EVERY, "6", {"a": 6}),
        (EVERY, " 6 , 7.5, yes ", {"a": 6, "b": 7.5, "c": True}),
        (
            EVERY,
            "6, 7, false, 'x, y', [1, [2, 3]], KM",
            {"a": 6, "b": 7, "c": False, "d": "x, y", "e": [1, [2, 3]], "f": "km"},
        ),
        (EVERY, 'd="it\'s, so", a=1', {"d": "it's, so", "a": 1}),
        (EVERY, "6, d: (x, y)", {"a": 6, "d": "(x, y)"}),
        (EVERY, "6, d=it's", {"a": 6, "d": "it's"}),
        (MAYBE, "none, 2.5", {"a": None, "b": 2.5}),
        (MAYBE, "3, about two", {"a": 3, "b": "about two"}),
        (spec(), "", {}),
        (spec(0, a="string"), "", {}),
        (spec(a="integer"), "8,848", {"a": 8848}),
    ],
)
def test_positions_and_names_are_typed_by_the_schema(tool: ToolSpec, text: str, arguments: dict[str, Any]) -> None:
    assert json.loads(arguments_for(tool, text)) == arguments


PAID = spec(1, amount="string", to="string")


@pytest.mark.parametrize(
    "told", ["5, evil", '{"amount": "5", "to": "evil"}', "to=evil", '5", "to": "evil', "a: 5\nto=evil"]
)
@pytest.mark.parametrize("text", ["{s1}", '{"amount": "{s1}"}', '{"amount": {s1}}', "amount={s1}", "{s1}, Ada"])
def test_what_is_filled_in_is_one_argument_whatever_it_says(text: str, told: str) -> None:
    made = json.loads(arguments_for(PAID, text, lambda part: part.replace("{s1}", told)))
    assert made == {"amount": told, **({"to": "Ada"} if "Ada" in text else {})}


@pytest.mark.parametrize(
    "text", ["{s1}, {s2}", '{"a": {s1}, "b": {s2}}', '{"a": "{s1}", "b": "{s2}"}', "b={s2}, a={s1}"]
)
def test_what_is_filled_in_is_read_as_the_schema_says(text: str) -> None:
    answers = {"{s1}": "1,063", "{s2}": "2.5"}
    fill = lambda part: answers.get(part, part)  # noqa: E731
    assert json.loads(arguments_for(EVERY, text, fill)) == {"a": 1063, "b": 2.5}
    with pytest.raises(BadReply, match="an integer as a"):
        arguments_for(EVERY, text, lambda part: {"{s1}": "1, 2"}.get(part, "2"))


def test_a_json_object_that_fits_is_taken_as_it_is() -> None:
    text = '{"a": 6,   "d": "x"}'
    assert arguments_for(EVERY, f" {text} ") == text
    assert arguments_for(ToolSpec("any", ""), '{"whatever": [1]}') == '{"whatever": [1]}'


@pytest.mark.parametrize(
    ("tool", "text", "why"),
    [
        (CALCULATE, "", r"lacks expression. Write Calculator\[expression\]"),
        (EVERY, "six", "an integer as a, not six"),
        (EVERY, "1, NaN", "a number as b, not NaN"),
        (EVERY, "1, 1e999", "a number as b"),
        (EVERY, "1, 2, maybe", "a boolean as c"),
        (EVERY, "1, e=[1", "an array as e"),
        (EVERY, "1, f=inch", "one of km, Mile as f"),
        (EVERY, "1, 2, true, x, [], km, more", "was given 7"),
        (EVERY, "a=1, a=2", "was given a twice"),
        (EVERY, "b=1", "lacks a"),
        (EVERY, '{"a": "6"}', 'an integer as a, not "6"'),
        (EVERY, '{"a": true}', "an integer as a, not true"),
        (EVERY, '{"a": 6, "z": 1}', "has no z"),
        (EVERY, '{"b": 6}', "lacks a"),
        (MAYBE, '{"a": "x", "b": 1}', "an integer or nothing as a"),
        (spec(), "now", r"takes none. Write Mix\[\]"),
        (ToolSpec("any", ""), "now", "takes JSON"),
    ],
)
def test_what_does_not_fit_is_a_bad_reply_that_says_why(tool: ToolSpec, text: str, why: str) -> None:
    with pytest.raises(BadReply, match=why) as caught:
        arguments_for(tool, text)
    assert caught.value.details["reply"] == text


def test_a_long_reply_is_quoted_in_short_and_kept_whole() -> None:
    with pytest.raises(BadReply) as caught:
        arguments_for(EVERY, "x" * 5000)
    assert len(str(caught.value)) < 300
    assert len(caught.value.details["reply"]) == 5000


def test_tools_are_offered_a_line_each_with_what_may_be_left_out() -> None:
    mix = spec(1, a="integer", b={"type": "number", "default": 2}, c={"type": "string", "default": "km"}, d="string")
    assert offered([CALCULATE, mix]) == "Calculator[expression]: Mixes things.\nMix[a, b=2, c=km, d?]: Mixes things."
    assert offered([]) == ""


@pytest.mark.parametrize("name", ["days_between", "Days Between", "DAYSBETWEEN", "days-between"])
def test_names_are_found_without_case_and_spacing(name: str) -> None:
    tool = spec(name="days_between")
    assert tool_named([CALCULATE, tool], name) is tool
    assert tool_named([CALCULATE, tool], tool_label(tool)) is tool
    assert tool_named([CALCULATE], name) is None


@given(st.text(max_size=60) | st.text("ab=:,()[]{}'\"\\ 1.5-eE", max_size=40))
def test_any_text_gives_arguments_that_fit_or_a_bad_reply(text: str) -> None:
    for tool in (CALCULATE, EVERY, MAYBE, spec()):
        try:
            arguments = arguments_for(tool, text)
        except BadReply:
            continue
        assert arguments_for(tool, arguments) == arguments
        assert isinstance(json.loads(arguments), dict)


@given(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.text(max_size=30))
def test_values_written_as_json_in_order_come_back_as_they_were(a: int, b: float, c: bool, d: str) -> None:
    text = ", ".join(json.dumps(value) for value in (a, b, c, d))
    assert json.loads(arguments_for(EVERY, text)) == {"a": a, "b": b, "c": c, "d": d}


def test_deep_nesting_ends_in_a_bad_reply() -> None:
    for text in ("[" * 100_000, '{"a":' * 100_000):
        with pytest.raises(BadReply):
            arguments_for(EVERY, f"1, e={text}")
