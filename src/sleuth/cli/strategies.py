"""``sleuth strategies``: what there is, and what each is for."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from typing import Annotated, Any

from cyclopts import App, Parameter

from sleuth.cli.screen import Output, put, put_json, put_table, stdout
from sleuth.types import Strategy

app = App(
    name="strategies",
    help="The strategies: list them, show one's card.",
    help_epilogue="Example: sleuth strategies show self-ask",
)


@app.command(name="list", help_epilogue="Example: sleuth strategies list")
def list_(output: Output = Output()) -> None:  # noqa: B008  a frozen value
    """List the strategies, one a line."""
    from sleuth.app.strategies import table

    if output.json:
        put_json([dataclasses.asdict(each.card) for each in table().values()])
        return
    rows = [(each.card.name, each.card.cost, each.card.calls, each.card.summary) for each in table().values()]
    put_table(("strategy", "cost", "calls", "what it does"), rows, most=100)


@app.command(help_epilogue="Example: sleuth strategies show react")
def show(name: Annotated[str, Parameter(help="The strategy's name or alias.")], output: Output = Output()) -> None:  # noqa: B008  a frozen value
    """Show a strategy's card: when to use it, what it costs, its parameters and settings."""
    from sleuth.app.strategies import find

    found = find(name)
    if output.json:
        settings = {key: _plain(value) for key, value in found.settings.items()}
        put_json({**dataclasses.asdict(found.card), "parameters": _defaults(found), "settings": settings})
        return
    console = stdout()
    card = found.card
    put(console, (card.name, "bold"), f": {card.summary}")
    for head, text in _lines(found):
        if text:
            put(console, (f"{head:<12}", "dim"), text)


def _lines(found: Strategy) -> list[tuple[str, str]]:
    card = found.card
    shape = [name for name in ("loop", "parallel", "branch", "person_in_the_loop") if getattr(card, name)]
    return [
        ("aliases", ", ".join(card.aliases)),
        ("paper", card.paper),
        *(("use when", text) for text in card.when),
        *(("avoid when", text) for text in card.avoid),
        ("shape", ", ".join(shape).replace("_", " ") or "one pass"),
        ("autonomy", card.autonomy),
        ("cost", card.cost),
        ("latency", card.latency),
        ("calls", card.calls),
        ("most calls", ", ".join(f"{most:,} ({name})" for name, most in _bounds(found).items())),
        *(("parameter", f"{name} = {_short(value)}") for name, value in _defaults(found).items()),
        *(("setting", f"{name}: {_settings(values)}") for name, values in found.settings.items()),
    ]


def _bounds(found: Strategy) -> dict[str, int]:
    """The most model calls that each setting can make, where the strategy states it."""
    bounds = {name: found.most_calls(values) for name, values in found.settings.items()}
    return {name: most for name, most in bounds.items() if most < sys.maxsize}


def _defaults(found: Strategy) -> dict[str, Any]:
    from sleuth.app.strategies import accepted

    every = accepted(found).values()
    return _plain({p.name: None if p.default is inspect.Parameter.empty else p.default for p in every})


def _plain(values: Any) -> dict[str, Any]:
    simple = (str, int, float, bool, type(None), list, tuple)
    return {key: value if isinstance(value, simple) else repr(value) for key, value in values.items()}


def _settings(values: Any) -> str:
    return ", ".join(f"{key}={_short(value)}" for key, value in values.items()) or "the parameters as they are"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
