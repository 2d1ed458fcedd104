"""A bench asked for again: what may join it, and what is refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sleuth.bench.folder import Asked, BenchFolder, Method, Plan
from sleuth.bench.joining import joined
from sleuth.bench.questions import Question, Task
from sleuth.errors import BadInput

QUESTIONS = tuple(
    Question(str(n), f"Question {n}?", (str(n),), facts=(("Page", n),), structured={"a": "b"}) for n in range(4)
)
TASK = Task("mine", QUESTIONS[:2], ("em", "f1"))
PLAN = Plan((Asked("mine", ("em", "f1"), "notes"),), (Method("react", {"mine": "react"}),), ("local",), {"seed": 0})


@pytest.fixture
def folder(tmp_path: Path) -> BenchFolder:
    bench = BenchFolder(tmp_path / "bench")
    bench.begin(PLAN, {"mine": TASK})
    return bench


def test_the_same_again_is_the_same(folder: BenchFolder) -> None:
    assert joined(folder, PLAN, {"mine": TASK}) == (PLAN, {"mine": TASK})


def test_methods_models_and_questions_join_what_is_there(folder: BenchFolder) -> None:
    more = replace(PLAN, methods=(Method("act", {"mine": "act"}),), models=("openai:X",))
    plan, tasks = joined(folder, more, {"mine": replace(TASK, questions=QUESTIONS[::-1])})
    assert [method.name for method in plan.methods] == ["react", "act"]
    assert plan.models == ("local", "openai:X")
    assert [question.id for question in tasks["mine"].questions] == ["0", "1", "3", "2"]


def test_another_task_joins_and_the_first_stays(folder: BenchFolder) -> None:
    other = Plan(
        (Asked("theirs", ("label",), "notes"),), (Method("react", {"theirs": "react"}),), ("local",), {"seed": 0}
    )
    plan, tasks = joined(folder, other, {"theirs": replace(TASK, name="theirs")})
    assert [task.name for task in plan.tasks] == ["mine", "theirs"]
    assert plan.methods == (Method("react", {"mine": "react", "theirs": "react"}),)
    assert set(tasks) == {"theirs"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"methods": (Method("react", {"mine": "react:paper"}),)}, "react"),
        ({"tasks": (Asked("mine", ("em",), "elsewhere"),)}, "library"),
        ({"about": {"seed": 1}}, "seed"),
        ({"about": {"seed": 0, "budget": {"calls": 3}}}, "budget"),
    ],
)
def test_a_changed_plan_is_refused_and_says_what_differs(
    folder: BenchFolder, change: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadInput, match=told):
        joined(folder, replace(PLAN, **change), {"mine": TASK})


def test_a_changed_budget_names_only_the_limits_that_differ(folder: BenchFolder) -> None:
    budget = {"calls": None, "usd": None, "closing_tokens": 9}
    folder.begin(replace(PLAN, about={"seed": 0, "budget": budget}), {"mine": TASK})
    plan = replace(PLAN, about={"seed": 0, "budget": {**budget, "calls": 3}})
    with pytest.raises(BadInput, match=r"its budget\.calls is not set, not 3\. Give"):
        joined(folder, plan, {"mine": TASK})


@pytest.mark.parametrize(
    "questions",
    [QUESTIONS[:1], QUESTIONS[1:], (replace(QUESTIONS[0], answers=("other",)), QUESTIONS[1])],
    ids=["fewer", "others", "another answer"],
)
def test_fewer_or_changed_questions_are_refused(folder: BenchFolder, questions: tuple[Question, ...]) -> None:
    with pytest.raises(BadInput, match="question"):
        joined(folder, PLAN, {"mine": replace(TASK, questions=questions)})
