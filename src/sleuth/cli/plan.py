"""``sleuth plan``: what plan-and-solve would look up, before anything is spent on it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from sleuth.cli.answers import cost
from sleuth.cli.live import Live
from sleuth.cli.screen import Output, prints_apart, put, put_json, stderr, stdout, whole
from sleuth.cli.text import one_line
from sleuth.errors import BadInput
from sleuth.events import Event, Noted

if TYPE_CHECKING:
    from sleuth.app.planning import Drawn

EXAMPLE = """\
Examples:
  sleuth plan "How did the taller of the two towers come to its name?"
  sleuth plan "How did the taller of the two towers come to its name?" --output plan.json

Edit plan.json, look at it again, then run it:
  sleuth plan --file plan.json --mermaid
  sleuth ask "How did the taller of the two towers come to its name?" --plan plan.json"""


def add_to(app: App) -> None:
    """Make `plan` a command of the application."""
    app.command(plan, help_epilogue=EXAMPLE)


def plan(
    *question: Annotated[str, Parameter(help="The question; none is needed with --file.")],
    file: Annotated[Path | None, Parameter(help="Check and show the plan in this file; no model is asked.")] = None,
    mermaid: Annotated[bool, Parameter(help="Print a Mermaid flowchart.", negative="")] = False,
    save: Annotated[
        Path | None, Parameter(name="--output", help="Save the plan's JSON to this new file, to be edited and run.")
    ] = None,
    steps: Annotated[int, Parameter(help="Most look-ups.", converter=whole)] = 12,
    tool: Annotated[
        list[str] | None,
        Parameter(
            help="A tool that steps may call: calculator, dates, or FILE.py:function; may be repeated.", negative=""
        ),
    ] = None,
    model: Annotated[
        str | None, Parameter(help="local, local:FILE.gguf, openai:NAME, ollama:NAME, http://HOST/v1#NAME.")
    ] = None,
    tokens: Annotated[int | None, Parameter(help="Most tokens, read and written.", converter=whole)] = None,
    usd: Annotated[float | None, Parameter(help="Most US dollars.")] = None,
    seconds: Annotated[float | None, Parameter(help="Deadline, in seconds.")] = None,
    offline: Annotated[bool | None, Parameter(help="Never fetch a model.", negative="")] = None,
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), help="No progress on stderr.", negative="")] = False,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> int:
    """Plan the look-ups for a question, check the plan and price it; look nothing up."""
    from sleuth.app import planning, settings

    if steps < 1:
        raise BadInput(f"--steps {steps} leaves nothing to plan.", hint="Give a number from 1 up.")
    if mermaid and output.json:
        raise BadInput("--mermaid and --json are two forms of one output.", hint="Leave one of them out.")
    if save is not None:
        planning.check_new(save)
    text = " ".join(question)
    if file is not None:
        drawn = planning.read_plan(file, steps=steps, question=text)
    else:
        chosen = settings.load(model=model, tokens=tokens, usd=usd, seconds=seconds, offline=offline)
        with prints_apart(), Live(stderr(), quiet=quiet) as live:
            drawn = planning.plan(text, steps=steps, tools=tool or (), sinks=(partial(_progress, live),), given=chosen)
    if output.json:
        put_json(drawn.as_dict())
    elif mermaid:
        print(drawn.mermaid)
    else:
        put_plan(drawn)
    if save is not None:  # last: what the model was paid for is shown even where it cannot be saved
        planning.write_plan(drawn, save)
        put(stderr(), (f"Saved: {save}", "dim"))
    return 0


def _progress(live: Live, event: Event) -> None:
    """All but the plan and its findings, which are the output."""
    if not isinstance(event.body, Noted) or event.body.kind not in ("plan", "finding"):
        live(event)


def put_plan(drawn: Drawn) -> None:
    """The steps, which of them run together, what was found wrong and mended, and what a run will cost."""
    console = stdout()
    for step in drawn.plan.steps:
        kind = "  (not searched)" if step.synthesis else f"  (tool {one_line(step.tool)})" if step.tool else ""
        put(console, (one_line(step.id), "bold cyan"), f"  {one_line(step.query)}", (kind, "dim"))
        if step.depends_on:
            put(console, (f"    after {one_line(', '.join(step.depends_on))}", "dim"))
    order = " then ".join(" and ".join(group) for group in drawn.groups)
    put(console, ("order    ", "dim"), one_line(order))
    for finding in drawn.findings:
        put(console, ("finding  ", "yellow"), one_line(finding.text))
    calls, tokens = drawn.estimate
    put(console, ("run      ", "dim"), f"about {calls} calls and {tokens:,} tokens, the planning call included")
    if drawn.usage.calls:
        put(console, ("cost     ", "dim"), cost(drawn.usage))
