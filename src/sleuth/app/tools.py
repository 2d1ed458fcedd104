"""Tools as they are given: by the name of a built-in one, as a typed function, or as any tool with a `spec`."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sleuth.app.names import listing, suggestion
from sleuth.errors import BadInput, SleuthError, UnknownName
from sleuth.ports import Tool
from sleuth.sources.calculator import CALCULATOR
from sleuth.sources.date_arithmetic import DATES
from sleuth.sources.functions import FunctionTool, tool
from sleuth.types import ToolSpec

ToolLike = str | Tool | Callable[..., Any]

BUILT_IN: Mapping[str, FunctionTool[..., str]] = {each.name: each for each in (CALCULATOR, DATES)}
BUILT_IN_FROM = "built in"


@dataclass(frozen=True, slots=True)
class Given:
    """A tool, what a model is told of it, and where it is from: "built in", "FILE.py:function" or "given"."""

    tool: Tool
    spec: ToolSpec
    origin: str


def find(wanted: Iterable[ToolLike] | ToolLike) -> tuple[Given, ...]:
    """The tools that are meant. Raises `UnknownName` for a name that is none, `BadInput` for what is no tool, or twice there.

    A text like ``FILE.py:function`` is a function in a Python file, which is run to get it.
    """
    every = [wanted] if isinstance(wanted, str) or callable(wanted) or not isinstance(wanted, Iterable) else wanted
    found: dict[str, Given] = {}
    for each in map(_one, every):
        if each.spec.name in found:
            raise BadInput(f"There are two tools named '{each.spec.name}'.", hint="Give one of them another name.")
        found[each.spec.name] = each
    return tuple(found.values())


def recorded(given: Iterable[Given]) -> dict[str, dict[str, str]]:
    """What a trace tells of them, by name: where the tool is from, and its spec."""
    return {
        each.spec.name: {
            "from": each.origin,
            "description": each.spec.description,
            "parameters": each.spec.parameters,
        }
        for each in given
    }


def again(about: Mapping[str, Any], given: Iterable[ToolLike] | ToolLike = ()) -> tuple[Given, ...]:
    """The tools of a recorded run, in its order: those given now, and the built-in ones by their names.

    Raises `BadInput` for one that is neither (a trace holds no functions, and no file that it names is run), and for
    one given that the run did not have.
    """
    now = {each.spec.name: each for each in find(given)}
    if other := set(now) - set(about):
        raise BadInput(f"The run did not have: {listing(other)}.", hint=f"Its tools: {listing(map(str, about))}.")
    return tuple(now.get(name) or _kept(name, told) for name, told in about.items())


def _kept(name: str, told: object) -> Given:
    origin = told.get("from") if isinstance(told, Mapping) else None
    if origin == BUILT_IN_FROM and name in BUILT_IN:
        return _named(name)
    was = f" ({origin})" if isinstance(origin, str) and ".py:" in origin else ""
    raise BadInput(
        f"The run used the tool '{name}', a function{was} that its trace does not hold.",
        hint="Give it again: --tool FILE.py:function",
    )


def _one(wanted: object) -> Given:
    if isinstance(wanted, str):
        return _named(wanted)
    spec = getattr(wanted, "spec", None)
    if isinstance(spec, ToolSpec) and callable(getattr(wanted, "call", None)):
        if getattr(wanted, "name", None) != spec.name:
            raise BadInput(f"A tool's name and its spec's ('{spec.name}') differ.", hint="Make them the same.")
        built_in = any(wanted is each for each in BUILT_IN.values())
        return Given(wanted, spec, BUILT_IN_FROM if built_in else "given")  # type: ignore[arg-type]  # it has what a Tool has
    if not callable(wanted):
        raise BadInput(
            f"A {type(wanted).__name__} is no tool.",
            hint=f"Give a function with type hints, a tool with a spec, or a name: {listing(BUILT_IN)}.",
        )
    made = tool(wanted)
    return Given(made, made.spec, "given")


def _named(text: str) -> Given:
    if found := BUILT_IN.get(text.strip().casefold()):
        return Given(found, found.spec, BUILT_IN_FROM)
    place, _, function = text.rpartition(":")
    if place.endswith(".py"):
        made = _one(_from_file(Path(place).expanduser().absolute(), function))
        return Given(made.tool, made.spec, text)
    hint = f"{suggestion(text, BUILT_IN)} Built in: {listing(BUILT_IN)}. Your own: FILE.py:function".strip()
    raise UnknownName(f"There is no tool named '{text}'.", hint=hint, name=text)


def _from_file(path: Path, function: str) -> object:
    if not path.is_file():
        raise BadInput(f"There is no file {path}.", hint="Name a Python file and a function in it: FILE.py:function")
    name = f"sleuth_tools_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        _run(path, name)
    found: object = getattr(sys.modules[name], function, None)
    if not callable(found):
        own = (key for key, value in vars(sys.modules[name]).items() if callable(value) and not key.startswith("_"))
        raise BadInput(f"There is no function '{function}' in {path}.", hint=f"Functions there: {listing(own)}.")
    return found


def _run(path: Path, name: str) -> None:
    """Run the user's file as a module of that name."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} cannot be run as Python.", hint="Name a .py file.")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[name])
    except SleuthError:
        del sys.modules[name]
        raise
    except (Exception, SystemExit) as error:  # the file is the user's: whatever it raises is told
        del sys.modules[name]
        raise BadInput(f"{path} cannot be run: {type(error).__name__}: {error}.", hint="Mend it first.") from error
