"""Protocols of papers as ready-made lists of methods, with the numbers that the papers published beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sleuth.bench.folder import Method
from sleuth.bench.questions import Task
from sleuth.errors import BadInput, UnknownName


@dataclass(frozen=True, slots=True)
class Published:
    """A number of theirs: made with their model on their questions, so it stands beside ours and is never compared by a test."""

    method: str
    task: str
    metric: str
    value: float
    """In percent."""


@dataclass(frozen=True, slots=True)
class Preset:
    """`asked` gives the methods for a kind of task from the numbers that may be set (`numbers`: names and what they are)."""

    name: str
    about: str
    source: str
    numbers: Mapping[str, float]
    asked: Callable[[bool, Mapping[str, float]], Mapping[str, str]]
    model: str
    published: tuple[Published, ...] = ()
    sets: tuple[str, ...] = field(default=())
    """The tasks of the paper, which `published` names."""


def find(name: str) -> Preset:
    """The preset of that name. Raises `UnknownName`."""
    if name not in TABLE:
        raise UnknownName(f"There is no preset named '{name}'.", hint=f"Presets: {', '.join(TABLE)}.")
    return TABLE[name]


def methods(preset: Preset, tasks: Iterable[Task], given: Mapping[str, str] | None = None) -> tuple[Method, ...]:
    """The preset's methods for these tasks, with the numbers `given` as texts ("samples": "5"). Raises `BadInput`."""
    numbers = {**preset.numbers, **{key: _number(preset, key, value) for key, value in (given or {}).items()}}
    by_task = {task.name: preset.asked(task.kind == "claim", numbers) for task in tasks}
    names = dict.fromkeys(name for entries in by_task.values() for name in entries)
    return tuple(
        Method(name, {task: entries[name] for task, entries in by_task.items() if name in entries}) for name in names
    )


def _number(preset: Preset, key: str, text: str) -> float:
    if key not in preset.numbers:
        raise BadInput(
            f"The preset '{preset.name}' has no number '{key}'.", hint=f"It has: {', '.join(preset.numbers)}."
        )
    usual = preset.numbers[key]
    try:
        value = type(usual)(text)
        if 0 <= value < 10_000 and (value > 0 or key == "temperature"):
            return value
    except ValueError:
        pass
    raise BadInput(f"'{key}' cannot be '{text}'.", hint=f"Give a number from 1 up, such as {key}={usual}.")


def _react_paper(claim: bool, numbers: Mapping[str, float]) -> Mapping[str, str]:
    """The seven methods: 7 steps for a question, 5 for a claim; the same worked examples for ReAct alone and in a back-off."""
    claims = ":task=claim" if claim else ""
    steps = f"steps={numbers['claim_steps' if claim else 'steps']:g}"
    votes = f"n={numbers['samples']:g}:temperature={numbers['temperature']:g}"
    return {
        "Standard": f"standard:paper{claims}",
        "CoT": f"cot:paper{claims}",
        "CoT-SC": f"cot-sc:paper:{votes}{claims}",
        "Act": f"act:paper:{steps}{claims}",
        "ReAct": f"react:paper:{steps}{claims}",
        "CoT-SC -> ReAct": f"cot-sc-then-react:paper:{votes}:{steps}:shots=6{claims}",
        "ReAct -> CoT-SC": f"react-then-cot-sc:paper:{votes}:{steps}:shots=6{claims}",
    }


_THEIRS = {
    "Standard": (28.7, 57.1),
    "CoT": (29.4, 56.3),
    "CoT-SC": (33.4, 60.4),
    "Act": (25.7, 58.9),
    "ReAct": (27.4, 60.9),
    "CoT-SC -> ReAct": (34.2, 64.6),
    "ReAct -> CoT-SC": (35.1, 62.0),
    "Supervised state of the art": (67.5, 89.5),
}
"""HotpotQA (EM) and FEVER (accuracy): ReAct, table 1."""

REACT_PAPER = Preset(
    name="react-paper",
    about="Standard, CoT, CoT-SC, Act, ReAct and both back-offs, on HotpotQA (7 steps) and FEVER (5 steps), 21 samples at 0.7",
    source="Yao et al. 2023, ReAct, section 3 and table 1",
    numbers=MappingProxyType({"samples": 21, "temperature": 0.7, "steps": 7, "claim_steps": 5}),
    asked=_react_paper,
    model="PaLM-540B",
    published=tuple(
        Published(method, task, metric, values[at])
        for method, values in _THEIRS.items()
        for at, (task, metric) in enumerate((("hotpotqa", "em"), ("fever", "label")))
    ),
    sets=("hotpotqa", "fever"),
)

TABLE: Mapping[str, Preset] = MappingProxyType({REACT_PAPER.name: REACT_PAPER})
