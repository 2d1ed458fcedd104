"""``sleuth ask``: one question, its hops live, its answer with the proof."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from sleuth.cli.answers import exit_status, put_answer, put_answer_json
from sleuth.cli.batch import ask_file
from sleuth.cli.live import Live
from sleuth.cli.screen import Output, prints_apart, put, stderr, whole
from sleuth.errors import BadInput

EXAMPLE = """\
Examples:
  sleuth ask "Who was US president when the Eiffel Tower was completed?"
  sleuth ask "Who designed it?" --library notes --strategy self-ask --calls 6
  sleuth ask "How much taller is the one than the other?" --strategy react --tool calculator
  sleuth ask "Which of the two towers is taller?" --plan plan.json
  sleuth ask --file questions.jsonl --library notes --json > answers.jsonl"""


def add_to(app: App) -> None:
    """Make `ask` a command of the application."""
    app.command(ask, help_epilogue=EXAMPLE)


def ask(
    *question: Annotated[str, Parameter(help="The question.")],
    strategy: Annotated[str | None, Parameter(help="How to look it up (sleuth strategies list).")] = None,
    setting: Annotated[
        str | None,
        Parameter(
            help="The strategy's setting: default, paper, or one of its own, such as claims or memory (sleuth strategies show NAME)."
        ),
    ] = None,
    library: Annotated[str | None, Parameter(help="Where to look it up (sleuth library list).")] = None,
    model: Annotated[
        str | None, Parameter(help="local, local:FILE.gguf, openai:NAME, ollama:NAME, http://HOST/v1#NAME.")
    ] = None,
    calls: Annotated[int | None, Parameter(help="Most model calls.", converter=whole)] = None,
    tokens: Annotated[int | None, Parameter(help="Most tokens, read and written.", converter=whole)] = None,
    usd: Annotated[float | None, Parameter(help="Most US dollars.")] = None,
    seconds: Annotated[float | None, Parameter(help="Deadline, in seconds.")] = None,
    param: Annotated[
        list[str] | None, Parameter(help="A parameter of the strategy, NAME=VALUE; may be repeated.", negative="")
    ] = None,
    tool: Annotated[
        list[str] | None,
        Parameter(help="A tool: calculator, dates, or FILE.py:function; may be repeated.", negative=""),
    ] = None,
    guard: Annotated[
        list[str] | None,
        Parameter(help="A guard, NAME=VALUE, such as compress=0; may be repeated.", negative=""),
    ] = None,
    plan: Annotated[
        Path | None, Parameter(help="Run the plan in this file (sleuth plan --output FILE), by plan-and-solve.")
    ] = None,
    file: Annotated[
        Path | None,
        Parameter(
            help="Ask every question of this file (.jsonl, .csv, or .txt with one a line; - is standard input).",
            allow_leading_hyphen=True,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        Parameter(name=("--output", "-o"), help="With --file: the folder of traces. The same command goes on in it."),
    ] = None,
    again: Annotated[
        Literal["interrupted", "failed", "all"], Parameter(help="With --file: what of a batch is asked once more.")
    ] = "interrupted",
    at_once: Annotated[
        int, Parameter(help="With --file: questions at the same time; helps with a server only.", converter=whole)
    ] = 1,
    trace: Annotated[Path | None, Parameter(help="Write the trace to this file.")] = None,
    no_trace: Annotated[bool, Parameter(help="Write no trace.", negative="")] = False,
    offline: Annotated[bool | None, Parameter(help="Never fetch a model.", negative="")] = None,
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), help="No progress on stderr.", negative="")] = False,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> int:
    """Answer a question, hop by hop, with citations."""
    from sleuth.app import compose, settings
    from sleuth.app.asking import wait_for

    if file is None and (folder is not None or again != "interrupted" or at_once != 1):
        raise BadInput(
            "--output, --again and --at-once are for a file of questions.", hint="Give --file FILE with them."
        )
    params = given_params(param, guard)
    if plan is not None:
        params["plan"], strategy = planned(plan), strategy or "plan-and-solve"
    chosen = settings.load(
        strategy=strategy,
        setting=setting,
        library=library,
        model=model,
        calls=calls,
        tokens=tokens,
        usd=usd,
        seconds=seconds,
        offline=offline,
    )
    if file is not None:
        if question or plan is not None or trace is not None or no_trace:
            raise BadInput(
                "--file takes no question and no plan beside it, and keeps its own traces.",
                hint="Leave the others out.",
            )
        return ask_file(
            file,
            folder,
            params=params,
            tools=tool or (),
            at_once=at_once,
            again=again,
            given=chosen,
            quiet=quiet,
            output=output,
        )
    live = Live(stderr(), quiet=quiet)
    with prints_apart():
        order = compose.prepare(
            " ".join(question),
            params=params,
            tools=tool or (),
            sinks=(live,),
            trace=False if no_trace else trace,
            given=chosen,
        )
    began = time.monotonic()
    try:
        with prints_apart(), live:
            answer = wait_for(order)
    except KeyboardInterrupt:
        put(stderr(), f"The trace so far: {order.trace}" if order.trace else "No trace was kept.")
        raise
    if output.json:
        put_answer_json(answer, trace=order.trace, about=order.about, question=order.question)
    else:
        put_answer(answer, trace=order.trace, seconds=time.monotonic() - began)
    return exit_status(answer)


def given_params(param: list[str] | None, guard: list[str] | None) -> dict[str, Any]:
    """The strategy's parameters as the command line gives them, its guards among them. Raises `BadInput`."""
    params: dict[str, Any] = dict(pairs(param or []))
    if guard and "guards" in params:
        raise BadInput("Guards are given twice.", hint="Give them as --guard NAME=VALUE alone.")
    return {**params, "guards": pairs(guard, "--guard compress=0")} if guard else params


def planned(file: Path) -> str:
    """The JSON of the plan in a file, checked. Raises `BadInput` with what is wrong with it."""
    from sleuth.app.planning import read_plan

    return read_plan(file).json


def pairs(given: list[str], example: str = "--param k=3") -> dict[str, str]:
    """NAME=VALUE texts as a mapping; dashes in a name are underscores. Raises `BadInput`."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"'{text}' is not NAME=VALUE.", hint=f"Write, for example, {example}.")
        found[name.strip().replace("-", "_")] = value
    return found
