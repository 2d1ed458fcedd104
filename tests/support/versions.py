"""What stands behind a metric: its code with every function and constant of sleuth that it uses, as one digest."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from sleuth.bench.metrics import Metric

WITHIN = ("sleuth.bench.metrics", "sleuth.guards.text", "sleuth.guards.dates.moment", "sleuth.transcript.wording")


def digest(metric: Metric) -> str:
    """16 hexadecimal characters that change with the metric's code, but not with its comments, docstrings and layout."""
    texts: dict[str, str] = {}
    _gather(metric.score, texts)
    return hashlib.blake2b("\n".join(texts[key] for key in sorted(texts)).encode(), digest_size=8).hexdigest()


def _gather(value: Any, texts: dict[str, str]) -> None:
    value = inspect.unwrap(value) if callable(value) else value
    if not isinstance(value, FunctionType) or not value.__module__.startswith(WITHIN):
        return
    key = f"{value.__module__}.{value.__qualname__}"
    inside = [cell.cell_contents for cell in value.__closure__ or ()]
    if key not in texts:
        texts[key] = _source(value)
        for name in sorted(set(_names(value.__code__))):
            found = value.__globals__.get(name)
            if isinstance(found, str | int | float | tuple | frozenset | dict):
                texts[f"{value.__module__}.{name}"] = repr(
                    sorted(found, key=str) if isinstance(found, frozenset) else found
                )
            elif isinstance(found, re.Pattern):
                texts[f"{value.__module__}.{name}"] = found.pattern
            _gather(found, texts)
    for each in inside:
        _gather(each, texts)
        if isinstance(each, FunctionType):
            texts[f"{key} of"] = each.__qualname__
            if each.__name__ == "<lambda>":
                texts[f"{key} lambda"] = repr(each.__code__.co_names)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)


def _source(function: FunctionType) -> str:
    if function.__name__ == "<lambda>":
        return repr(function.__code__.co_names)
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(function)))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            del body[0]
    return ast.unparse(tree)
