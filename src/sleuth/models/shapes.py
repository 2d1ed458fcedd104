"""A `Shape` as llama.cpp takes it."""

from __future__ import annotations

import json
from typing import Any

from sleuth.errors import BadInput
from sleuth.types import Choice, Grammar, Json, Shape, Verbatim

ONE_LINE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""How llguidance lays JSON out: a fifth fewer tokens than with line breaks."""


def constraint(shape: Shape | None, stop: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a completion request that hold the reply to this shape. Raises `BadInput`."""
    match shape:
        case None:
            return {}
        case Choice(options):
            return {"grammar": choice(options)}
        case Grammar(gbnf):
            return {"grammar": gbnf}
        case Verbatim(text):
            return {"grammar": verbatim(text, stop)}
        case Json(schema):
            return {"json_schema": _schema(schema)}


def choice(options: tuple[str, ...]) -> str:
    """GBNF for one of these texts. Raises `BadInput` when there is none."""
    if not any(options):
        raise BadInput("A choice needs at least one text to choose.")
    return "root ::= " + " | ".join(literal(option) for option in options)


def literal(text: str) -> str:
    """The text as a GBNF string."""
    escaped = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escaped.get(sign, sign) for sign in text) + '"'


def verbatim(text: str, stop: tuple[str, ...] = ()) -> str:
    """A grammar (llguidance) for a run of whole words of this text, perhaps after one space, up to a stop text.

    The stop texts belong to it because a model that would end its reply with one seldom ends it otherwise.
    """
    if not text.strip():
        raise BadInput("A verbatim reply needs a text to take it from.")
    words = json.dumps({"substring_words": text.strip()}, ensure_ascii=False)
    ends = " | ".join(json.dumps(label, ensure_ascii=False) for label in stop if label)
    return f'%llguidance {{}}\nstart: " "? words{" ends?" if ends else ""}\nwords: %regex {words}\n' + (
        f"ends: {ends}\n" if ends else ""
    )


def _schema(text: str) -> dict[str, Any]:
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise BadInput(f"The JSON schema is not JSON: {error}.") from error
    if not isinstance(schema, dict):
        raise BadInput("The JSON schema must be an object.")
    return {**schema, "x-guidance": ONE_LINE}
