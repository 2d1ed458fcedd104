"""The OpenAI dialect as values: a `Generate` becomes a request body, an answer's JSON becomes a `Completion`. No I/O.

Two forms of the same dialogue. *Raw*: the contents joined as they are, for ``/completions``. *Chat*: neighbouring
messages of one speaker merged into system, user and assistant turns, for ``/chat/completions``. An observation is
part of a user turn (`Message` carries no id of a tool call, so the ``tool`` role cannot be given truthfully). A
trailing assistant message goes out as the last turn, as it is; no sentence asking to continue is added, since most
servers continue it or answer in its sense, and such a sentence would stand in every prompt. Only where an endpoint
refuses an assistant turn at the end is the prefix put into the user turn with `CONTINUE`. A reply that repeats the
prefix, or its last line, loses the repeated part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from sleuth.types import Choice, Generate, Grammar, Json, Message, Verbatim

Dialect: TypeAlias = Literal["raw", "chat"]
Body: TypeAlias = dict[str, Any]

MOST_STOPS = 4
"""Stop texts sent, at most: the OpenAI API's own limit ("up to 4 sequences"). All are cut here in any case."""

CONTINUE = "\n\nContinue the text below. Write only what comes next.\n\n"
"""Precedes a prefix that an endpoint does not take as an assistant turn."""

_SPECIAL = re.compile(
    r"<\|([^|<>\n]{1,40})\|>|<(/?(?:s|bos|eos|pad|start_of_turn|end_of_turn))>|\[(/?INST)\]", re.IGNORECASE
)


def render(request: Generate, name: str, dialect: Dialect, refused: frozenset[str], *, stream: bool) -> Body:
    """The request's body. `refused` names what the endpoint is known not to take (see `refusal`)."""
    body: Body = {"model": name}
    if dialect == "raw":
        body["prompt"] = raw_prompt(request.messages)
        body["max_tokens"] = request.max_tokens
    else:
        body["messages"] = chat_turns(request.messages, refused)
        body["max_completion_tokens" if "max_tokens" in refused else "max_tokens"] = request.max_tokens
    if "temperature" not in refused:
        body["temperature"] = request.temperature
    if request.stop and "stop" not in refused:
        body["stop"] = list(request.stop[:MOST_STOPS])
    if request.logprob and "logprobs" not in refused:
        body["logprobs"] = 1 if dialect == "raw" else True
    if request.shape is not None and "shape" not in refused:
        body |= shape_fields(request.shape, dialect, grammars="grammar" not in refused)
    if request.tools and dialect == "chat":
        body["tools"] = [_tool(t.name, t.description, t.parameters) for t in request.tools]
    if stream:
        body["stream"] = True
        if "stream_options" not in refused:
            body["stream_options"] = {"include_usage": True}
    return body


def _tool(name: str, description: str, parameters: str) -> Body:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": json.loads(parameters)},
    }


def raw_prompt(messages: Sequence[Message]) -> str:
    """The dialogue as one text."""
    return "".join([defused(m.content) if m.role == "observation" else m.content for m in messages])


def chat_turns(messages: Sequence[Message], refused: frozenset[str] = frozenset()) -> list[dict[str, str]]:
    """The dialogue as turns: system first if any, then user and assistant in turn."""
    turns: list[dict[str, str]] = []
    for message in messages:
        text = defused(message.content) if message.role == "observation" else message.content
        role = "user" if message.role == "observation" else message.role
        if role == "system" and ((turns and turns[-1]["role"] != "system") or "system" in refused):
            role = "user"  # many chat templates take a system turn at the start only, some none
        if not text:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += text
        else:
            turns.append({"role": role, "content": text})
    if "prefix" in refused and turns and turns[-1]["role"] == "assistant":
        prefix = turns.pop()["content"]
        if not turns or turns[-1]["role"] != "user":
            turns.append({"role": "user", "content": ""})
        turns[-1]["content"] += CONTINUE + prefix
    return turns


def prefix_of(messages: Sequence[Message]) -> str:
    """The text a chat model is asked to continue: the trailing assistant messages, joined."""
    at = len(messages)
    while at and messages[at - 1].role == "assistant":
        at -= 1
    return "".join([m.content for m in messages[at:]])


def defused(text: str) -> str:
    """Text from outside without what a server's tokeniser would read as control tokens ("<|im_end|>", "</s>")."""
    if "<" not in text and "[" not in text:
        return text
    return _SPECIAL.sub(lambda m: f"({m[1] or m[2] or m[3]})", text)


# --- constrained decoding ---------------------------------------------------------------------------------------


def shape_fields(shape: Choice | Json | Verbatim | Grammar, dialect: Dialect, *, grammars: bool) -> Body:
    """The fields that constrain a reply, or {}; each server reads the one it knows.

    ``response_format`` is OpenAI's, ``guided_*`` and ``structured_outputs`` are vLLM's (before and since 0.11),
    ``grammar`` and ``json_schema`` llama.cpp's. `grammars` is false where only OpenAI's own fields may be sent.
    """
    if isinstance(shape, Json):
        schema = json.loads(shape.schema)
        named = {"name": "reply", "schema": schema, "strict": True}
        fields: Body = {"response_format": {"type": "json_schema", "json_schema": named}}
        return fields | {"json_schema": schema} if dialect == "raw" and grammars else fields
    if not grammars or isinstance(shape, Verbatim):
        return {}
    if isinstance(shape, Choice):
        options = list(shape.options)
        grammar = "root ::= " + " | ".join(json.dumps(option, ensure_ascii=False) for option in options)
        return {"guided_choice": options, "structured_outputs": {"choice": options}, "grammar": grammar}
    return {"guided_grammar": shape.gbnf, "structured_outputs": {"grammar": shape.gbnf}, "grammar": shape.gbnf}


SHAPE_FIELDS = ("response_format", "json_schema", "guided_choice", "guided_grammar", "structured_outputs", "grammar")


def refusal(body: Body, message: str, param: str) -> str | None:
    """Which optional part of the request an endpoint's 400 is about, so that it can be left out; None if none is."""
    text = message.lower()
    if "max_tokens" in body and "max_completion_tokens" in text:
        return "max_tokens"
    for part, fields in _OPTIONAL.items():
        for name in fields:
            if name in body and (name == param or re.search(rf"\b{name}\b", text)):
                return part
    turns = body.get("messages")
    if not turns:
        return None
    if turns[0]["role"] == "system" and re.search(r"system.{0,40}not.{0,10}support|support.{0,20}system", text):
        return "system"
    last_words = re.search(
        r"last (role|message|turn)|prefill|prefix|final (assistant )?(turn|message)|must end with", text
    )
    return "prefix" if turns[-1]["role"] == "assistant" and last_words else None


_OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "logprobs": ("logprobs",),
    "stream_options": ("stream_options",),
    "shape": SHAPE_FIELDS,
    "stop": ("stop",),
}
