"""The documentation is true: its code runs, its commands exist, its links lead somewhere, its generated parts are fresh."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.homes import private
from tests.support.pages import ROOT, anchors, blocks, commands, executed, inline_commands, links, made, pages

from sleuth.app import runs
from sleuth.cli.entry import build
from sleuth.strategies import TABLE

PAGES = pages()
MARKS = ("run", "run: docs", "run: model")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def marked(*marks: str) -> list[Path]:
    return [page for page in PAGES if any(block.mark in marks for block in blocks(page))]


@pytest.mark.parametrize("page", marked("run", "run: docs"), ids=named)
def test_the_python_blocks_of_a_page_run_and_print_what_the_page_says(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    private(monkeypatch, tmp_path)
    shutil.copytree(ROOT / "docs", Path.cwd() / "docs")
    printed, told = executed(page, ("run", "run: docs"))
    assert printed == told


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_python_block_says_whether_it_runs(page: Path) -> None:
    for block in blocks(page):
        if block.language == "python":
            assert block.mark in MARKS or block.mark.startswith("not run: "), block.text
        else:
            assert not block.mark


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_line_shown_is_one_that_the_program_takes(page: Path) -> None:
    for words in commands(page):
        if words[0] == "sleuth":
            build().parse_args(words[1:], exit_on_error=False, print_error=False)
        else:
            assert words[0] in ("make", "pip", "python")
            assert words[0] != "python" or (ROOT / words[1]).is_file()
            assert words[0] != "make" or words[1] in targets()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_named_in_the_text_exists_with_its_flags(page: Path) -> None:
    for words in inline_commands(page):
        if words[0] == "make":
            assert words[1] in targets(), words
            continue
        app = build()
        rest = words[1:]
        while rest and rest[0] in app and not rest[0].startswith("-"):
            app, rest = app[rest[0]], rest[1:]
        assert app.name != ("sleuth",) or rest[0].startswith("-"), words
        known = {name for argument in app.assemble_argument_collection() for name in argument.names}
        assert {word for word in rest if word.startswith("--")} <= known | {"--help", "--version"}, words


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_within_the_project_leads_to_something(page: Path) -> None:
    for link in links(page):
        if "://" in link:
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.is_file(), f"{named(page)}: {link}"
        assert not anchor or anchor in anchors(target), f"{named(page)}: {link}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        todo += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link]
    assert set(PAGES) <= seen


def test_what_is_generated_is_fresh() -> None:
    assert [named(path) for path in made().stale()] == [], "make docs"


def test_the_picture_is_sound_and_brings_its_own_ground() -> None:
    root = ElementTree.parse(ROOT / "docs" / "example.svg").getroot()
    ground = root.find("{http://www.w3.org/2000/svg}rect")
    assert ground is not None
    assert ground.get("fill") == "#ffffff"


def test_the_example_of_the_readme_replays_to_the_same_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where a prompt has changed, ask again: python docs/make.py --record."""
    private(monkeypatch, tmp_path)
    replayed = runs.replay(ROOT / "docs" / "example.jsonl")
    assert replayed.same
    assert (replayed.answer.text, len(replayed.answer.hops)) == ("Benjamin Harrison", 2)


def test_every_kind_of_note_and_attempt_is_explained() -> None:
    make = made()
    assert make.written_kinds(r"note") == set(make.NOTES)
    assert make.written_kinds(r"report|Attempt|self\._report\(step\)") <= set(make.ATTEMPTS)


def test_every_way_a_run_ends_is_explained() -> None:
    make = made()
    assert set(make.ENDED) == set(make.get_args(make.types.Why))


def test_every_strategy_has_its_card_in_the_pages() -> None:
    page = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
    assert all(f"## {name}\n" in page for name in TABLE)


def tracked() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git, or no clone: what is tracked is not known")
    told = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    found = [ROOT / name for name in told.stdout.decode().split("\0") if name]
    return [path for path in found if path.is_file() and path.suffix not in (".png", ".gz")]


PLACES = re.compile(r"(?<![\w.~/-])/(?:home|Users|root|tmp|work|opt|mnt)/\w")  # folders of some machine
HOSTS = re.compile(r"\b(?:pypi|pythonhosted|npmjs|crates|anaconda|jfrog|artifactory)[\w.-]*\.(?:org|com|io|net)\b")


def test_no_tracked_file_names_a_machines_folder_or_a_package_registry() -> None:
    bad = []
    for path in tracked():
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if path != Path(__file__) and (found := PLACES.search(line) or HOSTS.search(line)):
                bad.append(f"{named(path)}:{number}: {found[0]}")
    assert bad == []
