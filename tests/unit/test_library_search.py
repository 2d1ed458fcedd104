"""Search one by one and together, and pages by their titles."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sleuth.errors import LibraryFault, SourceError
from sleuth.library import Library, index
from sleuth.library.links import TitleTable
from sleuth.library.words import asked_words, keys, likeness
from sleuth.sources.library import LibrarySource
from sleuth.types import Open, Page, Search, Similar

PAGES = {
    "Vera Lind": "Vera Lind is a Danish painter. She was born in Aarhus and married the composer Otto Brandt in 1931.",
    "Otto Brandt": "Otto Brandt was a composer from Odense. He taught at the academy and wrote four symphonies.",
    "Odense": "Odense is a city on the island of Funen, with a harbour and a brewery.",
    "The Silver Gate": "The Silver Gate is a film of 1948 about a smuggler, directed by Karl Voss.",
    "Karl Voss": "Karl Voss was a director who was born in 1902. His brother was a painter.",
    "Northern Light": "Northern Light is a film of 1950 about a painter and a composer, directed by Ida Holm.",
    "Ida Holm": "Ida Holm was a director who was born in 1911.",
    "Mercury (planet)": "Mercury is the planet nearest to the sun. A composer wrote about it.",
    "Mercury (element)": "Mercury is a metal that is liquid at room temperature.",
    "Saturn (planet)": "Saturn is a planet with rings.",
    "Who": "Who is a word.",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    place = tmp_path_factory.mktemp("search")
    lines = [json.dumps({"id": title.lower(), "title": title, "text": text}) for title, text in PAGES.items()]
    (place / "pages.jsonl").write_text("\n".join(lines))
    (place / "office.txt").write_text("Ann Ley was mayor from 1901 to 1905.")
    (place / "office2.txt").write_text("Bo Dahl was mayor from 1905 to 1912. As mayor he was a mayor who was mayor.")
    index([place], place / "library")
    return Library.open(place / "library")


def titles(library: Library, query: str, k: int = 5, **more: object) -> list[str]:
    return [passage.title for passage in library.search(Search(query, k, **more))]  # type: ignore[arg-type]


def test_together_finds_the_page_that_the_question_does_not_name(library: Library) -> None:
    question = "From which city did the husband of the painter Vera Lind come?"
    assert titles(library, question, 2, together=True) == ["Vera Lind", "Otto Brandt"]
    assert titles(library, question, 2) != ["Vera Lind", "Otto Brandt"]


def test_together_takes_a_comparison_apart(library: Library) -> None:
    found = titles(library, "Which film has the younger director, The Silver Gate or Northern Light?", 4, together=True)
    assert set(found[:2]) == {"The Silver Gate", "Northern Light"}
    assert set(found) == {"The Silver Gate", "Northern Light", "Karl Voss", "Ida Holm"}


def test_every_passage_says_why(library: Library) -> None:
    first, second = library.search(Search("Who married the painter Vera Lind?", 2, together=True))
    assert first.why == "title in question; covers: married, painter, vera, lind; links to: Otto Brandt"
    assert second.why == "named in: Vera Lind"
    assert library.search(Search("planet rings", 1))[0].why == "covers: planet, rings"


def test_small_letters_name_titles_too(library: Library) -> None:
    assert "title in question" in library.search(Search("who married vera lind", 1))[0].why


def test_without_links_together_is_bm25(library: Library) -> None:
    question = "a metal that is liquid at room temperature"
    assert titles(library, question, 5, together=True) == titles(library, question, 5)


def test_excluded_passages_do_not_come_back(library: Library) -> None:
    for together in (False, True):
        assert "Vera Lind" not in titles(library, "painter Vera Lind", 5, together=together, exclude=("vera lind",))


def test_when_brings_the_holder_of_that_time_first(library: Library) -> None:
    for together in (False, True):
        assert library.search(Search("mayor", 1, together, (), "1903"))[0].title == "office"
        assert library.search(Search("mayor", 1, together, (), "1908"))[0].title == "office2"
        assert library.search(Search("mayor", 1, together))[0].title == "office2"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80), st.booleans())
@example('title:"Vera" AND (text:lind^9 OR NOT -x) [a TO z] {b} ~2 * ? \\ /re/ : + - ! && ||', True)
@example("Who directed Star Wars: A New Hope?", False)
@example("😀 \ud800 \0", True)
@example("the of and", True)
@example("İstanbul ﬁnd ǅ ß", True)
def test_any_characters_make_a_query(library: Library, query: str, together: bool) -> None:
    found = library.search(Search(query, 3, together=together))
    assert len({passage.id for passage in found}) == len(found) <= 3
    assert found == library.search(Search(query, 3, together=together)), "the order is the same every time"
    assert isinstance(library.open_page(query), Page | Similar)


def test_signs_of_query_languages_are_no_more_than_space(library: Library) -> None:
    assert titles(library, 'title:"Otto" AND -(brandt) OR [odense]') == titles(library, "title Otto brandt odense")


def test_stop_words_count_only_when_there_is_nothing_else(library: Library) -> None:
    assert titles(library, "what is the planet of the sun?", 1) == ["Mercury (planet)"]
    assert titles(library, "Who?", 1) == ["Who"]
    assert asked_words("The US and us: Émile's tower") == ["us", "united", "states", "emile", "tower"]


def test_stems_and_accents_are_folded(library: Library) -> None:
    assert titles(library, "PAINTÉRS", 9) == titles(library, "painter", 9) != []


def test_nothing_found_is_empty(library: Library) -> None:
    assert titles(library, "zebra") == titles(library, "") == titles(library, "?!", together=True) == []
    assert titles(library, "painter", 0) == []


def test_a_question_of_100_000_characters(library: Library) -> None:
    assert titles(library, "Vera Lind " + "painter composer xyz " * 5000, 1, together=True) == ["Vera Lind"]
    assert titles(library, " ".join(f"word{n}" for n in range(20_000)) + " painter", 1) == []


def test_more_than_there_is_gives_all_that_fits(library: Library) -> None:
    assert sorted(titles(library, "director", 50, together=True)) == sorted(titles(library, "director", 50))


def test_equal_scores_are_ordered_by_id(tmp_path: Path) -> None:
    order = [7, 3, 9, 1, 40, 22, 5, *range(100, 160)]
    (tmp_path / "x.jsonl").write_text(
        "\n".join(json.dumps({"id": f"{n:03}", "title": "T", "text": "An otter."}) for n in order)
    )
    index([tmp_path], tmp_path / "library")
    found = [passage.id for passage in Library.open(tmp_path / "library").search(Search("otter", 5))]
    assert found == ["001", "003", "005", "007", "009"]


def test_pages_are_found_by_exact_then_loose_titles(library: Library) -> None:
    for asked in ("Vera Lind", "vera lind", "  VERA, LIND! ", "Vera Lind (painter)"):
        page = library.open_page(asked)
        assert isinstance(page, Page)
        assert page.title == "Vera Lind"
        assert page.sentences[0] == "Vera Lind is a Danish painter."
        assert page.passages[0].id == "vera lind"
    saturn = library.open_page("saturn")
    assert isinstance(saturn, Page)
    assert saturn.title == "Saturn (planet)"


def test_an_ambiguous_or_unknown_title_gives_the_most_similar(library: Library) -> None:
    found = library.open_page("Mercury")
    assert isinstance(found, Similar)
    assert set(found.titles[:2]) == {"Mercury (planet)", "Mercury (element)"}
    assert len(found.titles) <= 5
    near = library.open_page("Karl Vos")
    assert isinstance(near, Similar)
    assert near.titles[0] == "Karl Voss"
    assert library.open_page("") == Similar(())


def test_of_several_documents_with_one_title_the_exact_then_the_first_is_opened(tmp_path: Path) -> None:
    rows = [("b", "Rome", "Second."), ("a", "ROME", "Loud."), ("c", "Rome", "Third.")]
    (tmp_path / "x.jsonl").write_text("\n".join(json.dumps({"id": i, "title": t, "text": x}) for i, t, x in rows))
    index([tmp_path], tmp_path / "library")
    found = Library.open(tmp_path / "library")
    sentences = [page.sentences for asked in ("Rome", "rome") if isinstance(page := found.open_page(asked), Page)]
    assert sentences == [("Second.",), ("Loud.",)]


def test_a_long_page_comes_back_whole_and_in_order(tmp_path: Path) -> None:
    said = [f"Sentence number {n} says that the otter swam past the mill." for n in range(60)]
    (tmp_path / "otter.txt").write_text(" ".join(said))
    index([tmp_path], tmp_path / "library")
    page = Library.open(tmp_path / "library").open_page("otter")
    assert isinstance(page, Page)
    assert page.sentences == tuple(said)
    text = (tmp_path / "otter.txt").read_text()
    assert [text[a:b] for a, b in (passage.span for passage in page.passages)] == [
        passage.text for passage in page.passages
    ]
    assert [passage.id for passage in page.passages[:2]] == [
        f"{tmp_path.name}/otter.txt",
        f"{tmp_path.name}/otter.txt#2",
    ]


def test_links_are_longest_titles_that_begin_with_a_capital_and_are_no_part_of_another_name() -> None:
    table = TitleTable(
        name
        for title in ["New York", "New York City", "Time", "United", "Up", "1984", "7 Up", "iPod"]
        for name in keys(title)
    )
    text = "In Time he left New York City. On time, United States, Up, 1984, drank 7 Up. New York, an iPod."
    assert table.find(text) == ["time", "new york city", "7 up", "new york"]
    assert table.find(text, but=["new york"]) == ["time", "new york city", "7 up"]


def test_likeness_is_one_for_the_same_and_less_for_others() -> None:
    assert likeness("Émile Zola", "emile zola!") == 1.0
    assert 0 < likeness("Emile Zola", "Emil Zolla") < 1
    assert likeness("", "") < 1


def test_the_source_works_beside_the_event_loop_and_maps_faults(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, told = LibrarySource(library), []

    def report(kind: str, text: str, **_: object) -> None:
        told.append((kind, text))

    async def ask() -> None:
        assert [passage.title for passage in await source.search(Search("rings", 1), report=report)] == [
            "Saturn (planet)"
        ]
        assert await source.open(Open("Vera Lind"), report=report) == library.open_page("Vera Lind")
        await source.aclose()

    anyio.run(ask)
    assert (source.name, told) == ("library:library", [])

    def damaged(_: Search) -> None:
        raise LibraryFault("It is damaged.", hint="Rebuild it.")

    monkeypatch.setattr(library, "search", damaged)

    async def fail() -> None:
        await source.search(Search("rings"), report=report)

    with pytest.raises(SourceError, match=r"It is damaged\. Rebuild it\."):
        anyio.run(fail)
    assert told == [("fault", "search in library:library: It is damaged.")]


def test_several_threads_may_search_one_library(library: Library) -> None:
    questions = ["painter Vera Lind", "director of Northern Light", "planet with rings"] * 20
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda question: library.search(Search(question, together=True)), questions))
    assert found == found[:3] * 20


DATA = Path(os.environ.get("SLEUTH_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


@pytest.mark.skipif(not (DATA / "strategyqa").is_dir(), reason="needs the evaluation sets (SLEUTH_DATA)")
def test_linked_search_finds_more_of_what_musique_needs(tmp_path: Path) -> None:
    """A small guard of the table that benchmarks/retrieval.py prints."""
    import gzip

    corpus = tmp_path / "corpus.jsonl"
    corpus.write_bytes(gzip.decompress((DATA / "musique/corpus.jsonl.gz").read_bytes()))
    index([corpus], tmp_path / "library")
    library = Library.open(tmp_path / "library")
    rows = [json.loads(line) for line in (DATA / "musique/questions.jsonl").read_text().splitlines()]

    def share(together: bool) -> float:
        hits = ({p.document for p in library.search(Search(row["question"], 5, together))} for row in rows)
        return sum(set(row["supporting_ids"]) <= got for row, got in zip(rows, hits, strict=True)) / len(rows)

    assert share(together=True) >= 0.29 > share(together=False)
