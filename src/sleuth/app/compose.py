"""From what the user said to a run: everything wrong is told before anything starts, then the engine is put together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread

from sleuth import __version__
from sleuth.app import libraries, models, settings, strategies
from sleuth.app.keep import Keep
from sleuth.app.names import listing
from sleuth.app.question import checked
from sleuth.app.tools import Given, ToolLike, find, recorded
from sleuth.engine import Engine, Recording
from sleuth.engine.engine import new_run
from sleuth.errors import BadInput, WrongUse
from sleuth.events import Sink
from sleuth.ports import Model, Source
from sleuth.strategies import TABLE
from sleuth.strategies.actions import allowed
from sleuth.trace import RunStore, TraceWriter
from sleuth.types import Answer, Budget, Flow, Role, Strategy

StrategyLike = str | Strategy | Callable[..., Flow[Answer]]
ModelLike = str | Model
LibraryLike = str | Path | Source


@dataclass(frozen=True, slots=True)
class Order:
    """A run that has been checked and not begun. `trace` is the file it is written to, or None."""

    question: str
    strategy: Strategy
    params: Mapping[str, Any]
    model: ModelLike
    models: Mapping[Role, str]
    library: LibraryLike
    budget: Budget
    settings: settings.Settings
    about: Mapping[str, Any]
    run: str
    trace: Path | None
    recording: Recording | None = None
    tools: tuple[Given, ...] = ()
    sinks: tuple[Sink, ...] = ()
    deltas: bool = False


def prepare(
    question: str,
    *,
    strategy: StrategyLike | None = None,
    model: ModelLike | None = None,
    library: LibraryLike | None = None,
    budget: Budget | None = None,
    setting: str | None = None,
    params: Mapping[str, Any] | None = None,
    tools: Iterable[ToolLike] | ToolLike = (),
    sinks: Iterable[Sink] = (),
    trace: bool | Path | str | None = None,
    offline: bool | None = None,
    given: settings.Settings | None = None,
) -> Order:
    """Check what was said, fill in the settings. Raises `WrongUse` and its kin, `DownloadError` when offline."""
    chosen = given or settings.load(offline=offline)
    found = strategies.find(chosen.strategy if strategy is None else strategy)
    which = chosen.setting if setting is None else setting
    usable = find(tools)
    fitted = strategies.parameters(found, which, _offering(found, params or {}, usable), guards=chosen.guards)
    model = chosen.model if model is None else model
    library = chosen.library if library is None else library
    _fits("model", model, ("name", "generate", "count", "price", "aclose"))
    _fits("library", library, ("name", "search", "open", "aclose"))
    by_role = _by_role(chosen) if isinstance(model, str) else {}
    limits = chosen.budget if budget is None else budget
    if not isinstance(limits, Budget):
        raise BadInput(f"The budget is a {type(limits).__name__}.", hint="Give a sleuth.Budget(calls=..., tokens=...).")
    window = _checked_models([model, *by_role.values()], chosen, limits)
    run = new_run()
    about = {
        "strategy": found.card.name,
        "setting": which,
        "params": fitted,
        "model": _name(model),
        "models": dict(by_role),
        "library": _name(library),
        "budget": limits,
        "version": __version__,
    }
    if usable:
        about["tools"] = recorded(usable)
    return Order(
        question=checked(question, window=window),
        strategy=found,
        params=fitted,
        model=model,
        models=by_role,
        library=library,
        budget=limits,
        settings=chosen,
        about=about,
        run=run,
        trace=_trace_file(trace, run, chosen),
        tools=usable,
        sinks=tuple(sinks),
    )


async def perform(order: Order, keep: Keep) -> Answer:
    """Run the order in this event loop, on the kept models. Raises what `Engine.run` raises, and `NoLibrary`."""
    source = await source_of(order)
    with _writing(order.trace) as writers:
        engine = Engine(
            _model(order.model, order.settings, keep),
            source,
            models={role: _model(name, order.settings, keep) for role, name in order.models.items()},
            tools=[each.tool for each in order.tools],
            sinks=(*writers, *order.sinks),
            budget=order.budget,
            recording=order.recording,
            deltas=order.deltas,
        )
        try:
            return await engine.run(_flow(order), question=order.question, about=order.about, run=order.run)
        finally:
            if source is not order.library:
                with anyio.CancelScope(shield=True):
                    await source.aclose()


def _fits(what: str, given: object, names: tuple[str, ...]) -> None:
    """Raises `WrongUse` for an object that lacks what a model or a source has."""
    lacking = [] if isinstance(given, str | Path) else [name for name in names if not hasattr(given, name)]
    if lacking:
        raise WrongUse(
            f"The {what} given is a {type(given).__name__}, which has no {listing(lacking)}.",
            hint=f"Give a name, or an object with what sleuth.ports.{'Model' if what == 'model' else 'Source'} has.",
        )


def _offering(found: Strategy, params: Mapping[str, Any], usable: tuple[Given, ...]) -> Mapping[str, Any]:
    """The parameters, with the tools' specs where the flow takes them; a flow of the user's own may call them by name.

    Raises `BadInput` for a packaged strategy that has no use for tools, or has an action of that name.
    """
    if isinstance(params.get("tools"), str):
        raise BadInput("Tools are no plain parameter.", hint="Give them one by one: --tool calculator")
    takes = "tools" in strategies.accepted(found)
    if usable and not takes and found.card.name in TABLE:
        able = listing(name for name, each in TABLE.items() if "tools" in strategies.accepted(each))
        raise BadInput(f"The strategy '{found.card.name}' uses no tools.", hint=f"Strategies that do: {able}.")
    if not usable or not takes:
        return params
    specs = tuple(each.spec for each in usable)
    return {**params, "tools": allowed(specs) if found.card.name in TABLE else specs}


def _flow(order: Order) -> Flow[Answer]:
    flow: object = order.strategy.flow(order.question, **order.params)
    if isinstance(flow, Generator):
        return _answering(flow, order.strategy.card.name)
    if isinstance(flow, Coroutine):
        flow.close()
    raise WrongUse(
        f"The strategy '{order.strategy.card.name}' is no flow: calling it gave a {type(flow).__name__}.",
        hint="A flow is a generator function: `def`, not `async def`, with at least one `yield from`.",
    )


def _answering(flow: Flow[Answer], name: str) -> Flow[Answer]:
    """The flow, failing where it ends with something else: its trace then holds no answer."""
    answer: object = yield from flow
    if isinstance(answer, Answer) and isinstance(answer.text, str):
        return answer
    text = f"an Answer with a {type(answer.text).__name__} for its text" if isinstance(answer, Answer) else ""
    raise WrongUse(
        f"The strategy '{name}' returned {text or f'a {type(answer).__name__}, not an Answer'}.",
        hint='End its flow with `return sleuth.Answer(text, "answered", "final_answer")`.',
    )


def check_models(names: Iterable[str], chosen: settings.Settings) -> None:
    """Raises as `prepare` does for a model that cannot be used under these settings."""
    _checked_models(names, chosen, chosen.budget)


def is_local(name: str, chosen: settings.Settings) -> bool:
    """Does that model run on this machine, in Sleuth's hands?"""
    return isinstance(models.parse(name, chosen), models.LocalName)


def opened(name: str, chosen: settings.Settings, keep: Keep) -> Model:
    """The kept model of that name. Raises `UnknownName`, `BadInput`."""
    return _model(name, chosen, keep)


def store(chosen: settings.Settings) -> RunStore:
    """The store of runs under the home folder."""
    return RunStore(chosen.runs)


def _by_role(chosen: settings.Settings) -> dict[Role, str]:
    named: dict[Role, str | None] = {
        "plan": chosen.plan_model,
        "read": chosen.read_model,
        "judge": chosen.judge_model,
    }
    return {role: name for role, name in named.items() if name is not None}


def _checked_models(wanted: Iterable[ModelLike], chosen: settings.Settings, budget: Budget) -> int | None:
    """The smallest window among the local models (tokens), None when there is none of them."""
    windows = []
    for model in wanted:
        if isinstance(model, str):
            named = models.parse(model, chosen)
            models.check_present(named)
            if isinstance(named, models.LocalName):
                windows.append(named.context)
            elif budget.usd is not None and not named.priced:
                raise BadInput(
                    f"A limit in dollars needs the prices of '{model}', which are not known.",
                    hint="Set price_read and price_written (US dollars a million tokens) in sleuth.toml, or limit --tokens.",
                )
    return min(windows, default=None)


def _model(model: ModelLike, chosen: settings.Settings, keep: Keep) -> Model:
    if not isinstance(model, str):
        return model
    named = models.parse(model, chosen)
    server = named.base_url if isinstance(named, models.RemoteName) else None
    return keep.model(named, lambda: models.make(named, lambda: keep.limiter(server)))


async def source_of(order: Order) -> Source:
    """The order's source, opened where it is a name. Raises `NoLibrary`, `LibraryFault`."""
    if not isinstance(order.library, str | Path):
        return order.library
    folder = await anyio.to_thread.run_sync(libraries.existing, order.library, order.settings)
    return await anyio.to_thread.run_sync(libraries.open_source, folder)


def _name(given: ModelLike | LibraryLike) -> str:
    if isinstance(given, str):
        return given
    return str(given.absolute()) if isinstance(given, Path) else given.name


def _trace_file(trace: bool | Path | str | None, run: str, chosen: settings.Settings) -> Path | None:
    wanted = chosen.trace if trace is None else trace
    if wanted is False:
        return None
    if wanted is True:
        return store(chosen).path(run)
    path = Path(wanted).expanduser().absolute()
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"The trace cannot be written to {path}.", hint="Name a file in a folder that exists.")
    return path


@contextlib.contextmanager
def _writing(path: Path | None) -> Iterator[tuple[Sink, ...]]:
    if path is None:
        yield ()
        return
    with TraceWriter(path) as writer:
        yield (writer,)
