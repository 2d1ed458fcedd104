"""Every strategy is in the name table, with a card that says all of it. Adding one costs a file and a line."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from sleuth import strategies
from sleuth.strategies import DEFAULT, TABLE
from sleuth.types import Strategy

SHARED = {"actions", "backoff", "reader", "steps", "trajectories"}
"""Modules of the package that several strategies use, and that are none."""
MODULES = [module.name for module in pkgutil.iter_modules(strategies.__path__) if module.name not in SHARED]
USED_ALONE = {
    "plan_and_solve": {"planning.py"},
    "cot": {"samples.py"},
    "cot_sc_then_react": {"samples.py"},
}
"""Who uses a part of a strategy without the rest: `sleuth plan` plans as plan-and-solve would, and looks nothing up; the
bench's report counts stored samples as CoT-SC would, with its parser and its threshold."""
PACKAGE = Path(strategies.__file__).parents[1]


@pytest.mark.parametrize("name", MODULES)
def test_each_module_holds_a_strategy_that_is_in_the_table(name):
    strategy = getattr(importlib.import_module(f"sleuth.strategies.{name}"), "STRATEGY", None)
    assert isinstance(strategy, Strategy), f"strategies/{name}.py has no STRATEGY (if it is shared code, list it here)"
    assert TABLE.get(strategy.card.name) is strategy, f"strategies/__init__.py does not list {name}"
    assert strategy.card.name == name.replace("_", "-")


def test_the_table_holds_nothing_else():
    assert {name.replace("-", "_") for name in TABLE} == set(MODULES)
    assert DEFAULT in TABLE


@pytest.mark.parametrize("name", MODULES)
def test_a_strategy_is_named_in_its_file_and_in_one_line_of_the_table_and_nowhere_else(name):
    listed = (PACKAGE / "strategies" / "__init__.py").read_text(encoding="utf-8").splitlines()
    assert [line.strip() for line in listed if name in line.split("#")[0].split('"')] == [f'"{name}",']
    importing = re.compile(rf"\bstrategies(?:\.| import .*\b){name}\b")
    elsewhere = (path for path in PACKAGE.rglob("*.py") if path.parent.name != "strategies")
    importers = {path.name for path in elsewhere if importing.search(path.read_text(encoding="utf-8"))}
    assert importers <= USED_ALONE.get(name, set())


@pytest.mark.parametrize("strategy", TABLE.values(), ids=list(TABLE))
def test_a_card_says_all_that_people_need_to_choose(strategy):
    card = strategy.card
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", card.name)
    assert card.summary.endswith(".")
    assert 20 < len(card.summary) < 130
    assert len(card.paper) > 20
    assert card.when
    assert card.avoid
    assert all(text == text.strip() and text for text in (*card.when, *card.avoid, card.calls))
    assert {card.autonomy, card.cost, card.latency} <= {"low", "medium", "high"}
    for field in ("loop", "parallel", "branch", "person_in_the_loop"):
        assert isinstance(getattr(card, field), bool)


def test_every_field_of_a_card_is_looked_at_here():
    known = "name summary paper when avoid loop parallel branch person_in_the_loop autonomy cost latency calls aliases"
    assert [field.name for field in dataclasses.fields(TABLE[DEFAULT].card)] == known.split()


def test_names_and_aliases_are_each_taken_once():
    names = [name for strategy in TABLE.values() for name in (strategy.card.name, *strategy.card.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("strategy", TABLE.values(), ids=list(TABLE))
def test_each_has_a_paper_and_a_default_setting_whose_parameters_its_flow_takes(strategy):
    taken = inspect.signature(strategy.flow).parameters
    assert {"default", "paper"} <= set(strategy.settings)
    assert next(iter(taken)) == "question"
    for setting in strategy.settings.values():
        assert set(setting) <= set(taken) - {"question"}
        assert strategy.most_calls(setting) >= 1
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in list(taken.values())[1:])
    assert strategy.flow.__doc__


def test_a_flow_does_nothing_before_it_is_driven():
    for strategy in TABLE.values():
        assert inspect.isgenerator(strategy.flow("Where was Ada Tell born?"))


def test_more_room_never_lowers_a_stated_bound():
    react, self_ask, link = TABLE["react"].most_calls, TABLE["self-ask"].most_calls, TABLE["link-then-read"].most_calls
    assert [react({"steps": n, "reader": False}) for n in (1, 2, 7)] == [2, 4, 14]
    assert [self_ask({"follow_ups": n, "reader": False}) for n in (0, 1, 4)] == [1, 2, 5]
    assert self_ask({"search": False}) == 1
    assert link({"pairs": 1}) < link({}) < link({"pairs": 3})
