"""``sleuth runs``: what was asked, shown again, replayed or resumed."""

from __future__ import annotations

import time
from typing import Annotated

from cyclopts import App, Parameter

from sleuth.cli.answers import exit_status, put_answer, put_answer_json
from sleuth.cli.live import Live
from sleuth.cli.screen import Output, prints_apart, put, put_json, put_table, stderr, stdout, whole
from sleuth.cli.text import one_line
from sleuth.errors import BadInput

app = App(
    name="runs",
    help="The stored runs: list, show, replay or resume them.",
    help_epilogue="Example: sleuth runs show 2026",
)

Run = Annotated[str, Parameter(help="The run's id, or its beginning, or a trace file.")]


@app.command(name="list", help_epilogue="Example: sleuth runs list --limit 5")
def list_(
    limit: Annotated[int, Parameter(help="Most runs to list.", converter=whole)] = 20,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> None:
    """List the runs, newest first."""
    from sleuth.app import compose, settings

    if limit < 1:
        raise BadInput(f"--limit {limit} lists nothing.", hint="Give a number from 1 up.")
    found = compose.store(settings.load()).runs()[:limit]
    if output.json:
        keys = ("run", "question", "strategy", "status", "ended", "answer", "when", "size", "resumes")
        put_json([{**{key: getattr(each, key) for key in keys}, "trace": str(each.path)} for each in found])
        return
    if not found:
        put(stderr(), ('No runs are stored. Try: sleuth ask "..."', "dim"))
    rows = [
        (each.run, _when(each.when), each.strategy, each.status, each.ended, each.question, each.answer)
        for each in found
    ]
    put_table(("run", "when", "strategy", "status", "ended", "question", "answer"), rows, most=48)


@app.command(help_epilogue="Example: sleuth runs show 2026")
def show(run: Run, output: Output = Output()) -> None:  # noqa: B008  a frozen value
    """Show a run hop by hop, and its answer if it has one."""
    from sleuth.app import runs, settings
    from sleuth.trace import read_trace

    path = runs.locate(run, settings.load())
    events = read_trace(path)
    begun, answer = runs.opened(events, path), runs.recorded_answer(events)
    if output.json:
        if answer is not None:
            put_answer_json(answer, trace=path, about=begun.about, question=begun.question)
        else:
            put_json({"question": begun.question, "status": "interrupted", "run": events[0].run, "trace": str(path)})
        return
    console = stdout()
    put(console, (one_line(begun.question), "bold"))
    for head, text in [("when", _when(events[0].at)), *runs.about_lines(begun.about)]:
        put(console, (f"{head:<9}", "dim"), one_line(text))
    live = Live(console, spin=False)
    for event in events:
        live(event)
    if answer is not None:
        put_answer(answer, trace=path, seconds=events[-1].at - events[0].at)
    else:
        put(console, ("status   ", "dim"), "interrupted: it was killed, or still goes on")
        put(stderr(), (f"Next: sleuth runs resume {runs.called(path)}", "dim"))


@app.command(help_epilogue="Example: sleuth runs replay 2026")
def replay(run: Run, output: Output = Output()) -> int:  # noqa: B008  a frozen value
    """Drive a run again from its trace alone (no model, no library), and compare the answers."""
    from sleuth.app import runs, settings

    path = runs.locate(run, settings.load())
    replayed = runs.replay(path)
    if output.json:
        put_answer_json(replayed.answer, trace=path, same=replayed.same)
    else:
        put_answer(replayed.answer, trace=path)
        put(
            stdout(),
            ("replay   ", "dim"),
            "the same answer, byte for byte" if replayed.same else "a DIFFERENT answer from the recorded one",
        )
    return 0 if replayed.same else 1


@app.command(help_epilogue="Example: sleuth runs resume 2026")
def resume(
    run: Run,
    tool: Annotated[
        list[str] | None,
        Parameter(help="A function the run used as a tool, FILE.py:function; may be repeated.", negative=""),
    ] = None,
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), help="No progress on stderr.", negative="")] = False,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> int:
    """Finish an interrupted run as a new one; calls that were finished are not repeated."""
    from sleuth.app import runs, settings
    from sleuth.app.asking import wait_for

    live = Live(stderr(), quiet=quiet)
    with prints_apart():
        order = runs.resumed(runs.locate(run, settings.load()), sinks=(live,), tools=tool or ())
    try:
        with prints_apart(), live:
            answer = wait_for(order)
    except KeyboardInterrupt:
        put(stderr(), f"The trace so far: {order.trace}")
        raise
    if output.json:
        put_answer_json(answer, trace=order.trace, about=order.about, question=order.question)
    else:
        put_answer(answer, trace=order.trace)
    return exit_status(answer)


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else ""
