"""``sleuth bench run``: the whole matrix, its price told first, gone on with by the same command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from sleuth.cli.answers import many
from sleuth.cli.ask import pairs
from sleuth.cli.screen import Output, prints_apart, put, stderr, whole
from sleuth.cli.text import one_line
from sleuth.errors import BadInput, EnvironmentFault

if TYPE_CHECKING:
    from sleuth.app.benching import Benching
    from sleuth.bench.power import Price

EXAMPLE = """\
Examples:
  sleuth bench run questions.jsonl --library notes --strategy link-then-read --strategy react
  sleuth bench run hotpotqa:hotpot_dev_distractor_v1.json --sample 50 --strategy self-ask:paper --baselines
  sleuth bench run hotpotqa:PATH fever:PATH --preset react-paper --set samples=5 --output bench-react --yes"""

HOURS = 2.0
"""What may be spent without asking; a run that costs dollars is asked about in any case."""


def add_to(app: App) -> None:
    """Make `run` a command of `sleuth bench`."""
    app.command(run, help_epilogue=EXAMPLE)


def run(
    *task: Annotated[str, Parameter(help="Questions with gold: a .jsonl or .csv file, a folder, or SET:PATH.")],
    strategy: Annotated[
        list[str] | None,
        Parameter(help="NAME, NAME:SETTING or NAME:PARAMETER=VALUE, as for compare; may be repeated.", negative=""),
    ] = None,
    preset: Annotated[str, Parameter(help="A paper's methods: react-paper.")] = "",
    set_: Annotated[
        list[str] | None,
        Parameter(name="--set", help="A number of the preset, such as samples=5; may be repeated.", negative=""),
    ] = None,
    model: Annotated[list[str] | None, Parameter(help="As for ask; may be repeated.", negative="")] = None,
    library: Annotated[
        list[str] | None,
        Parameter(
            help="Where to look up, in place of a task's own passages: NAME, or TASK=NAME; may be repeated.",
            negative="",
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        Parameter(help="TASK=PATH: passages for a task whose set has none; may be repeated.", negative=""),
    ] = None,
    sample: Annotated[int | None, Parameter(help="So many questions of each task.", converter=whole)] = None,
    seed: Annotated[int, Parameter(help="Which sample.", converter=whole)] = 0,
    stratify: Annotated[bool, Parameter(help="Of each label or type its share.", negative="")] = False,
    ids: Annotated[
        list[Path] | None,
        Parameter(help="A file of question ids: one for all tasks, or one for each in their order.", negative=""),
    ] = None,
    baselines: Annotated[bool, Parameter(help="Also ask with nothing looked up.", negative="")] = False,
    calls: Annotated[int | None, Parameter(help="Most model calls of a run.", converter=whole)] = None,
    tokens: Annotated[int | None, Parameter(help="Most tokens of a run.", converter=whole)] = None,
    seconds: Annotated[float | None, Parameter(help="Deadline of a run, in seconds.")] = None,
    at_once: Annotated[
        int, Parameter(help="Questions at the same time; more than 1 helps with a server only.", converter=whole)
    ] = 1,
    folder: Annotated[
        Path | None, Parameter(name=("--output", "-o"), help="The bench's folder. Without it: bench-TASK here.")
    ] = None,
    yes: Annotated[bool, Parameter(name=("--yes", "-y"), help="Do not ask before spending.", negative="")] = False,
    offline: Annotated[bool | None, Parameter(help="Never fetch a model.", negative="")] = None,
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), help="No progress on stderr.", negative="")] = False,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> int:
    """Ask every question with every strategy and model; the same command goes on where it stopped."""
    from sleuth.app import benching, settings
    from sleuth.bench import tasks

    if not task:
        raise BadInput(
            "There is no question to ask.", hint="Give a file of questions: sleuth bench run questions.jsonl"
        )
    chosen = settings.load(calls=calls, tokens=tokens, seconds=seconds, offline=offline)
    files = _files(ids or [], len(task))
    passages = _named(corpus or [], [_called(where) for where in task], "--corpus fever=wikipedia.jsonl")
    loaded = [
        tasks.load(
            where,
            sample=sample,
            ids=file,
            seed=seed,
            stratify=stratify,
            corpus=Path(passages[_called(where)]) if _called(where) in passages else None,
            cache=chosen.home / "datasets",
        )
        for where, file in zip(task, files, strict=True)
    ]
    where = folder or Path("-".join(["bench", *(each.name for each in loaded), *([preset] if preset else [])]))
    with prints_apart():
        bench = benching.arranged(
            loaded,
            strategy or (),
            folder=where,
            preset=preset,
            numbers=pairs(set_ or [], "--set samples=5"),
            models=model or (),
            libraries=_named(library or [], [each.name for each in loaded], "--library hotpotqa=notes"),
            baselines=baselines,
            at_once=at_once,
            seed=seed,
            given=chosen,
        )
    return _performed(bench, yes=yes, quiet=quiet, output=output)


def _files(ids: list[Path], tasks: int) -> list[Path | None]:
    if len(ids) == tasks:
        return list(ids)
    if len(ids) > 1:
        raise BadInput(f"There are {tasks} tasks and {len(ids)} files of ids.", hint="Give one --ids for each task.")
    return [ids[0] if ids else None] * tasks


def _called(where: str) -> str:
    """What a task is called before it is read: its set's name, or its file's."""
    name, colon, _ = where.partition(":")
    return name if colon and len(name) > 1 else Path(where).stem


def _named(given: list[str], names: Sequence[str], example: str) -> dict[str, str]:
    """TASK=VALUE texts by task; what names no task is for all the others. Raises `BadInput`."""
    found: dict[str, str] = {}
    for text in sorted(given, key=lambda text: "=" not in text):
        head, equals, value = text.partition("=")
        if not equals:
            found |= {name: text for name in names if name not in found}
        elif head in names and value:
            found[head] = value
        else:
            raise BadInput(
                f"'{text}' names no task.", hint=f"Tasks: {', '.join(names)}. Write, for example, {example}."
            )
    return found


def _performed(bench: Benching, *, yes: bool, quiet: bool, output: Output) -> int:
    """Tell what it will be, ask the pilot, tell its price, ask the rest, show what came out."""
    from sleuth.app.benching import PILOT, wait_for
    from sleuth.cli.bench.matrix import Matrix
    from sleuth.cli.bench.shown import put_summary

    if not quiet:
        _put_plan(bench)
    with prints_apart():
        with Matrix(stderr(), bench, quiet=quiet):
            wait_for(bench, PILOT)
        price = _price(bench)
        if price is not None:
            _agreed(price, yes=yes, quiet=quiet)
            with Matrix(stderr(), bench, quiet=quiet):
                wait_for(bench)
    put_summary(bench.folder, as_json=output.json)
    for name, error in bench.dead.items():
        raise EnvironmentFault(
            f"The model {name} answers no more: {error.message}",
            hint="What is done is kept. Mend that, and give the same command again.",
        ) from error
    if bench.refused:
        key, refused = next(iter(bench.refused.items()))
        raise BadInput(
            f"{many(len(bench.refused), 'run')} could not begin, and {'has' if len(bench.refused) == 1 else 'have'} no score. "
            f"The first ({one_line(key, 200)}): {refused}"
        ) from refused
    return 0


def _put_plan(bench: Benching) -> None:
    from sleuth.bench.power import smallest_difference

    err, plan = stderr(), bench.plan
    put(
        err,
        ("bench  ", "bold"),
        f"{bench.folder.folder}: {many(bench.runs(), 'run')} ({many(len(plan.tasks), 'task')}, "
        f"{many(len(plan.models), 'model')}, {many(len(plan.methods), 'method')})",
    )
    for task in plan.tasks:
        n = len(bench.questions(task.name))
        try:
            least = smallest_difference(n)
        except EnvironmentFault as lacking:
            put(err, (f"  {task.name}: ", "bold"), f"{n} questions. {lacking}")
            continue
        shows = f"a difference of {100 * least:.0f} points or more" if least <= 1 else "no difference, however large"
        put(
            err,
            (f"  {task.name}: ", "bold"),
            f"{many(n, 'question')}, asked of {task.library}; between two methods they can show {shows}",
        )


def _price(bench: Benching) -> Price | None:
    """None where nothing is left, or where it cannot be told."""
    from sleuth.app.benching import wait_for

    try:
        return bench.price()
    except EnvironmentFault as lacking:
        put(stderr(), f"The price is not known: {lacking}")
        wait_for(bench)
        return None


def _agreed(price: Price, *, yes: bool, quiet: bool) -> None:
    """Say the price; ask where it is high. Raises `BadInput` for a no, and where nobody can be asked."""
    from sleuth.cli.bench.shown import duration

    err = stderr()
    if not quiet:
        put(
            err,
            ("price  ", "bold"),
            f"the other {price.questions:,} run{'' if price.questions == 1 else 's'}, by the {price.pilot:,} done: "
            f"about {price.calls.value:,.0f} call{'' if round(price.calls.value) == 1 else 's'}, "
            f"{price.tokens.value:,.0f} tokens, "
            f"{f'${price.usd.value:,.2f}' if price.usd.value else 'no dollars'}, "
            f"{duration(3600 * price.hours.value)} (up to {duration(3600 * price.hours.high)})",
        )
    if yes or (price.hours.value <= HOURS and not price.usd.value):
        return
    stop = BadInput("Stopped before the rest; what is done is kept.", hint="Add --yes to go on without being asked.")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise stop
    put(err, "Go on? [y/N] ")
    if input().strip().casefold() not in ("y", "yes"):
        raise stop
