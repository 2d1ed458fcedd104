"""Strategies by name: the packaged table, the user's own, and the parameters each takes."""

from __future__ import annotations

import inspect
import math
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError

from sleuth.app import guarding
from sleuth.app.names import listing, suggestion, unknown
from sleuth.errors import BadInput, WrongUse
from sleuth.strategies import TABLE
from sleuth.types import Answer, Card, Flow, Guards, Strategy

F = TypeVar("F", bound=Callable[..., Flow[Answer]])

_own: dict[str, Strategy] = {}


def strategy(
    name: str,
    *,
    card: Card | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    most_calls: int | None = None,
) -> Callable[[F], F]:
    """Give a flow of one's own a name, for `ask` and the command line's sake.

    The flow takes the question first; its other parameters become the strategy's. `settings` are named sets of
    parameters; `most_calls` is the most model calls it can make (unknown: no bound). Defining it anew replaces it.
    Raises `BadInput` for the name of a packaged strategy.
    """

    def register(flow: F) -> F:
        if name in _aliases(TABLE):
            raise BadInput(f"'{name}' is a packaged strategy.", hint="Choose another name for yours.")
        _own[name] = _described(name, flow, card, settings or {}, most_calls)
        return flow

    return register


def table() -> dict[str, Strategy]:
    """Every strategy by its name: the packaged ones, then the user's own."""
    return {**TABLE, **_own}


def find(wanted: str | Strategy | Callable[..., Flow[Answer]]) -> Strategy:
    """The strategy of that name or alias; a `Strategy` or a bare flow function is taken as it is. Raises `UnknownName`."""
    if isinstance(wanted, Strategy):
        return wanted
    if callable(wanted):
        return _described(getattr(wanted, "__name__", "flow"), wanted, None, {}, None)
    found = _aliases(table()).get(wanted.casefold())
    if found is None:
        raise unknown("strategy", wanted, table(), command="sleuth strategies list")
    return found


def parameters(
    strategy: Strategy, setting: str, given: Mapping[str, Any], *, guards: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The setting's parameters with the given ones on top, checked against the flow's signature.

    Guards may be given in part: the rest is the setting's or, where that says nothing, `guards` over the flow's own.
    Raises `UnknownName` for a setting, `BadInput` for a parameter the flow does not take or a value that does not fit
    its annotation (texts such as "3" or "true" are read as the annotation says).
    """
    name = strategy.card.name
    if setting != "default" and setting not in strategy.settings:
        raise unknown(
            f"setting of '{name}'", setting, {"default", *strategy.settings}, command=f"sleuth strategies show {name}"
        )
    allowed = accepted(strategy)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(strategy.flow).parameters.values())
    for key in given:
        if key not in allowed and not takes_any:
            hint = f"{suggestion(key, allowed)} It takes: {listing(allowed)}.".strip()
            raise BadInput(f"The strategy '{name}' has no parameter '{key}'.", hint=hint)
    fitted = {key: _fitted(name, key, value, allowed.get(key)) for key, value in given.items() if key != "guards"}
    if any(strategy.card is each.card for each in TABLE.values()):
        _check_numbers(name, fitted)
    params = {**strategy.settings.get(setting, {}), **fitted}
    if "guards" in given or (guards and "guards" in allowed):
        params["guards"] = _guards(name, allowed.get("guards"), params.get("guards"), given.get("guards"), guards or {})
    return params


def _guards(
    strategy: str, parameter: inspect.Parameter | None, said: object, given: object, settings: Mapping[str, Any]
) -> Any:
    """`said` by the strategy's setting or else its flow and the settings, with what is given over it."""
    if parameter is None or parameter.annotation is not Guards:
        return _fitted(strategy, "guards", given, parameter)
    base = said
    if not isinstance(base, Guards):
        own = parameter.default if isinstance(parameter.default, Guards) else Guards()
        base = guarding.guards(own, settings, where="the settings")
    return base if given is None else guarding.guards(base, given)


def accepted(strategy: Strategy) -> dict[str, inspect.Parameter]:
    """What the flow takes beside the question, by name."""
    every = list(_signature(strategy.flow).parameters.values())
    return {p.name: p for p in every[1:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def _signature(flow: Callable[..., Any]) -> inspect.Signature:
    try:
        hints = typing.get_type_hints(flow)
    except (NameError, TypeError):  # annotations that only a type checker can resolve
        hints = {}
    plain = inspect.signature(flow)
    resolved = [p.replace(annotation=hints.get(p.name, p.empty)) for p in plain.parameters.values()]
    return plain.replace(parameters=resolved)


def _fitted(strategy: str, key: str, value: Any, parameter: inspect.Parameter | None) -> Any:
    if parameter is None or parameter.annotation is parameter.empty:
        return value
    try:
        adapter = TypeAdapter[Any](parameter.annotation)
    except PydanticSchemaGenerationError:  # a type of the user's own: the flow will judge
        return value
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        if isinstance(value, str) and value[:1] in ("[", "{"):
            return _from_json(adapter, strategy, key, value)
        raise _misfit(strategy, key, value, error) from error


def _check_numbers(strategy: str, params: Mapping[str, Any]) -> None:
    """What the packaged strategies count starts at 0. Raises `BadInput`."""
    for key, value in params.items():
        if (isinstance(value, int) and value < 0) or (isinstance(value, float) and math.isnan(value)):
            raise BadInput(
                f"The parameter '{key}' of '{strategy}' cannot be {value!r}: it is a number from 0 up.",
                hint=f"Try: sleuth strategies show {strategy}",
            )


def _from_json(adapter: TypeAdapter[Any], strategy: str, key: str, value: str) -> Any:
    try:
        return adapter.validate_json(value)
    except ValidationError as error:
        raise _misfit(strategy, key, value, error) from error


def _misfit(strategy: str, key: str, value: Any, error: ValidationError) -> WrongUse:
    why = error.errors()[0]["msg"]
    return BadInput(
        f"The parameter '{key}' of '{strategy}' cannot be {value!r}: {why[:1].lower()}{why[1:]}.",
        hint=f"Try: sleuth strategies show {strategy}",
    )


def _aliases(strategies: Mapping[str, Strategy]) -> dict[str, Strategy]:
    by_alias = {alias.casefold(): each for each in strategies.values() for alias in each.card.aliases}
    return {**by_alias, **{name.casefold(): each for name, each in strategies.items()}}


def _described(
    name: str,
    flow: Callable[..., Flow[Answer]],
    card: Card | None,
    settings: Mapping[str, Mapping[str, Any]],
    most_calls: int | None,
) -> Strategy:
    summary = (inspect.getdoc(flow) or "A strategy of your own.").splitlines()[0]
    bound = sys.maxsize if most_calls is None else most_calls
    calls = "not stated" if most_calls is None else f"at most {most_calls}"
    plain = Card(
        *(name, summary, "", (), ()),
        *(False, False, False, False),
        *("medium", "medium", "medium", calls),
    )
    return Strategy(card or plain, flow, settings, lambda _: bound)
