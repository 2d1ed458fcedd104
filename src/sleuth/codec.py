"""Values as plain JSON and back, and the digest that identifies a request.

`plain` turns every dataclass of `sleuth.types` and `sleuth.events`, every `SleuthError`, and None, booleans, numbers,
texts, tuples, lists and mappings of these into what ``json.dumps`` takes; `restore` gives the same value again.

Tuples are JSON arrays. A dataclass is an object whose ``"~"`` is its class name; fields that have their default value
are left out, so a trace stays small and a field added later (with a default) changes no digest of an old request.
What JSON lacks has a tag of its own: ``list``, ``map`` (keys that are no plain text), ``float`` (inf, nan),
``str`` (lone surrogates), ``error``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Callable, Generator, Mapping
from functools import cache
from typing import Any, NoReturn

from sleuth import errors, events, types
from sleuth.errors import BadInput, SleuthError

TAG = "~"

_SURROGATE = re.compile("[\ud800-\udfff]")
_SCRUBBED: Mapping[str, tuple[str, ...]] = {  # fields that may repeat an error's text
    "Attempt": ("text", "data"),
    "Answer": ("note",),
}
_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\b(bearer|basic)\s+(?=\S*\d|\S{20})[\w.~+/=*-]{6,}"), r"\1 [removed]"),
    (re.compile(r"\b(?:sk|pk|rk)-[\w*-]{8,}|\b(?:hf|gh[opsu])_\w{16,}|\bAIza[\w-]{20,}"), "[removed]"),
    (re.compile(r"(?i)(\bapi[-_]?key[\"']?\s*[:=]\s*[\"']?)[^\s\"'&,;]{6,}"), r"\1[removed]"),
    (re.compile(r"(://)[^\s/@:]+:[^\s/@]+@"), r"\1[removed]@"),
)


def scrub(text: str) -> str:
    """The text without what looks like a key or a password ("Bearer ...", "sk-...", "api_key=...", "://user:pass@")."""
    for pattern, substitute in _SECRETS:
        text = pattern.sub(substitute, text)
    return text


# --- to plain ---------------------------------------------------------------------------------------------------


def plain(value: Any, *, other: Callable[[Any], Any] | None = None) -> Any:
    """The value as what ``json.dumps`` takes (UTF-8 safe). Raises `BadInput` for a value of any other type.

    `other` makes something storable of a value of any other type, instead of raising. A `Fork` is stored without its
    flow, an error of a class unknown to `sleuth.errors` as the nearest class that is known.
    """
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {TAG: "float", "v": repr(float(value))}
    if isinstance(value, tuple):
        return [plain(item, other=other) for item in value]
    if isinstance(value, list):
        return {TAG: "list", "v": [plain(item, other=other) for item in value]}
    if isinstance(value, Mapping):
        return _mapping(value, other)
    if isinstance(value, SleuthError):
        return _error(value, other)
    if _classes().get(type(value).__name__) is type(value):
        return _fields_of(value, other)
    if other is not None:
        return plain(other(value))
    raise BadInput(f"A value of type {type(value).__qualname__} cannot be stored in a trace: {_short(value)}.")


def _text(text: str) -> Any:
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return {TAG: "str", "v": text.encode("unicode_escape").decode("ascii")}


def _mapping(value: Mapping[Any, Any], other: Callable[[Any], Any] | None) -> dict[str, Any]:
    if all(type(key) is str and key != TAG and isinstance(_text(key), str) for key in value):
        return {key: plain(item, other=other) for key, item in value.items()}
    return {TAG: "map", "v": [[plain(key, other=other), plain(item, other=other)] for key, item in value.items()]}


def _fields_of(value: Any, other: Callable[[Any], Any] | None) -> dict[str, Any]:
    name = type(value).__name__
    out: dict[str, Any] = {TAG: name}
    for field, default in _fields(name):
        item = getattr(value, field)
        if field == "flow" and name == "Fork":
            continue
        if field in _SCRUBBED.get(name, ()):
            item = _scrubbed(item)
        if not _same(item, default):
            out[field] = plain(item, other=other)
    return out


def _error(error: SleuthError, other: Callable[[Any], Any] | None) -> dict[str, Any]:
    name = next(kind.__name__ for kind in type(error).__mro__ if errors.by_name(kind.__name__) is kind)
    out: dict[str, Any] = {TAG: "error", "class": name, "message": _text(scrub(error.message))}
    if error.hint:
        out["hint"] = _text(scrub(error.hint))
    if error.details:
        out["details"] = plain(_scrubbed(error.details), other=other)
    return out


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {key: _scrubbed(item) for key, item in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_scrubbed(item) for item in value)
    return value


def _same(item: Any, default: Any) -> bool:
    """Equal, and not True beside 1; nan equals nothing, so it is always written."""
    if default is _NO_DEFAULT:
        return False
    return (item is True or item is False) == (default is True or default is False) and bool(item == default)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


# --- from plain -------------------------------------------------------------------------------------------------


def restore(value: Any) -> Any:
    """The value that `plain` was given. Raises `BadInput` for what `plain` cannot have written."""
    if isinstance(value, list):
        return tuple(restore(item) for item in value)
    if not isinstance(value, dict):
        return value
    tag = value.get(TAG)
    if tag is None:
        return {key: restore(item) for key, item in value.items()}
    try:
        return _tagged(tag, value)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise BadInput(f"Not a stored {tag}: {_short(value)} ({fault}).") from fault


def _tagged(tag: Any, value: dict[str, Any]) -> Any:
    match tag:
        case "list":
            return [restore(item) for item in value["v"]]
        case "map":
            return {restore(key): restore(item) for key, item in value["v"]}
        case "float":
            return float(value["v"])
        case "str":
            return value["v"].encode("ascii").decode("unicode_escape")
        case "error":
            details = restore(value.get("details", {}))
            return errors.by_name(value["class"])(
                restore(value["message"]), hint=restore(value.get("hint", "")), **details
            )
        case "Fork":
            return types.Fork(_gone())
    kind = _classes().get(tag)
    if kind is None:
        raise ValueError("no such type is known")
    return kind(**{key: restore(item) for key, item in value.items() if key != TAG})


def _gone() -> Generator[Any, Any, NoReturn]:
    """Stands for the flow of a `Fork` that was read back."""
    yield from ()
    raise BadInput("The flow of a Fork is not stored in a trace, so it cannot be started from one.")


# --- digest -----------------------------------------------------------------------------------------------------


def digest(request: types.Request[Any]) -> str:
    """16 hexadecimal characters that are the same for equal requests, in every process and Python version.

    They are blake2b over canonical JSON (sorted keys, whole floats as integers). Raises `TypeError` for a `Note`,
    which has no part in identity, and `BadInput` for a request that holds what cannot be stored.
    """
    if isinstance(request, types.Note):
        raise TypeError("a Note has no digest: it has no part in identity")
    text = json.dumps(_canonical(plain(request)), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(text.encode("ascii"), digest_size=8).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return value


# --- the registry -----------------------------------------------------------------------------------------------

_NO_DEFAULT = object()


@cache
def _classes() -> Mapping[str, type]:
    """Class name -> every dataclass of types and events, but `Strategy`, which holds functions."""
    found = {**vars(types), **vars(events)}
    return {
        name: kind
        for name, kind in found.items()
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind not in (types.Strategy, types.Request)
    }


@cache
def _fields(name: str) -> tuple[tuple[str, Any], ...]:
    """Each field's name and default, of the dataclass of that name."""
    return tuple((field.name, _default(field)) for field in dataclasses.fields(_classes()[name]))


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _NO_DEFAULT
