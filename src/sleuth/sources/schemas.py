"""What a model is told of a function: its docstring's words, the schema of its arguments, its result as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pydantic
from pydantic_core import PydanticSerializationError, to_jsonable_python

_ARGUMENTS = re.compile(r"^\s*(?:Args|Arguments|Parameters):\s*$", re.IGNORECASE)
_LINE = re.compile(r"^\s+\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s+(.+)$")
_FIELD = re.compile(r"^\s*:param\s+(?:[^:]*\s)?(\w+):\s+(.+)$")


def described(docstring: str) -> tuple[str, dict[str, str]]:
    """A docstring's first paragraph on one line, and what it says of each parameter ("Args:" or ":param name:")."""
    said = one_line(re.split(r"\n\s*\n|^\s*:param\b", docstring, maxsplit=1, flags=re.MULTILINE)[0])
    explained, inside = {}, False
    for line in docstring.splitlines():
        if _ARGUMENTS.match(line):
            inside = True
        elif found := (_LINE.match(line) if inside else None) or _FIELD.match(line):
            explained[found[1]] = found[2].strip()
        elif line[:1].strip():
            inside = False
    return said, explained


def schema_of(arguments: type[pydantic.BaseModel]) -> str:
    """The JSON schema as JSON text, without the titles that pydantic adds."""
    return json.dumps(_untitled(arguments.model_json_schema()), ensure_ascii=False)


def as_text(result: Any, most: int) -> str:
    """A result as a model reads it: a str as it is, else JSON; what is over `most` characters is cut, and it says so.

    Raises `TypeError` for what cannot be written as JSON.
    """
    if isinstance(result, str):
        text = result
    else:
        try:
            plain = list(islice(result, most)) if isinstance(result, Iterator) else result  # it may have no end
            text = json.dumps(to_jsonable_python(plain), ensure_ascii=False)
        except (PydanticSerializationError, ValueError) as error:
            raise TypeError(f"its result, a {type(result).__name__}, cannot be written as JSON") from error
    kept = text[:most].encode("utf-8", "replace").decode("utf-8")  # half a character, which no trace could hold
    how = "and more" if isinstance(result, Iterator) else "in all"
    return kept if len(text) <= most else f"{kept} [cut: {len(text)} characters {how}]"


def one_line(text: str, most: int = 400) -> str:
    """The text with single spaces, cut after so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    as_it_is = ("default", "enum", "const", "examples")
    return {key: value if key in as_it_is else _untitled(value) for key, value in kept.items()}
