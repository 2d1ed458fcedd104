"""Guards as they are given: some of their fields by name, over those of the strategy's setting."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sleuth.app.names import listing, suggestion
from sleuth.errors import BadInput
from sleuth.types import Guards

NONE = ("none", "off", "never")


def guards(base: Guards, given: object, *, where: str = "") -> Guards:
    """The guards `base` with the fields that are given: a `Guards` stands for itself, a mapping (or its JSON) for some
    of its fields, whose texts are read as the field's type says ("2000", "true", "none"). `where` says where they stand.

    Raises `BadInput` for a field there is not, or a value it cannot have; it names the fields.
    """
    place = f" in {where}" if where else ""
    if isinstance(given, str):
        given = _loaded(given, place)
    if isinstance(given, Guards):
        return checked(given, place)
    if not isinstance(given, Mapping):
        raise BadInput(f"Guards{place} cannot be {given!r}.", hint=f"Give sleuth.Guards, or its fields: {fields()}.")
    hints = typing.get_type_hints(Guards)
    values = {}
    for key, value in given.items():
        if key not in hints:
            hint = f"{suggestion(str(key), hints)} Guards: {fields()}.".strip()
            raise BadInput(f"There is no guard '{key}'{place}.", hint=hint)
        values[key] = _fitted(key, value, hints[key], place)
    return checked(dataclasses.replace(base, **values), place)


def checked(given: Guards, place: str = "") -> Guards:
    """The guards, unless a number in them is out of its range. Raises `BadInput`."""
    if given.confidence is not None and not 0 <= given.confidence <= 1:
        raise _wrong("confidence", given.confidence, place, "it is a probability, from 0 to 1, or none")
    if given.compress < 0:
        raise _wrong("compress", given.compress, place, "it is a number of tokens, or 0 for never")
    return given


def fields() -> str:
    """Every guard with the values it takes."""
    return listing(f"{name} ({_said(hint)})" for name, hint in typing.get_type_hints(Guards).items())


def _said(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return "|".join(typing.get_args(hint))
    if type(None) in typing.get_args(hint):
        return f"{typing.get_args(hint)[0].__name__}|none"
    return {"bool": "true|false"}.get(hint.__name__, str(hint.__name__))


def _fitted(key: str, value: object, hint: Any, place: str) -> Any:
    if isinstance(value, str) and value.strip().casefold() in NONE and type(None) in typing.get_args(hint):
        return None
    if isinstance(value, bool) and hint is not bool:
        raise _wrong(key, value, place, f"it takes {_said(hint)}")
    try:
        return TypeAdapter[Any](hint).validate_python(value.strip() if isinstance(value, str) else value)
    except ValidationError as error:
        raise _wrong(key, value, place, f"it takes {_said(hint)}") from error


def _wrong(key: str, value: object, place: str, why: str) -> BadInput:
    return BadInput(f"The guard '{key}'{place} cannot be {value!r}: {why}.", hint=f"Guards: {fields()}.")


def _loaded(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"Guards{place} cannot be read from {text[:60]!r}.", hint='Write {"compress": 0}, for example.'
        ) from error
