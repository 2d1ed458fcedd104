"""Tools as a model is told of them and as it writes their arguments: ``Multiply[6, 7]`` becomes ``{"a": 6, "b": 7}``.

The form ``Name[arguments]`` is ReAct's (Yao et al. 2023, section 3.1), taken from its three actions to any tool.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sleuth.errors import BadReply
from sleuth.types import ToolSpec

Fill = Callable[[str], str]

_BARE = re.compile(r"(?<=[:\[,])\s*(\{\s*[\w.-]+\s*\})(?=\s*[,}\]])")
"""A reference in JSON without quotes: {"a": {s1}}."""
OPENING, CLOSING, QUOTES = "([{", ")]}", "\"'"
YES_NO = {"true": True, "yes": True, "false": False, "no": False}
PLAIN: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def offered(specs: Iterable[ToolSpec]) -> str:
    """A line for each tool, for a prompt: "Multiply[a, b]: Multiply two numbers.". What may be left out is "b=2" or "b?"."""
    return "\n".join(
        f"{tool_label(spec)}[{', '.join(_shown(spec))}]: {' '.join(spec.description.split())}" for spec in specs
    )


def tool_label(spec: ToolSpec) -> str:
    """The tool's name as actions are written: with a capital."""
    return spec.name[:1].upper() + spec.name[1:]


def tool_named(specs: Iterable[ToolSpec], name: str) -> ToolSpec | None:
    """The tool of that name, without regard to case, spaces, dashes and underscores; None when there is none."""
    return next((spec for spec in specs if _key(spec.name) == _key(name)), None)


def arguments_for(spec: ToolSpec, text: str, fill: Fill | None = None) -> str:
    """The JSON arguments that a model meant by what it wrote in a tool's brackets.

    A JSON object is taken as it is, once it fits the tool's schema. Else the text is cut at commas outside quotes and
    brackets, and the parts are given to the parameters in order (``b=7`` to the one it names), each read as the type
    the schema says; a tool with one parameter takes the whole text. `fill` puts the answers of others into a part once it
    is cut off: so what they hold stays in its place, and is no further argument. Raises `BadReply`, which says what the
    tool takes.
    """
    schema, text = _schema(spec), text.strip()
    known, required = _properties(schema), _required(schema)
    given = _object(text)
    if given is None and fill is not None:
        given = _object(_BARE.sub(r' "\1"', text))
    if given is None or _is_a_text(known, given):
        values = _values(spec, known, text, fill)
        told = json.dumps(values, ensure_ascii=False)
    elif fill is None:
        values, told = given, text
    else:
        values = {name: _filled(spec, known.get(name), name, value, fill) for name, value in given.items()}
        told = json.dumps(values, ensure_ascii=False)
    lacking = [name for name in required if name not in values]
    if lacking:
        raise _wrong(spec, text, f"lacks {', '.join(lacking)}")
    _check(spec, schema, values, text)
    return told


# --- the schema ---------------------------------------------------------------------------------------------------


def _schema(spec: ToolSpec) -> Mapping[str, Any]:
    schema = json.loads(spec.parameters)
    return schema if isinstance(schema, dict) else {}


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _required(schema: Mapping[str, Any]) -> list[str]:
    return [name for name in schema.get("required", ()) if isinstance(name, str)]


def _shown(spec: ToolSpec) -> list[str]:
    schema = _schema(spec)
    required = _required(schema)
    return [name if name in required else _optional(name, about) for name, about in _properties(schema).items()]


def _optional(name: str, about: Any) -> str:
    default = about.get("default") if isinstance(about, dict) else None
    if default is None:
        return f"{name}?"
    return f"{name}={default if isinstance(default, str) else json.dumps(default)}"


def _kinds(about: Any) -> list[Mapping[str, Any]]:
    """The schemas one of which a value must fit; [] when that is not said in a way read here (the tool will judge)."""
    if not isinstance(about, dict) or "$ref" in about:
        return []
    if isinstance(choices := about.get("anyOf", about.get("oneOf")), list):
        kinds = [_kinds(choice) for choice in choices]
        return [one for some in kinds for one in some] if all(kinds) else []
    if isinstance(names := about.get("type"), list):
        return [{**about, "type": name} for name in names]
    return [about] if isinstance(names, str) or "enum" in about or "const" in about else []


# --- from text to values ------------------------------------------------------------------------------------------


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = _loaded(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _is_a_text(known: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether an object is meant as the one argument of a tool, not as its arguments by name."""
    return len(known) == 1 and not set(given) & set(known)


def _filled(spec: ToolSpec, about: Any, name: str, value: Any, fill: Fill) -> Any:
    """A value with its texts filled; a text that is other than before is read as the type the schema says."""
    if isinstance(value, list):
        return [_filled(spec, None, name, one, fill) for one in value]
    if isinstance(value, dict):
        return {key: _filled(spec, None, name, one, fill) for key, one in value.items()}
    if not isinstance(value, str) or (text := fill(value)) == value:
        return value
    return text if about is None else _typed(spec, name, about, text, value)


def _values(spec: ToolSpec, known: Mapping[str, Any], text: str, fill: Fill | None) -> dict[str, Any]:
    if not text:
        return {}
    if not known:
        raise _wrong(spec, text, "takes none" if _schema(spec).get("additionalProperties") is False else "takes JSON")
    parts = [text] if len(known) == 1 else _split(text)
    if len(parts) > len(known):
        raise _wrong(spec, text, f"was given {len(parts)}")
    free, values = list(known), {}
    for part in parts:
        name, value = _by_name(known, part)
        if name is None:
            name = next((each for each in free if each not in values), None)
        if name is None or name in values:
            raise _wrong(spec, text, f"was given {name or 'too much'} twice")
        values[name] = _typed(spec, name, known[name], fill(value) if fill else value, text)
    return values


def _by_name(known: Mapping[str, Any], part: str) -> tuple[str | None, str]:
    found = re.match(r"\s*[\"']?(\w+)[\"']?\s*[=:](?!=)\s*(?=\S)", part)
    if found and found[1] in known:
        return found[1], part[found.end() :].strip()
    return None, part.strip()


def _split(text: str) -> list[str]:
    """The text cut at commas outside quotes and brackets. A quote opens only where a part or a bracket begins."""
    parts, start, depth, quote, fresh = [], 0, 0, "", True
    for at, char in enumerate(text):
        if quote:
            if char == quote and text[at - 1] != "\\":
                quote = ""
            continue
        if char in QUOTES and fresh:
            quote = char if char in text[at + 1 :] else ""
        elif char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
        depth = max(0, depth + (char in OPENING) - (char in CLOSING))
        fresh = char in OPENING or char in ",=:" or (fresh and char.isspace())
    return [*parts, text[start:]]


def _typed(spec: ToolSpec, name: str, about: Any, value: str, text: str) -> Any:
    kinds = _kinds(about) or [{"type": "string"}]
    for kind in sorted(kinds, key=lambda kind: kind.get("type") == "string"):
        try:
            return _read(kind, value)
        except ValueError:
            continue
    raise _wrong(spec, text, f"takes {_said(kinds)} as {name}, not {_short(value)}")


def _read(kind: Mapping[str, Any], value: str) -> Any:
    """The text as a value of that kind. Raises `ValueError`."""
    plain = _unquoted(value)
    for allowed in kind.get("enum", ()):
        if plain.casefold() == str(allowed).casefold():
            return allowed
    match kind.get("type"):
        case "integer":
            return int(_ungrouped(plain))
        case "number":
            return _number(_ungrouped(plain))
        case "boolean":
            if plain.casefold() not in YES_NO:
                raise ValueError(plain)
            return YES_NO[plain.casefold()]
        case "null":
            if plain.casefold() not in ("", "null", "none"):
                raise ValueError(plain)
            return None
        case "array" | "object":
            return _loaded(value)
    return plain


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not math.isfinite(number):
            raise
        return number


def _ungrouped(text: str) -> str:
    return text.replace(",", "") if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", text) else text


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) < 2 or text[0] not in QUOTES or text[-1] != text[0]:
        return text
    if text[0] == '"':
        try:
            return str(_loaded(text))
        except ValueError:
            pass
    inner = text[1:-1]
    return inner if text[0] not in inner.replace(f"\\{text[0]}", "") else text


def _loaded(text: str) -> Any:
    """JSON proper: no NaN, no infinity. Raises `ValueError`."""

    def refused(name: str) -> None:
        raise ValueError(name)

    def finite(number: str) -> float:
        value = float(number)
        if not math.isfinite(value):
            raise ValueError(number)
        return value

    try:
        return json.loads(text, parse_constant=refused, parse_float=finite)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


# --- checking -----------------------------------------------------------------------------------------------------


def _check(spec: ToolSpec, schema: Mapping[str, Any], values: Mapping[str, Any], text: str) -> None:
    known = _properties(schema)
    for name, value in values.items():
        if name not in known:
            if known or schema.get("additionalProperties") is False:
                raise _wrong(spec, text, f"has no {_short(name)}")
            continue
        kinds = _kinds(known[name])
        if kinds and not any(_fits(kind, value) for kind in kinds):
            raise _wrong(spec, text, f"takes {_said(kinds)} as {name}, not {_short(json.dumps(value))}")


def _fits(kind: Mapping[str, Any], value: Any) -> bool:
    if "enum" in kind:
        return value in kind["enum"]
    if "const" in kind:
        return bool(value == kind["const"])
    if kind.get("type") == "null":
        return value is None
    if isinstance(value, bool) and kind.get("type") in ("integer", "number"):
        return False
    if kind.get("type") == "integer" and isinstance(value, float):
        return value.is_integer()
    wanted = PLAIN.get(str(kind.get("type")))
    return wanted is None or isinstance(value, wanted)


def _said(kinds: Iterable[Mapping[str, Any]]) -> str:
    return " or ".join(_kind_said(kind) for kind in kinds)


def _kind_said(kind: Mapping[str, Any]) -> str:
    if "enum" in kind:
        return f"one of {', '.join(map(str, kind['enum']))}"
    name = str(kind.get("type", "value"))
    return {"null": "nothing"}.get(name, f"{'an' if name[0] in 'aio' else 'a'} {name}")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _wrong(spec: ToolSpec, text: str, why: str) -> BadReply:
    takes = f"{tool_label(spec)}[{', '.join(_shown(spec))}]"
    message = f"The arguments of {spec.name} cannot be {_short(text)!r}: it {why}."
    return BadReply(message, hint=f"Write {takes}.", reply=text)


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()
