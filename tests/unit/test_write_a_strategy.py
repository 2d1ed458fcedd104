"""What docs/write-a-strategy.md says of adding a strategy is so: its file and one line, and nothing else."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.pages import ROOT, blocks
from tests.unit.test_bounds import FINDS, QUESTIONS, REPLIES, assert_honest, quick, run

import sleuth
from sleuth.strategies import MODULES, TABLE
from sleuth.types import Strategy

PAGE = ROOT / "docs" / "write-a-strategy.md"
PACKAGE = Path(sleuth.__file__).parent
FILE = "# src/sleuth/strategies/look_twice.py\n"
SCRIPT = """
import json, sleuth
from sleuth import Completion, Passage, Script, Shelf
from sleuth.app import strategies
found = strategies.find("look-twice")
model = Script([Completion(" Tarn", logprob=-0.1)])
library = Shelf({"Brenn": "The river Tarn runs past Brenn."})
answer = sleuth.ask("Which river runs past Brenn?", strategy="look-twice", model=model, library=library, trace=False)
print(json.dumps([answer.text, sorted(strategies.accepted(found)), list(strategies.table())[-1]]))
"""


def block(beginning: str) -> str:
    return next(block.text for block in blocks(PAGE) if block.text.lstrip().startswith(beginning))


def test_the_pages_file_and_its_line_are_all_that_a_new_strategy_takes(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "sleuth", ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path / "sleuth" / "strategies"
    (folder / "look_twice.py").write_text(block(FILE), encoding="utf-8")
    table = (folder / "__init__.py").read_text(encoding="utf-8")
    line, end = block('"look_twice",').rstrip("\n"), ")\n"
    (folder / "__init__.py").write_text(table.replace(end, f"{line}\n{end}", 1), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "SLEUTH_HOME": str(tmp_path / "home")}
    ran = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == ["Tarn", ["guards", "k", "unsure"], "look-twice"]


def test_the_strategy_of_the_page_is_as_short_as_it_says() -> None:
    first = ast.parse(blocks(PAGE)[0].text)
    lines = [line for line in ast.unparse(first).splitlines() if line.strip()]
    assert len(lines) <= 22


@cache
def texts(path: Path) -> frozenset[str]:
    """The texts that stand in a file's code."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


@cache
def files() -> tuple[Path, ...]:
    """All of the package but its strategies."""
    return tuple(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "strategies")


@pytest.mark.parametrize("name", MODULES)
def test_no_room_but_the_strategies_own_knows_one_by_name(name: str) -> None:
    """Within it hybrids name those they are made of."""
    card = next(each.card for each in TABLE.values() if each.card.name == name.replace("_", "-"))
    names = {card.name, *card.aliases} - ORDINARY
    assert {path.name for path in files() if names & texts(path)} <= NAMING.get(card.name, set())


NAMING = {
    "plan-and-solve": {"ask.py"},
    "standard": {"benching.py"},
    **{key: {"samples.py"} for key in ("cot-sc", "cot-sc-then-react", "react-then-cot-sc", "react")},
}
"""`sleuth ask --plan FILE` runs a plan, which is what this strategy does; the bench's closed book is the one without a
look-up; and the curve of EM against samples (ReAct, figure 2) is that of these."""
ORDINARY = {"act", "plan", "auto", "router", "interleaving", "adaptive", "link"}
"""Names that are words with other meanings in the code."""


def packaged() -> Strategy:
    space: dict[str, object] = {"__name__": "look_twice"}
    exec(compile(block(FILE), "look_twice.py", "exec"), space)
    strategy = space["STRATEGY"]
    assert isinstance(strategy, Strategy)
    return strategy


@quick
@given(question=st.sampled_from(QUESTIONS), replies=REPLIES, finds=FINDS)
def test_the_strategy_of_the_page_keeps_its_bound(question: str, replies: list[object], finds: list[object]) -> None:
    strategy = packaged()
    ran = run(strategy.flow(question), replies, finds)
    assert ran.calls <= strategy.most_calls({})
    assert_honest(ran)
