"""Settings: who wins, and what is refused."""

from pathlib import Path

import pytest
from tests.support.homes import private

from sleuth.app import settings
from sleuth.errors import BadInput


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def test_the_home_comes_from_the_environment(home: Path) -> None:
    assert settings.load().home == home
    assert settings.load().runs == home / "runs"


def test_without_the_environment_the_home_is_the_platforms_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SLEUTH_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert settings.load().home.name == "sleuth"


def test_arguments_win_over_environment_over_project_over_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config" / "sleuth").mkdir(parents=True)
    (tmp_path / "config" / "sleuth" / "sleuth.toml").write_text(
        'library = "user"\nmodel = "user"\ncalls = 1\nsetting = "user"'
    )
    Path("sleuth.toml").write_text('library = "project"\nmodel = "project"\ncalls = 2')
    monkeypatch.setenv("SLEUTH_LIBRARY", "environment")
    monkeypatch.setenv("SLEUTH_MODEL", "environment")
    found = settings.load(library="argument")
    assert (found.library, found.model, found.calls, found.setting) == ("argument", "environment", 2, "user")


def test_a_project_file_is_found_from_a_folder_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sleuth.toml").write_text('library = "project"')
    Path("deep/er").mkdir(parents=True)
    monkeypatch.chdir("deep/er")
    assert settings.load().library == "project"


def test_the_search_ends_at_the_projects_root(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sleuth.toml").write_text('library = "outside"')
    Path("inner").mkdir()
    Path("inner/pyproject.toml").touch()
    monkeypatch.chdir("inner")
    assert settings.load().library == "sample"


def test_an_unknown_key_in_a_file_names_the_file_and_the_nearest() -> None:
    Path("sleuth.toml").write_text('stratgy = "react"')
    with pytest.raises(BadInput, match=r"'stratgy' in .*sleuth\.toml.*'strategy'"):
        settings.load()


def test_a_slip_in_an_environment_variable_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_STRATGY", "react")
    with pytest.raises(BadInput, match=r"SLEUTH_STRATGY.*SLEUTH_STRATEGY"):
        settings.load()


def test_another_programs_variable_is_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_DATA", "somewhere")
    assert not hasattr(settings.load(), "data")


def test_a_value_that_cannot_be_used_says_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="'calls' in the arguments cannot be 0"):
        settings.load(calls=0)
    monkeypatch.setenv("SLEUTH_CALLS", "many")
    with pytest.raises(BadInput, match=r"'calls' in the environment \(SLEUTH_CALLS\) cannot be 'many'"):
        settings.load()
    monkeypatch.delenv("SLEUTH_CALLS")
    Path("sleuth.toml").write_text("seconds = -1")
    with pytest.raises(BadInput, match=r"'seconds' in .*sleuth\.toml cannot be -1"):
        settings.load()


def test_a_broken_file_is_named() -> None:
    Path("sleuth.toml").write_text("library = \nmodel = 1")
    with pytest.raises(BadInput, match=r"sleuth\.toml is not readable TOML.*line 1"):
        settings.load()


def test_the_budget_is_made_of_the_limits() -> None:
    budget = settings.load(calls=3, seconds=2.5).budget
    assert (budget.calls, budget.seconds, budget.tokens, budget.usd) == (3, 2.5, None, None)
