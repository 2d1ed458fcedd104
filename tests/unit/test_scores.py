"""Scoring a bench reads its traces once each, asks nothing, and says which versions it scored with."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from sleuth.bench import folder as folders
from sleuth.bench.calibration import abstention, risk_coverage
from sleuth.bench.folder import Asked, BenchFolder, Cell, Method, Plan
from sleuth.bench.metrics import TABLE, find
from sleuth.bench.questions import Question, Task
from sleuth.bench.record import Record
from sleuth.bench.scores import changed, save, saved, score
from sleuth.errors import BadInput
from sleuth.events import Closed, Event, Opened, Span
from sleuth.trace import TraceWriter
from sleuth.types import Answer

CELL = Cell("t", "m", "ours")


def write(trace: Path, answer: Answer | None) -> None:
    with TraceWriter(trace) as told:
        told(Event("r", 0, 0.0, Span("", 0), Opened("q", {})))
        if answer is not None:
            told(Event("r", 1, 1.0, Span("", 0), Closed(answer)))


@pytest.fixture
def bench(tmp_path: Path) -> BenchFolder:
    """Right and sure, wrong and unsure, abstained, killed, not begun."""
    folder = BenchFolder(tmp_path / "bench")
    questions = tuple(Question(name, "q", ("Rush",)) for name in ("right", "wrong", "none", "killed", "not begun"))
    plan = Plan((Asked("t", ("em",)),), (Method("ours", {"t": "react"}),), ("m",))
    folder.begin(plan, {"t": Task("t", questions, ("em",))})
    write(folder.trace(CELL, "right"), Answer("Rush", "answered", "final_answer", confidence=0.9))
    write(folder.trace(CELL, "wrong"), Answer("Yes", "answered", "final_answer", confidence=0.2))
    write(folder.trace(CELL, "none"), Answer("", "abstained", "final_answer"))
    write(folder.trace(CELL, "killed"), None)
    return folder


def refuse(*_: object, **__: object) -> NoReturn:
    raise AssertionError("scoring opened something")


def test_no_socket_and_no_process_is_opened_and_each_trace_is_read_once(
    bench: BenchFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr("sleuth.engine.Engine.run", refuse, raising=False)
    read: list[str] = []
    load: Callable[[Path], Record] = folders.load
    monkeypatch.setattr(folders, "load", lambda trace: read.append(trace.stem) or load(trace))
    score(bench, TABLE.values())
    assert sorted(name.split("-")[0] for name in read) == ["killed", "none", "right", "wrong"]


def test_what_did_not_end_has_no_score_and_is_named(bench: BenchFolder) -> None:
    scores = score(bench, find(["em", "answered", "confidence"]))
    assert scores.values[CELL]["em"] == {"right": 1.0, "wrong": 0.0, "none": 0.0}
    assert scores.unfinished[CELL] == ("killed", "not begun")
    assert scores.pairs(CELL, "em") == ((0.9, True), (0.2, False))
    assert risk_coverage(scores.pairs(CELL, "em"))[0].risk == 0.0
    point = abstention(scores.outcomes(CELL, "em"))
    assert (point.coverage, point.risk) == (pytest.approx(2 / 3), 0.5)
    assert abstention([]).coverage == 0.0


def test_scores_of_another_version_are_named(bench: BenchFolder, tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    before = score(bench, find(["em", "f1"]))
    save(before, file)
    assert saved(file) == before
    newer = replace(TABLE["em"], version="2")
    assert score(bench, [newer]).versions == {"em": "2"}
    assert changed(saved(file), [newer, TABLE["f1"], TABLE["hops"]]) == ("em was scored with version 1 and is now 2",)
    assert changed(before, find(["em", "f1"])) == ()


@pytest.mark.parametrize("text", ["", "[]", '{"versions": {}}', '{"versions": {}, "cells": [{}]}'])
def test_a_file_that_holds_no_scores_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "scores.json").write_text(text)
    with pytest.raises(BadInput, match="holds no scores"):
        saved(tmp_path / "scores.json")
    with pytest.raises(BadInput, match="cannot be read"):
        saved(tmp_path / "none.json")
