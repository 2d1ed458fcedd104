"""Three faces of one run: `ask` waits in a thread, `aask` in a task, `stream` hands over the events as they come."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sleuth.app.compose import LibraryLike, ModelLike, Order, StrategyLike, perform, prepare
from sleuth.app.portal import portal
from sleuth.app.tools import ToolLike
from sleuth.errors import WrongUse
from sleuth.events import Event, Sink
from sleuth.types import Answer, Budget


def ask(
    question: str,
    *,
    strategy: StrategyLike | None = None,
    model: ModelLike | None = None,
    library: LibraryLike | None = None,
    budget: Budget | None = None,
    setting: str | None = None,
    tools: Iterable[ToolLike] | ToolLike = (),
    sinks: Iterable[Sink] = (),
    trace: bool | Path | str | None = None,
    offline: bool | None = None,
    **params: Any,
) -> Answer:
    """Answer a question, and wait for it. Works in scripts, in notebooks, from several threads, and after a fork.

    What is not said comes from the settings: the local model, the sample library, the default strategy. `model` is
    a name (``"openai:NAME"``) or any object with the methods of `sleuth.ports.Model`; `library` a name, a folder,
    or a `sleuth.ports.Source`; `strategy` a name, or a flow function. `setting` picks a named set of the strategy's
    parameters (``"default"``, ``"paper"``); further keyword arguments override them one by one. `tools` are
    typed functions (see `tool`) or names (``"calculator"``, ``"dates"``), for strategies that use tools. `trace` is a file,
    or False for none; traces go to the home folder's ``runs``. `sinks` are called with each `Event`, in Sleuth's
    background thread. ``offline=True`` forbids fetching a model.

    A run that ends without an answer returns an `Answer` that says why (`status`, `ended`, `note`). Raises
    `WrongUse` and its kin for what the caller can mend. Ctrl-C cancels the run, waits for it, and raises
    KeyboardInterrupt.
    """
    order = prepare(
        question,
        strategy=strategy,
        model=model,
        library=library,
        budget=budget,
        setting=setting,
        params=params,
        tools=tools,
        sinks=sinks,
        trace=trace,
        offline=offline,
    )
    return wait_for(order)


async def aask(
    question: str,
    *,
    strategy: StrategyLike | None = None,
    model: ModelLike | None = None,
    library: LibraryLike | None = None,
    budget: Budget | None = None,
    setting: str | None = None,
    tools: Iterable[ToolLike] | ToolLike = (),
    sinks: Iterable[Sink] = (),
    trace: bool | Path | str | None = None,
    offline: bool | None = None,
    **params: Any,
) -> Answer:
    """`ask` for asyncio: the caller's loop stays free. The run itself goes on in Sleuth's background loop, on the same
    models as every other; cancelling the task cancels the run and waits for it. To run in one's own loop, use `Engine`.
    """
    _callers_loop()
    order = prepare(
        question,
        strategy=strategy,
        model=model,
        library=library,
        budget=budget,
        setting=setting,
        params=params,
        tools=tools,
        sinks=sinks,
        trace=trace,
        offline=offline,
    )
    return await portal().submit(partial(perform, order)).outcome()


async def stream(
    question: str,
    *,
    strategy: StrategyLike | None = None,
    model: ModelLike | None = None,
    library: LibraryLike | None = None,
    budget: Budget | None = None,
    setting: str | None = None,
    tools: Iterable[ToolLike] | ToolLike = (),
    sinks: Iterable[Sink] = (),
    trace: bool | Path | str | None = None,
    offline: bool | None = None,
    deltas: bool = False,
    **params: Any,
) -> AsyncIterator[Event]:
    """The same run, watched: its events as they happen, the last one `Closed` with the answer.

    With `deltas`, replies are also handed over piece by piece while they are written (a call of which a piece was seen
    is not retried). Leaving the loop early cancels the run (``contextlib.aclosing`` makes that happen at once). Raises as `ask` does.
    """
    order = prepare(
        question,
        strategy=strategy,
        model=model,
        library=library,
        budget=budget,
        setting=setting,
        params=params,
        tools=tools,
        sinks=sinks,
        trace=trace,
        offline=offline,
    )
    loop, events = _callers_loop(), asyncio.Queue[Event | None]()

    def pass_on(event: Event | None) -> None:
        with contextlib.suppress(RuntimeError):  # the caller's loop is closed: nobody reads any more
            loop.call_soon_threadsafe(events.put_nowait, event)

    job = portal().submit(partial(perform, replace(order, sinks=(*order.sinks, pass_on), deltas=deltas)))
    job.future.add_done_callback(lambda _: pass_on(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        job.future.result()
    finally:
        await job.stop()


def wait_for(order: Order) -> Answer:
    """Run an order in the background loop and wait for it in this thread."""
    return portal().submit(partial(perform, order)).result()


def _callers_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise WrongUse(
            "aask and stream are for asyncio, and no asyncio loop runs here.",
            hint="Use sleuth.ask, or under trio a sleuth.Engine in your own loop.",
        ) from None
