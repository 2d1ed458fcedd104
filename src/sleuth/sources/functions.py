"""`tool`: a Python function with type hints becomes a tool that a strategy can use beside its search."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import re
import threading
import types
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, overload

import anyio
import pydantic
from anyio.from_thread import BlockingPortal
from pydantic.fields import FieldInfo

from sleuth.errors import BadInput, SleuthError, ToolError
from sleuth.ports import Report
from sleuth.sources.schemas import as_text, described, one_line, schema_of
from sleuth.types import ToolSpec

P = ParamSpec("P")
R = TypeVar("R")

TIMEOUT = 30.0
"""Seconds a call may take."""
MOST = 4000
"""Characters of a result that are kept: a tool's answer is to be read by a model, mostly a small one."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_FUNCTION = "Give a function with type hints: def add(a: int, b: int) -> int."


class FunctionTool(Generic[P, R]):
    """A function as a tool (`sleuth.ports.Tool`); `tool` makes it. Called directly, it is the function it was.

    `name` and `spec` are what a model sees. `call` takes JSON arguments and gives the result as text: a str as it is,
    anything else as JSON, cut after `most` characters. It raises `ToolError`, nothing else: for arguments that do not fit,
    for what the function raises, and after `timeout` seconds.
    """

    def __init__(
        self, function: Callable[P, R], spec: ToolSpec, arguments: type[pydantic.BaseModel], timeout: float, most: int
    ) -> None:
        self.name = spec.name
        self.spec = spec
        self.timeout = timeout
        self.most = most
        self.__doc__ = inspect.getdoc(function)
        self._function = function
        self._arguments = arguments

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    async def call(self, arguments: str, *, report: Report) -> str:
        """Call the function. A plain one runs in a thread, so the event loop stays free; it goes on there, unheard,
        when it was given up (Python cannot stop a thread). Raises `ToolError`.
        """
        given = self._fitted(arguments)
        with anyio.move_on_after(self.timeout):
            return await self._called(given)
        raise ToolError(f"The tool {self.name} took longer than {self.timeout:g} s.", tool=self.name)

    def _fitted(self, arguments: str) -> dict[str, Any]:
        try:
            fitted = self._arguments.model_validate_json(arguments)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            where = f"{place}: " if place else ""
            raise ToolError(
                f"The arguments of {self.name} do not fit: {where}{first['msg'][:1].lower()}{first['msg'][1:]}.",
                hint=f"It takes: {', '.join(self._names()) or 'none'}.",
                tool=self.name,
            ) from error
        return {field.alias: getattr(fitted, key) for key, field in self._given(fitted) if field.alias}

    def _given(self, fitted: pydantic.BaseModel) -> list[tuple[str, FieldInfo]]:
        fields = self._arguments.model_fields
        return [(key, field) for key, field in fields.items() if key in fitted.model_fields_set]

    def _names(self) -> list[str]:
        return [field.alias or key for key, field in self._arguments.model_fields.items()]

    async def _called(self, given: Mapping[str, Any]) -> str:
        function: Callable[..., Any] = self._function
        if inspect.iscoroutinefunction(function):
            return await self._awaited(function(**given))
        result, fault = await _aside(lambda: self._settled(function(**given)))
        if fault is not None:
            raise self._failed(fault) from fault
        return await self._awaited(result) if inspect.isawaitable(result) else str(result)

    async def _awaited(self, work: Awaitable[Any]) -> str:
        try:
            return as_text(await work, self.most)
        except (Exception, SystemExit) as error:  # the function is anyone's: whatever it raises, the model is told
            raise self._failed(error) from error

    def _settled(self, result: Any) -> Any:
        """Written out in the function's own thread: a result may be slow to walk through."""
        return result if inspect.isawaitable(result) else as_text(result, self.most)

    def _failed(self, error: BaseException) -> ToolError:
        if isinstance(error, ToolError):
            return error
        told = str(error) if isinstance(error, SleuthError) else f"{type(error).__name__}: {error}".strip(": ")
        return ToolError(f"The tool {self.name} failed: {one_line(told)}", tool=self.name)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *, name: str = ..., description: str = ..., timeout: float = ..., most: int = ...
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


@overload
def tool(
    function: Callable[P, R], /, *, name: str = ..., description: str = ..., timeout: float = ..., most: int = ...
) -> FunctionTool[P, R]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    timeout: float = TIMEOUT,
    most: int = MOST,
) -> Any:
    """Make a tool of a function with type hints, plain or async: ``@sleuth.tool``, or ``sleuth.tool(function)``.

    Its name and docstring are what the model is told (`name`, `description` say otherwise), its parameters' types
    become the schema; a parameter is described by a line ``name: text`` under "Args:", or by ``Annotated[int, "text"]``.
    `timeout` is in seconds, `most` in characters of the result. Raises `BadInput` for what no model could call.
    """
    if function is None:
        return lambda wrapped: tool(wrapped, name=name, description=description, timeout=timeout, most=most)
    if isinstance(function, FunctionTool):
        raise BadInput(f"{function.name} is a tool already.", hint="Take it as it is.")
    if timeout <= 0 or most < 1:
        raise BadInput(f"A tool cannot have {timeout:g} s and {most} characters.", hint="Give it more than none.")
    if not callable(function) or inspect.isclass(function):
        raise BadInput(f"{function!r} is no function.", hint=_FUNCTION)
    name = name or getattr(function, "__name__", "")
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"A tool cannot be called '{name}'.",
            hint="Give name=: a letter, then letters, digits, - and _ (at most 64).",
        )
    said, explained = described(inspect.getdoc(function) or "")
    arguments = _arguments(function, name, explained)
    spec = ToolSpec(name, one_line(description or said or name.replace("_", " ")), schema_of(arguments))
    return FunctionTool(function, spec, arguments, timeout, most)


def _arguments(function: Callable[..., Any], name: str, explained: Mapping[str, str]) -> type[pydantic.BaseModel]:
    """The function's parameters as a model; they are its aliases, so that they may have any name."""
    try:
        parameters = inspect.signature(function).parameters.values()
        hints = _hints(function)
    except (TypeError, ValueError, NameError) as error:
        raise BadInput(f"The type hints of {name} cannot be read: {error}.", hint=_FUNCTION) from error
    fields: dict[str, Any] = {}
    for number, parameter in enumerate(parameters):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise BadInput(
                f"The tool {name} takes '{parameter.replace(annotation=parameter.empty)}', which a model cannot fill in.",
                hint="Give every parameter a name and a type: no *args, no **kwargs, nothing before a /.",
            )
        if parameter.name not in hints:
            raise BadInput(
                f"The parameter '{parameter.name}' of the tool {name} has no type.",
                hint=f"Write {parameter.name}: str.",
            )
        fields[f"p{number}"] = (hints[parameter.name], _field(parameter, hints, explained))
    try:
        made: type[pydantic.BaseModel] = pydantic.create_model(
            name, __config__=pydantic.ConfigDict(extra="forbid"), **fields
        )
        schema_of(made)
    except pydantic.errors.PydanticUserError as error:
        raise BadInput(
            f"The tool {name} takes a type that cannot be told as JSON: {one_line(error.message.split('. ')[0])}.",
            hint="Use str, int, float, bool, date, list, dict, Literal, dataclasses or pydantic models.",
        ) from error
    return made


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The parameters' types. The result's is left alone: it may be known to a type checker only."""
    plain: Any = inspect.unwrap(function if inspect.isroutine(function) else type(function).__call__)
    written = {name: hint for name, hint in getattr(plain, "__annotations__", {}).items() if name != "return"}
    holder = types.SimpleNamespace(__annotations__=written)
    return typing.get_type_hints(holder, globalns=getattr(plain, "__globals__", {}), include_extras=True)


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any], explained: Mapping[str, str]) -> Any:
    notes = getattr(hints[parameter.name], "__metadata__", ())
    told = next((note for note in notes if isinstance(note, str)), explained.get(parameter.name))
    more: dict[str, Any] = {"description": told} if told else {}
    if parameter.default is not parameter.empty:
        default = parameter.default
        plain = default is None or isinstance(default, str | int | float | bool)
        more |= {"default": default} if plain else {"default_factory": lambda: default}
    return pydantic.Field(alias=parameter.name, **more)


async def _aside(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """What it gives or raises, in a daemon thread: leaving Python must not wait for a function that never ends."""
    ended: list[tuple[Any, BaseException | None]] = []
    done, context = anyio.Event(), contextvars.copy_context()
    async with BlockingPortal() as portal:

        def run() -> None:
            try:
                ended.append((context.run(work), None))
            except BaseException as error:  # noqa: BLE001  handed to the waiting task
                ended.append((None, error))
            with contextlib.suppress(RuntimeError):  # nobody waits any more
                portal.start_task_soon(done.set)

        threading.Thread(target=run, name="sleuth tool", daemon=True).start()
        await done.wait()
    return ended[0]
