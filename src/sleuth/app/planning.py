"""A plan by itself: drawn by the model or read from a file, checked and priced; nothing is looked up."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sleuth.app import settings
from sleuth.app.compose import ModelLike, perform, prepare
from sleuth.app.portal import portal
from sleuth.app.tools import ToolLike
from sleuth.errors import BadInput, SleuthError
from sleuth.events import Event, Noted, Sink
from sleuth.guards import plans
from sleuth.guards.plans import MOST_STEPS, Finding, Plan
from sleuth.sources.shelf import Shelf
from sleuth.strategies.plan_and_solve import STRATEGY, head, planned
from sleuth.transcript import Transcript
from sleuth.types import Answer, Budget, Flow, ToolSpec, Usage

LARGEST = 1_000_000
"""Bytes of a plan file: a thousand steps and more, and never a device without an end."""


@dataclass(frozen=True)
class Drawn:
    """A plan that can be run, what the linter had to say of it as it was written, and what making it cost.

    `findings` are not fatal: what they name is mended in `plan`. `usage` is zero for a plan that was read from a file.
    """

    question: str
    plan: Plan
    findings: tuple[Finding, ...] = ()
    usage: Usage = Usage()

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The steps' ids in groups: those of a group run at the same time, after the groups before it."""
        return plans.groups(self.plan)

    @property
    def estimate(self) -> tuple[int, int]:
        """About how many model calls and tokens a run takes, the planning call included."""
        return plans.estimate(self.plan)

    @property
    def json(self) -> str:
        """The plan's JSON text: for a file, to be edited, and for ``plan=`` of plan-and-solve."""
        return plans.as_json(self.plan)

    @property
    def mermaid(self) -> str:
        """The plan as a Mermaid flowchart."""
        return plans.mermaid(self.plan)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        calls, tokens = self.estimate
        keys = ("code", "step", "text", "fatal")
        return {
            "question": self.question,
            **json.loads(self.json),
            "groups": [list(group) for group in self.groups],
            "findings": [{key: getattr(each, key) for key in keys} for each in self.findings],
            "estimate": {"calls": calls, "tokens": tokens},
            "usage": {name: getattr(self.usage, name) for name in Usage.__slots__},
        }


def plan(
    question: str,
    *,
    model: ModelLike | None = None,
    budget: Budget | None = None,
    steps: int = MOST_STEPS,
    tools: Iterable[ToolLike] | ToolLike = (),
    sinks: Iterable[Sink] = (),
    offline: bool | None = None,
    given: settings.Settings | None = None,
) -> Drawn:
    """Let the model plan the question as plan-and-solve would, `steps` look-ups at most, and look nothing up.

    `tools` are what steps may call, as in `ask`. One call; a second one where the first plan cannot be run. ``ask(question, strategy="plan-and-solve",
    plan=drawn.json)`` runs it, edited or not. Raises `BadReply` when neither plan can be run (``details["findings"]``),
    `ModelError`, `BudgetExceeded` and `DeadlineExceeded`, and `WrongUse` and its kin as `ask` does.
    """
    drawing = _Drawing()
    chosen = given or settings.load(offline=offline)
    order = prepare(
        question,
        strategy=replace(STRATEGY, flow=drawing.flow, settings={}),
        setting="default",
        params={"steps": steps},
        tools=tools,
        model=model,
        library=Shelf(),
        budget=_without_closing(budget or chosen.budget),
        sinks=(*sinks, drawing),
        trace=False,
        given=chosen,
    )
    answer = portal().submit(partial(perform, order)).result()
    if drawing.plan is None:
        raise drawing.error or BadInput(answer.note)
    return Drawn(order.question, drawing.plan, tuple(drawing.findings), answer.usage)


def _without_closing(budget: Budget) -> Budget:
    """The budget, nothing of which is held back for the call that writes an answer: there is none."""
    return replace(budget, closing_tokens=0, calls=None if budget.calls is None else budget.calls + 1)


class _Drawing:
    """The planning as a flow, and what came of it; a sink that hears the findings."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.error: SleuthError | None = None
        self.findings: list[Finding] = []

    def flow(self, question: str, *, steps: int = MOST_STEPS, tools: tuple[ToolSpec, ...] = ()) -> Flow[Answer]:
        """Plan, and answer with the plan's text."""
        try:
            self.plan = yield from planned(Transcript(head(question, tools=tools)), most_steps=steps, tools=tools)
        except SleuthError as error:
            self.error = error
            raise
        return Answer(plans.text(self.plan), "answered", "final_answer")

    def __call__(self, event: Event) -> None:
        match event.body:
            case Noted(kind="finding", text=text, data=data):
                self.findings.append(Finding(str(data["code"]), str(data["step"]), text, bool(data["fatal"])))
            case Noted(kind="repair"):
                self.findings.clear()


def read_plan(path: Path, *, steps: int = MOST_STEPS, question: str = "") -> Drawn:
    """The plan in a file, edited or written by hand. Raises `BadInput`, with all findings, when it cannot be run."""
    try:
        with path.expanduser().open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise BadInput(f"The plan {path} is larger than {LARGEST:,} bytes.", hint="A plan has a few steps.")
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadInput(
            f"The plan {path} cannot be read: {why}.", hint='Try: sleuth plan "..." --output FILE'
        ) from error
    written = _parsed(path, text)
    findings = plans.lint(written, most_steps=steps, widest=steps)
    if wrong := [finding for finding in findings if finding.fatal]:
        told = " ".join(finding.text for finding in wrong)
        raise BadInput(
            f"The plan in {path} cannot be run: {told}", hint="Mend the file.", findings=[f.text for f in wrong]
        )
    return Drawn(question, plans.completed(written), findings)


def _parsed(path: Path, text: str) -> Plan:
    try:
        return plans.from_json(text)
    except BadInput as error:
        raise BadInput(f"{path}: {error.message}", hint=error.hint) from error


def write_plan(drawn: Drawn, path: Path) -> None:
    """Save the plan's JSON. Raises `BadInput` when the file exists or cannot be written: see `check_new`."""
    try:
        with path.expanduser().open("x", encoding="utf-8") as file:
            file.write(f"{drawn.json}\n")
    except OSError as error:
        raise BadInput(f"The plan cannot be written to {path}: {error.strerror}.", hint="Name a new file.") from error


def check_new(path: Path) -> None:
    """Raises `BadInput` when a plan could not be saved there; asked before the model is."""
    there = path.expanduser()
    folder = there.absolute().parent
    if there.exists():
        what = "it exists already"
    elif not folder.is_dir():
        what = "there is no such folder"
    elif not os.access(folder, os.W_OK):
        what = "its folder is read-only"
    else:
        return
    raise BadInput(f"The plan cannot be written to {path}: {what}.", hint="Name a new file in a folder that exists.")
