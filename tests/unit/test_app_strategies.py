"""Strategies by name, settings and parameters; strategies of one's own."""

from collections.abc import Iterator
from typing import Literal

import pytest

import sleuth
from sleuth.app import strategies
from sleuth.errors import BadInput, UnknownName
from sleuth.types import Answer, Flow


def flow(
    question: str, *, k: int = 3, deep: bool = False, mode: Literal["a", "b"] = "a", names: tuple[str, ...] = ()
) -> Flow[Answer]:
    """Says how it was called."""
    yield from sleuth.note("called", f"{k} {deep} {mode} {names}")
    return Answer(question, "answered", "final_answer")


@pytest.fixture(autouse=True)
def own() -> Iterator[None]:
    before = dict(strategies._own)
    yield
    strategies._own.clear()
    strategies._own.update(before)


def mine() -> sleuth.Card | strategies.Strategy:
    sleuth.strategy("mine", settings={"paper": {"k": 9}}, most_calls=2)(flow)
    return strategies.find("mine")


def test_a_packaged_strategy_is_found_by_name_and_alias_without_case() -> None:
    by_name = strategies.find("Self-Ask")
    assert by_name.card.name == "self-ask"
    for alias in by_name.card.aliases:
        assert strategies.find(alias) is by_name


def test_an_unknown_strategy_suggests_the_nearest_and_lists_all() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'self-ask'\?.*react.*sleuth strategies list"):
        strategies.find("self-aks")


def test_a_strategy_of_ones_own_is_described_by_its_docstring() -> None:
    found = mine()
    assert found.card.name == "mine"
    assert found.card.summary == "Says how it was called."
    assert found.most_calls({}) == 2
    assert strategies.find("mine") is found


def test_the_decorator_gives_the_flow_back_and_may_be_used_again() -> None:
    assert sleuth.strategy("mine")(flow) is flow
    assert sleuth.strategy("mine")(flow) is flow


def test_a_packaged_name_cannot_be_taken() -> None:
    with pytest.raises(BadInput, match="packaged"):
        sleuth.strategy("self-ask")(flow)


def test_a_flow_function_is_a_strategy_as_it_is() -> None:
    assert strategies.find(flow).card.name == "flow"


def test_a_setting_gives_parameters_and_arguments_override_them() -> None:
    found = mine()
    assert strategies.parameters(found, "default", {}) == {}
    assert strategies.parameters(found, "paper", {"deep": True}) == {"k": 9, "deep": True}
    assert strategies.parameters(found, "paper", {"k": 1}) == {"k": 1}


def test_an_unknown_setting_lists_the_known() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'paper'"):
        strategies.parameters(mine(), "papr", {})


def test_an_unknown_parameter_lists_what_the_flow_takes() -> None:
    with pytest.raises(BadInput, match=r"no parameter 'kk'.*deep, k, mode, names"):
        strategies.parameters(mine(), "default", {"kk": 1})


def test_texts_are_read_as_the_annotation_says() -> None:
    given = {"k": "5", "deep": "true", "mode": "b", "names": '["x", "y"]'}
    assert strategies.parameters(mine(), "default", given) == {"k": 5, "deep": True, "mode": "b", "names": ("x", "y")}


@pytest.mark.parametrize(("key", "value"), [("k", "many"), ("mode", "c"), ("names", "[1, "), ("deep", "perhaps")])
def test_a_value_that_does_not_fit_is_refused_by_name(key: str, value: str) -> None:
    with pytest.raises(BadInput, match=f"'{key}' of 'mine' cannot be"):
        strategies.parameters(mine(), "default", {key: value})


@pytest.mark.parametrize(
    ("name", "params"),
    [("plan-and-solve", {"steps": -3}), ("cot-sc", {"n": "-1"}), ("react", {"k": -1}), ("cot-sc", {"share": "nan"})],
)
def test_what_a_packaged_strategy_counts_starts_at_zero(name: str, params: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="a number from 0 up"):
        strategies.parameters(strategies.find(name), "default", params)


def test_a_strategy_of_ones_own_may_count_below_zero() -> None:
    assert strategies.parameters(mine(), "default", {"k": -1}) == {"k": -1}


def test_every_packaged_setting_fits_its_flow() -> None:
    for found in strategies.TABLE.values():
        assert {"default", "paper"} <= set(found.settings)
        for setting, values in found.settings.items():
            assert strategies.parameters(found, setting, values) == dict(values), (found.card.name, setting)
