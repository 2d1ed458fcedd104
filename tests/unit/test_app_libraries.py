"""Libraries by name; the sample is built once, and again when its text changes."""

import json
from pathlib import Path

import pytest
from tests.support.homes import private

import sleuth.sample
from sleuth.app import libraries, settings
from sleuth.errors import BadInput, EnvironmentFault, NoLibrary
from sleuth.library import Library, index
from sleuth.types import Search


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def articles(folder: Path, text: str) -> Path:
    path = folder / "articles.jsonl"
    path.write_text(json.dumps({"title": "Varrow Point", "text": text}) + "\n")
    return path


def test_the_sample_is_built_when_it_is_first_used(home: Path) -> None:
    folder = libraries.existing("sample", settings.load())
    assert folder == home / "libraries" / "sample"
    titles = [p.title for p in Library.open(folder).search(Search("Eiffel Tower"))]
    assert "Eiffel Tower" in titles


def test_the_sample_is_built_anew_only_when_the_packaged_text_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built = []
    monkeypatch.setattr(sleuth.sample, "articles_path", lambda: tmp_path / "articles.jsonl")
    monkeypatch.setattr("sleuth.library.index", lambda paths, folder: (built.append(1), index(paths, folder)))
    chosen = settings.load()
    articles(tmp_path, "The light was lit in 1901.")
    libraries.sample(chosen)
    libraries.sample(chosen)
    assert built == [1]
    articles(tmp_path, "The light was lit in 1902.")
    [passage] = Library.open(libraries.sample(chosen)).search(Search("light"))
    assert "1902" in passage.text
    assert built == [1, 1]
    assert sorted(path.name for path in chosen.libraries.iterdir()) == ["sample", "sample.built-from"]


def test_a_home_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentFault, match="SLEUTH_HOME"):
        libraries.sample(settings.load(home=tmp_path / "file"))


def test_a_library_is_named_or_a_folder(home: Path, tmp_path: Path) -> None:
    index([articles(tmp_path, "A light.")], home / "libraries" / "notes")
    chosen = settings.load()
    assert libraries.existing("notes", chosen) == home / "libraries" / "notes"
    assert libraries.existing(home / "libraries" / "notes", chosen) == home / "libraries" / "notes"
    assert libraries.names(chosen) == ["notes", "sample"]
    with pytest.raises(NoLibrary, match=r"Did you mean 'notes'\?.*sleuth index"):
        libraries.existing("note", chosen)


@pytest.mark.parametrize("name", ["../x", "", ".hidden", "a/b", "x" * 100, "sample"])
def test_a_name_that_cannot_be_a_librarys_is_refused(name: str) -> None:
    with pytest.raises(BadInput):
        libraries.new(name, settings.load())


def test_only_a_named_library_is_ever_removed(home: Path, tmp_path: Path) -> None:
    (home / "libraries" / "notes").mkdir(parents=True)
    chosen = settings.load()
    for name in ("..", "../../project", ".", str(tmp_path)):
        with pytest.raises(NoLibrary):
            libraries.remove(name, chosen)
    libraries.remove("notes", chosen)
    assert not (home / "libraries" / "notes").exists()
    assert home.parent.exists()
