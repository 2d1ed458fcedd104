"""A bench that is asked for again: more methods, models or questions join it, and what would change it is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from sleuth.bench.folder import Asked, BenchFolder, Method, Plan
from sleuth.bench.questions import Question, Task, as_row
from sleuth.errors import BadInput

FIXED = ("budget", "guards", "set", "preset", "seed")
"""What of a plan's `about` decides what is asked, and so cannot change."""


def joined(folder: BenchFolder, plan: Plan, tasks: Mapping[str, Task]) -> tuple[Plan, dict[str, Task]]:
    """What is there and what is asked for, as one plan with its tasks. Raises `BadInput` for what differs, naming it."""
    if not folder.exists:
        return plan, dict(tasks)
    there = folder.plan()
    for key in FIXED:
        if there.about.get(key) != plan.about.get(key):
            raise _differs(folder, _apart(key, there.about.get(key), plan.about.get(key)))
    asked = {task.name: task for task in there.tasks}
    kept: dict[str, Task] = {}
    for told in plan.tasks:
        task = tasks[told.name]
        if told.name in asked:
            _same_task(folder, asked[told.name], told)
            task = replace(task, questions=_more(folder, told.name, task.questions))
        kept[told.name] = task
        asked.setdefault(told.name, told)
    methods = _methods(folder, there.methods, plan.methods)
    models = tuple(dict.fromkeys((*there.models, *plan.models)))
    return Plan(tuple(asked.values()), methods, models, {**plan.about, **there.about}), kept


def _apart(key: str, ours: object, theirs: object) -> str:
    """What differs in words: of a group of values those that do, and not the others."""
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return f"its {key} is {_said(ours)}, not {_said(theirs)}"
    names = [name for name in {**ours, **theirs} if ours.get(name, ...) != theirs.get(name, ...)]
    return "; ".join(f"its {key}.{name} is {_said(ours.get(name))}, not {_said(theirs.get(name))}" for name in names)


def _said(value: object) -> str:
    return "not set" if value is None else repr(value)


def _same_task(folder: BenchFolder, there: Asked, told: Asked) -> None:
    for field in fields(Asked):
        ours, theirs = getattr(there, field.name), getattr(told, field.name)
        if field.name not in ("origin", "licence", "metrics") and ours != theirs:  # metrics may grow: re-scored
            raise _differs(folder, f"the {field.name} of its task '{there.name}' is {ours!r}, not {theirs!r}")


def _more(folder: BenchFolder, task: str, given: tuple[Question, ...]) -> tuple[Question, ...]:
    """The questions that are there, then those that are new."""
    there, new = folder.questions(task), {question.id: question for question in given}
    for question in there:
        if question.id not in new:
            lacking = sum(each.id not in new for each in there)
            raise _differs(folder, f"{lacking} of the questions of its task '{task}' are not asked (id {question.id})")
        if as_row(new[question.id]) != as_row(question):
            raise _differs(folder, f"the question {question.id} of its task '{task}' reads otherwise")
    known = {question.id for question in there}
    return (*there, *(question for question in given if question.id not in known))


def _methods(folder: BenchFolder, there: tuple[Method, ...], given: tuple[Method, ...]) -> tuple[Method, ...]:
    found = {method.name: method for method in there}
    for method in given:
        entries = dict(found[method.name].entries) if method.name in found else {}
        for task, entry in method.entries.items():
            if entries.setdefault(task, entry) != entry:
                raise _differs(folder, f"its method '{method.name}' is {entries[task]} for '{task}', not {entry}")
        found[method.name] = Method(method.name, entries)
    return tuple(found.values())


def _differs(folder: BenchFolder, what: str) -> BadInput:
    return BadInput(
        f"There is another bench in {folder.folder}: {what}.",
        hint="Give what it was begun with (methods, models and questions may be added), or another --output.",
    )
