"""Guards in part: over the setting's, from Python, the command line and sleuth.toml."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.homes import private

import sleuth
from sleuth.app import runs, settings, strategies
from sleuth.app.guarding import guards
from sleuth.cli import main
from sleuth.cli.ask import given_params
from sleuth.errors import BadInput
from sleuth.trace import RunStore
from sleuth.types import Answer, Flow, Guards, Strategy

PAPER = Guards(confidence=None, fallback="off", compress=0, repeats="exact", citations="off")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def guarded(question: str, *, guards: Guards = Guards(judge=True)) -> Flow[Answer]:
    """Say the guards."""
    yield from sleuth.note("guards")
    values = dataclasses.asdict(guards)
    return Answer(json.dumps(values), "answered", "final_answer")


def free(question: str, *, guards: str = "none") -> Flow[Answer]:
    """Guards of another kind."""
    yield from sleuth.note("guards")
    return Answer(guards, "answered", "final_answer")


def chosen(setting: str = "default", given: object = None, toml: Mapping[str, Any] | None = None) -> object:
    found = strategies.find(guarded)
    named = Strategy(found.card, found.flow, {"default": {}, "paper": {"guards": PAPER}}, found.most_calls)
    params = {} if given is None else {"guards": given}
    return strategies.parameters(named, setting, params, guards=toml).get("guards")


def test_a_mapping_is_laid_over_the_settings_guards_or_the_flows_own() -> None:
    assert chosen() is None
    assert chosen(given={"compress": 0}) == Guards(judge=True, compress=0)
    assert chosen("paper", {"compress": 500}) == dataclasses.replace(PAPER, compress=500)
    assert chosen("paper", '{"compress": 500}') == dataclasses.replace(PAPER, compress=500)


def test_guards_proper_stand_for_themselves() -> None:
    assert chosen("paper", Guards()) == Guards()
    assert sleuth.Guards is Guards


def test_the_settings_files_guards_are_for_settings_that_say_nothing() -> None:
    assert chosen(toml={"compress": 9}) == Guards(judge=True, compress=9)
    assert chosen("paper", toml={"compress": 9}) == PAPER
    assert chosen(given={"judge": "no"}, toml={"compress": 9}) == Guards(compress=9)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("confidence=none", {"confidence": None}),
        ("confidence=Off", {"confidence": None}),
        ("confidence=0.5", {"confidence": 0.5}),
        ("confidence-by=asked", {"confidence_by": "asked"}),
        ("fallback=off", {"fallback": "off"}),
        ("compress=500", {"compress": 500}),
        ("judge=true", {"judge": True}),
        ("own=off", {"own": False}),
    ],
)
def test_texts_are_read_as_the_guards_type_says(text: str, value: dict[str, Any]) -> None:
    given = given_params(None, [text])["guards"]
    assert guards(Guards(), given) == dataclasses.replace(Guards(), **value)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"compres": 0}, "There is no guard 'compres'. Did you mean 'compress'.*confidence_by \\(logprob\\|asked\\)"),
        ({"compress": "much"}, "'compress' cannot be 'much': it takes int. Guards: .*repeats \\(off\\|exact\\|near\\)"),
        ({"compress": -1}, "'compress' cannot be -1: it is a number of tokens"),
        ({"compress": True}, "'compress' cannot be True"),
        ({"confidence": "2"}, "'confidence' cannot be 2.0: it is a probability"),
        ({"confidence": "nan"}, "'confidence' cannot be nan"),
        ({"repeats": "often"}, "'repeats' cannot be 'often': it takes off\\|exact\\|near"),
        ({"judge": "perhaps"}, "'judge' cannot be 'perhaps': it takes true\\|false"),
        ({"repeats": None}, "'repeats' cannot be None"),
        (Guards(confidence=7), "'confidence' cannot be 7"),
        ("compress=0", "Guards cannot be read from 'compress=0'"),
        ("[" * 100_000, "cannot be read"),
        (3, "Guards cannot be 3. Give sleuth.Guards"),
    ],
)
def test_what_no_guard_can_be_is_told_with_the_fields(given: object, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        guards(Guards(), given)


def test_a_parameter_of_another_type_that_is_called_guards_is_left_alone() -> None:
    assert strategies.parameters(strategies.find(free), "default", {"guards": "mine"}) == {"guards": "mine"}
    assert strategies.parameters(strategies.find(free), "default", {}, guards={}) == {}


def ask(**more: Any) -> dict[str, Any]:
    answer = sleuth.ask("Which?", strategy="guarded", model=sleuth.Script([]), library=sleuth.Shelf({}), **more)
    told: dict[str, Any] = json.loads(answer.text)
    return told


def test_sleuth_toml_may_hold_guards_and_a_replay_keeps_the_runs_own(home: Path) -> None:
    sleuth.strategy("guarded")(guarded)
    assert ask() == dataclasses.asdict(Guards(judge=True))
    Path("sleuth.toml").write_text("[guards]\ncompress = 7\njudge = false")
    assert ask() == dataclasses.asdict(Guards(compress=7))
    assert ask(guards={"judge": True}) == dataclasses.asdict(Guards(compress=7, judge=True))
    Path("sleuth.toml").write_text("[guards]\ncompress = 8")
    stored = RunStore(home / "runs").runs()
    assert len(stored) == 3
    for each in stored:
        assert runs.replay(each.path).same


def test_wrong_guards_in_the_settings_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sleuth.toml").write_text("[guards]\ncompres = 7")
    with pytest.raises(BadInput, match="no guard 'compres' in the settings"):
        settings.load()
    Path("sleuth.toml").write_text("guards = 3")
    with pytest.raises(BadInput, match=r"The setting 'guards' in .*sleuth.toml cannot be 3"):
        settings.load()
    Path("sleuth.toml").unlink()
    monkeypatch.setenv("SLEUTH_GUARDS", "compress=7")
    with pytest.raises(BadInput, match="SLEUTH_GUARDS is no JSON object"):
        settings.load()
    monkeypatch.setenv("SLEUTH_GUARDS", '{"compress": 7}')
    assert settings.load().guards == {"compress": 7}


def test_the_command_line_tells_wrong_guards(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ask", "When?", "--strategy", "react", "--model", "http://127.0.0.1:9/v1#x"]
    for more, why in [
        (["--guard", "compres=0"], "There is no guard 'compres'"),
        (["--guard", "compress"], "'compress' is not NAME=VALUE. Write, for example, --guard compress=0."),
        (["--guard", "compress=0", "--param", "guards={}"], "Guards are given twice"),
    ]:
        assert main([*words, *more]) == 2
        assert why in " ".join(capsys.readouterr().err.split())
