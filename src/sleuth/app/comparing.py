"""One question, several strategies: the same source, model and limits for each, one after the other or side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from sleuth.app import libraries, settings, strategies
from sleuth.app.compare import Comparison, Row, after, compared
from sleuth.app.compose import LibraryLike, ModelLike, Order, StrategyLike, perform, prepare
from sleuth.app.keep import Keep
from sleuth.app.portal import portal
from sleuth.app.tools import ToolLike
from sleuth.errors import BadInput
from sleuth.events import Event, Sink
from sleuth.ports import Source
from sleuth.types import Budget, Guards, Strategy


def compare(
    question: str,
    strategies: Iterable[StrategyLike] | None = None,
    *,
    model: ModelLike | None = None,
    library: LibraryLike | None = None,
    budget: Budget | None = None,
    setting: str | None = None,
    tools: Sequence[ToolLike] = (),
    guards: Guards | Mapping[str, Any] | None = None,
    at_once: int = 1,
    sinks: Iterable[Sink] = (),
    trace: bool | None = None,
    offline: bool | None = None,
) -> Comparison:
    """Ask one question by several strategies (every one there is, unless named), and wait for all of them.

    A strategy is named as for `ask`, and may carry a setting and parameters: ``"react"``, ``"react:paper"``,
    ``"cot-sc:n=3"``, ``"react:paper:steps=5"``. They share the library, the model and the `budget` (which is each
    one's own, not one for all together); `tools` and `guards` go to those that take them. The runs come one after the other, or `at_once` at a time. Each run has its trace in
    the home folder's ``runs`` unless `trace` is False, and tells its events to the `sinks` (which run it is says `Event.run`).

    A strategy that fails, or raises, says so in its row and stops no other. Raises `WrongUse` and its kin for what the
    caller can mend, before anything is asked; `LibraryFault` when the library cannot be opened. Ctrl-C cancels what
    still runs, and raises KeyboardInterrupt; the traces are kept.
    """
    comparing = arranged(
        question,
        strategies,
        model=model,
        library=library,
        budget=budget,
        setting=setting,
        tools=tools,
        guards=guards,
        at_once=at_once,
        sinks=sinks,
        trace=trace,
        offline=offline,
    )
    return wait_for(comparing)


def wait_for(comparing: Comparing) -> Comparison:
    """Perform it in the background loop and wait in this thread. Ctrl-C cancels what runs; see `Comparing.so_far` then."""
    return portal().submit(comparing.perform).result()


class Comparing:
    """A comparison that has been checked and not begun: `perform` it in the background loop, look at it from anywhere."""

    def __init__(self, orders: Sequence[Order], at_once: int, sinks: Iterable[Sink] = ()) -> None:
        self._orders = tuple(orders)
        self._at_once = at_once
        self._sinks = tuple(sinks)
        self._rows = [Row(order.about["named"], order.run, trace=order.trace) for order in self._orders]

    def so_far(self) -> Comparison:
        """The comparison as far as it has come: rows of runs that wait, go on, or have ended."""
        return compared(self._orders[0].question, self._rows)

    def rows(self) -> tuple[Row, ...]:
        """Its rows alone, as they are now."""
        return tuple(self._rows)

    async def perform(self, keep: Keep) -> Comparison:
        """Run every order over one opened library. Raises `NoLibrary`, `LibraryFault`; what a run raises is in its row."""
        limiter = anyio.CapacityLimiter(self._at_once)
        library = self._orders[0].library
        source = await _opened(library, self._orders[0].settings)
        try:
            async with anyio.create_task_group() as group:
                for place, order in enumerate(self._orders):
                    group.start_soon(self._run, place, replace(order, library=source), keep, limiter)
        finally:
            if source is not library:
                with anyio.CancelScope(shield=True):
                    await source.aclose()
        return self.so_far()

    async def _run(self, place: int, order: Order, keep: Keep, limiter: anyio.CapacityLimiter) -> None:
        def note(event: Event) -> None:
            self._rows[place] = after(self._rows[place], event)

        async with limiter:
            try:
                await perform(replace(order, sinks=(note, *self._sinks)), keep)
            except Exception as error:  # noqa: BLE001  whatever one strategy does, the others go on; its row tells
                self._rows[place] = replace(self._rows[place], error=error, doing=None)


def arranged(
    question: str,
    named: Iterable[StrategyLike] | None = None,
    *,
    model: ModelLike | None = None,
    library: LibraryLike | None = None,
    budget: Budget | None = None,
    setting: str | None = None,
    tools: Sequence[ToolLike] = (),
    guards: Guards | Mapping[str, Any] | None = None,
    at_once: int = 1,
    sinks: Iterable[Sink] = (),
    trace: bool | None = None,
    offline: bool | None = None,
    given: settings.Settings | None = None,
) -> Comparing:
    """Check everything that was said, for all strategies. Raises as `sleuth.app.compose.prepare` does."""
    if at_once < 1:
        raise BadInput(f"{at_once} runs at once are none.", hint="Give a number from 1 up.")
    chosen = given or settings.load(offline=offline)
    entries = [entry(each, setting or chosen.setting) for each in (strategies.table() if named is None else named)]
    if not entries:
        raise BadInput("There is no strategy to compare.", hint="Name some: --strategies link-then-read,self-ask")
    if tools and not any("tools" in strategies.accepted(each.strategy) for each in entries):
        raise BadInput("None of these strategies uses tools.", hint="Leave the tools out, or add react.")
    orders = []
    for each in entries:
        takes = strategies.accepted(each.strategy)
        order = prepare(
            question,
            strategy=each.strategy,
            model=model,
            library=library,
            budget=budget,
            setting=each.setting,
            params=each.params if guards is None or "guards" not in takes else {"guards": guards, **each.params},
            tools=tools if "tools" in takes else (),
            trace=trace,
            given=chosen,
        )
        orders.append(replace(order, about={**order.about, "named": each.name}))
    return Comparing(orders, at_once, sinks)


@dataclass(frozen=True, slots=True)
class Entry:
    """A strategy that takes part: its setting, its parameters as they were written, and what it is called in the table."""

    strategy: Strategy
    setting: str
    params: Mapping[str, Any]
    name: str


def entry(named: StrategyLike, setting: str = "default") -> Entry:
    """Read ``NAME[:SETTING][:PARAMETER=VALUE]...``; a flow or a `Strategy` is taken as it is. Raises `UnknownName`, `BadInput`.

    `setting` is the one of a name that says none.
    """
    head, *rest = named.split(":") if isinstance(named, str) else (named,)
    found = strategies.find(head.strip() if isinstance(head, str) else head)
    params: dict[str, str] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if equals and key.strip():
            params[key.strip().replace("-", "_")] = value
        elif word.strip() and not equals:
            setting = word.strip()
        else:
            raise BadInput(f"'{word}' in '{named}' is no setting.", hint="Write react, react:paper or cot-sc:n=3.")
    told = [setting] if setting != "default" else []
    told += [f"{key}={value}" for key, value in params.items()]
    return Entry(found, setting, params, ":".join([found.card.name, *told]))


async def _opened(library: LibraryLike, chosen: settings.Settings) -> Source:
    if not isinstance(library, str | Path):
        return library
    folder = await anyio.to_thread.run_sync(libraries.existing, library, chosen)
    return await anyio.to_thread.run_sync(libraries.open_source, folder)
