"""ReAct trajectories that others kept as text, read as runs: thoughts, actions ("Search[X]", "Lookup[x]", "Finish[a]"), observations."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sleuth.bench.folder import Cell, Run
from sleuth.bench.questions import Question
from sleuth.bench.record import Lookup, Record
from sleuth.errors import BadInput
from sleuth.events import Span
from sleuth.types import Answer, Passage, Why

MOST = 200_000_000
"""Bytes of a file that are read."""

_ACTION = re.compile(r"\s*(search|lookup|finish)\s*\[(.*)\]\s*", re.IGNORECASE | re.DOTALL)
_NOTHING = re.compile(
    r"Could not find|No Results|Lookup error|Invalid Action|no more results|There was an error", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Kept:
    """A trajectory, and how its makers say it ended: correct, incorrect or halted."""

    run: Run
    outcome: str


def read(file: Path) -> Iterator[Kept]:
    """The trajectories of a .jsonl or .jsonl.gz file: ``{"id", "question", "gold", "prediction", "steps"}`` a line.

    Raises `BadInput`, naming the line, for one that is none.
    """
    opener = gzip.open if file.suffix == ".gz" else open
    try:
        with opener(file, "rb") as lines:
            data = lines.read(MOST)
    except OSError as fault:
        raise BadInput(f"The trajectories in {file} cannot be read: {fault}.") from fault
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield _kept(json.loads(line), file.name)
            except (ValueError, KeyError, TypeError, AttributeError) as fault:
                raise BadInput(f"Line {number} of {file} is no trajectory: {fault!r}.") from fault


def _kept(row: Mapping[str, Any], name: str) -> Kept:
    steps = row["steps"]
    prediction = row.get("prediction") or ""
    outcome = row.get("outcome") or ("correct" if row["em"] else "incorrect" if prediction else "halted")
    question = Question(str(row["id"]), str(row["question"]), (str(row["gold"]),), type=str(row.get("type", "")))
    record = Record(
        run=str(row["id"]),
        question=question.text,
        answer=_answer(str(prediction), steps),
        lookups=tuple(_lookups(steps)),
    )
    return Kept(Run(Cell(name, "theirs", "kept"), question, record), str(outcome))


def _answer(prediction: str, steps: list[Mapping[str, Any]]) -> Answer:
    transcript = "\n".join(
        f"Thought {s['n']}: {s['thought']}\nAction {s['n']}: {s['action']}\nObservation {s['n']}: {s['observation']}"
        for s in steps
    )
    ended: Why = "final_answer" if prediction else "step_limit"
    return Answer(prediction, "answered" if prediction else "abstained", ended, transcript=transcript)


def _lookups(steps: list[Mapping[str, Any]]) -> Iterator[Lookup]:
    """Searches and look-ups; what came back is a passage (of no title: what was asked says nothing of it), or nothing."""
    for number, step in enumerate(steps):
        action, observation = _ACTION.fullmatch(step["action"] or ""), str(step["observation"] or "")
        if action is None or action[1].lower() == "finish":
            continue
        asked = action[2].strip()
        kind: Literal["search", "open"] = "search" if action[1].lower() == "search" else "open"
        found = () if _NOTHING.match(observation) else (Passage(f"observation {number + 1}", "", "", observation),)
        yield Lookup(kind, asked, Span("", number), found, error="" if found else observation)
