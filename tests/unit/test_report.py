"""A bench's report: what it says, that it says it safely, and that the same folder gives the same bytes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.benches import begun, put
from tests.support.homes import private

from sleuth.bench import report
from sleuth.bench.folder import BenchFolder, Cell
from sleuth.bench.questions import Question
from sleuth.bench.report import comparing, figures, tables
from sleuth.bench.report.blocks import Items, Para
from sleuth.bench.report.html import said
from sleuth.bench.report.markdown import escaped
from sleuth.bench.report.page import SCRIPT
from sleuth.bench.report.pairs import pairs
from sleuth.bench.report.questions import cards
from sleuth.bench.report.reading import read
from sleuth.cli import main
from sleuth.errors import BadInput, SleuthError, UnknownName
from sleuth.types import Answer, Hop, Passage

HOSTILE = (
    "<script>alert(1)</script>",
    "</style></script><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "a | b\n| c\n\n# heading",
    "[x](javascript:alert(1)) https://evil.example www.evil.example",
    "```\n$\\frac{1}{0}$ _a_ **b** <!-- \x1b[31m \u202e \ud800 \x00",
)


def said_by(text: str, *, hops: Sequence[Hop] = (), confidence: float | None = None) -> Answer:
    return Answer(text, "answered" if text else "abstained", "final_answer", hops=tuple(hops), confidence=confidence)


def bench(where: Path, right: dict[str, Sequence[bool]], **how: object) -> BenchFolder:
    """A bench in which each method answers these questions rightly or not; a shorter list is not finished."""
    most = max(map(len, right.values()))
    folder = begun(
        where, [Question(f"q{n}", f"Which river is number {n}?", ("Tarn",)) for n in range(most)], list(right), **how
    )  # type: ignore[arg-type]
    for method, outcomes in right.items():
        for at, ok in enumerate(outcomes):
            put(
                folder,
                Cell("t", "m", method),
                f"q{at}",
                said_by("Tarn" if ok else "Silt", confidence=0.9 if ok else 0.4),
            )
    return folder


def told(folder: BenchFolder, **how: object) -> list[str]:
    """The findings, in words."""
    blocks = report.sections(read(folder), **how)  # type: ignore[arg-type]
    head = blocks[1 : next(at for at, each in enumerate(blocks) if getattr(each, "level", 0) == 2)]
    return [
        text
        for each in head
        for text in ((each.text,) if isinstance(each, Para) else each.items if isinstance(each, Items) else ())
    ]


# --- what it says -------------------------------------------------------------------------------------------------


def test_no_difference_is_said_with_the_smallest_that_could_have_been_shown(tmp_path: Path) -> None:
    [finding] = told(bench(tmp_path / "b", {"A": [True, False] * 15, "B": [True, True, False] * 10}))
    assert "no difference shown between A and B with 30 questions; the smallest this could have shown is" in finding
    assert re.search(r"is \d+ points\.", finding)


def test_a_shown_difference_says_by_how_much_and_the_table_marks_it(tmp_path: Path) -> None:
    folder = bench(tmp_path / "b", {"A": [False] * 30, "B": [True] * 27 + [False] * 3, "C": [True] * 26 + [False] * 4})
    first, second, rest = told(folder)
    assert "B is shown to be better than A (by 90 points, 30 questions)" in first
    assert "C is shown to be better than A" in second
    assert rest.startswith("No difference shown between B and C")
    reading = read(folder)
    table = tables.scores(reading, "t", pairs(reading, "t"))
    assert [row[3] for row in table.rows] == ["", "a", "a"]


def test_so_few_questions_that_nothing_could_be_shown_is_said(tmp_path: Path) -> None:
    [finding] = told(bench(tmp_path / "b", {"A": [True, False], "B": [False, True]}))
    assert "so few questions could have shown none, however large" in finding


def test_what_is_not_finished_is_named_and_tested_on_common_questions(tmp_path: Path) -> None:
    folder = bench(tmp_path / "b", {"A": [True] * 10, "B": [True] * 4})
    assert any("Not finished on t: B 4 of 10 runs have ended" in text for text in told(folder))
    [pair] = pairs(read(folder), "t")
    assert pair.difference.n == 4


def test_a_bench_without_a_run_is_reported(tmp_path: Path) -> None:
    folder = bench(tmp_path / "b", {"A": [True] * 3, "B": []})
    shutil.rmtree(folder.folder / "runs")
    assert told(folder)[0] == "On t no run is scored yet."
    assert len(report.build(folder)) == 2


def test_what_one_pair_alone_would_show_is_not_shown_among_many(tmp_path: Path) -> None:
    outcomes = {"A": [True] * 6 + [False] * 24, "B": [False] * 30}
    [alone] = pairs(read(bench(tmp_path / "one", dict(outcomes))), "t")
    assert alone.difference.shown
    many = {**outcomes, **{name: [True] * 3 + [False] * 27 for name in "CDEF"}}
    first = pairs(read(bench(tmp_path / "many", many)), "t")[0]
    assert (first.ours, first.theirs) == (alone.ours, alone.theirs)
    assert not first.difference.shown


def test_pairs_differ_in_one_thing_and_against_keeps_one_method(tmp_path: Path) -> None:
    folder = bench(tmp_path / "b", {"A": [True] * 3, "B": [False] * 3, "C": [True] * 3}, models=("m", "n"))
    for method in "ABC":
        for at in range(3):
            put(folder, Cell("t", "n", method), f"q{at}", said_by("Tarn"))
    reading = read(folder)
    every = pairs(reading, "t")
    assert len(every) == 9  # three pairs of methods for each of two models, and three methods with both
    assert all((p.ours.model == p.theirs.model) != (p.ours.method == p.theirs.method) for p in every)
    assert {(p.ours.method, p.theirs.method) for p in pairs(reading, "t", "B")} == {("A", "B"), ("C", "B")}
    with pytest.raises(UnknownName, match="no method 'D'"):
        pairs(reading, "t", "D")


def test_theirs_stands_beside_ours_only_where_the_preset_and_the_task_are_the_papers(tmp_path: Path) -> None:
    folder = bench(tmp_path / "a", {"ReAct": [True, False]}, task="t", preset="react-paper")
    assert tables.published(read(folder), "t") is None
    folder = begun(tmp_path / "b", [Question("q", "?", ("Tarn",))], ["ReAct"], task="hotpotqa", preset="react-paper")
    put(folder, Cell("hotpotqa", "m", "ReAct"), "q", said_by("Tarn"))
    table = tables.published(read(folder), "hotpotqa")
    assert table is not None
    assert table.heads[2] == "theirs: PaLM-540B"
    assert ("ReAct", "100.0 (21 to 100)", "27.4") in table.rows


def test_the_majority_label_and_the_closed_book_are_baselines(tmp_path: Path) -> None:
    questions = [Question(f"q{n}", "c", (label,), "claim") for n, label in enumerate(("YES", "YES", "NO"))]
    folder = begun(tmp_path / "b", questions, ["A"], metrics=("label",), labels=("YES", "NO"))
    put(folder, Cell("t", "m", "A"), "q0", said_by("YES"))
    rows = tables.scores(read(folder), "t", ()).rows
    assert rows[0][0] == "a A (closed book)"
    assert rows[-1][:3] == ("baseline: majority label (YES)", "3", "66.7 (21 to 94)")


def test_the_frontier_holds_what_no_other_beats() -> None:
    assert tables.pareto([(1, 10), (2, 30), (3, 20), (2, 30), (5, 31)]) == [0, 1, 3, 4]


def test_the_versions_of_metrics_are_told(tmp_path: Path) -> None:
    rows = dict(tables.asked(read(bench(tmp_path / "b", {"A": [True]}))).rows)
    assert rows["metrics"] == "em version 1; f1 version 1"


# --- questions one by one -----------------------------------------------------------------------------------------


def test_a_question_shows_where_the_methods_part(tmp_path: Path) -> None:
    folder = begun(tmp_path / "b", [Question("q", "Which river?", ("Tarn",))], ["A", "B"])
    passage = Passage("p", "d", "Brenn", "Brenn lies on the Tarn.")
    put(folder, Cell("t", "m", "A"), "q", said_by("Tarn", hops=[Hop("Where is it?", "brenn", evidence=(passage,))]))
    put(folder, Cell("t", "m", "B"), "q", said_by("Silt", hops=[Hop("Where is it?", "silt")]))
    [card] = cards(read(folder), "t").cards
    assert card.state == "differ"
    assert (
        card.parts == "They part at hop 1 in the query and passages. a: “brenn” found Brenn; b: “silt” found nothing."
    )
    assert card.sides[0].hops[0].startswith("1. Where is it? → searched: brenn → found: Brenn")


def test_where_not_all_fits_those_that_differ_are_kept_and_the_rest_is_named(tmp_path: Path) -> None:
    folder = bench(tmp_path / "b", {"A": [True, False, True, False], "B": [True, False, False, False]})
    shown = cards(read(folder), "t", most=1)
    assert [card.id for card in shown.cards] == ["q2"]
    assert "Shown here are 1 of 4 questions" in shown.left_out
    assert "runs/" in shown.left_out
    assert cards(read(folder), "t").left_out == ""
    assert [card.state for card in cards(read(folder), "t").cards] == ["right", "wrong", "differ", "wrong"]


# --- safe, self-contained, the same -------------------------------------------------------------------------------


class _Page(HTMLParser):
    """The tags and attributes of a page, and its text outside of script and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] not in (["script"], ["style"]):
            self.text += data


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A report in which every text from outside is hostile: (html, markdown)."""
    where = tmp_path_factory.mktemp("hostile")
    safe = [text.replace("\ud800", "") for text in HOSTILE]  # questions and plans are UTF-8 files
    questions = [Question(f"{n} {text}", text, (text,), type=text, supporting=(text,)) for n, text in enumerate(safe)]
    folder = begun(where / "b", questions, safe[:3], models=(safe[3],), task=safe[0], preset=safe[4])
    for method in safe[:3]:
        for question in questions:
            hop = Hop(question.text, question.text, question.text, evidence=(Passage("p", "d", question.text, ""),))
            answer = said_by(question.text, hops=[hop], confidence=0.5)
            put(folder, Cell(safe[0], safe[3], method), question.id, answer)
    row = {"task": safe[0], "model": safe[3], "method": safe[0], "question": questions[0].id, "part": "query"}
    (folder.folder / "blame.jsonl").write_text(json.dumps(row) + "\nnot json\n")
    page, text = report.build(folder)
    return page.read_text(encoding="utf-8"), text.read_text(encoding="utf-8")


def test_hostile_text_is_shown_and_never_obeyed_in_html(hostile: tuple[str, str]) -> None:
    page = _Page(hostile[0])
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "src"]
    assert "<script>alert(1)</script>" in page.text
    assert not re.search("[\x00\x1b\u202e]", hostile[0])


def test_hostile_text_breaks_no_table_and_makes_no_link_in_markdown(hostile: tuple[str, str]) -> None:
    wide = None
    for line in hostile[1].splitlines():
        bars = len(re.findall(r"(?<!\\)\|", line))
        wide = None if not line.startswith("|") else wide or bars
        assert bars == (wide or 0), line
    assert not re.search(r"(?<!\\)<|(?<!\\)\[|(?<!\\)`|(?<!\\):\/\/|www\.|^# heading", hostile[1], re.MULTILINE)


@given(st.text())
def test_any_text_stays_one_cell(text: str) -> None:
    once = escaped(text)
    assert "\n" not in once
    assert not re.search(r"[|<>`*\[\]#]", re.sub(r"\\.", "", once))
    assert not re.search('[<>"\n]', said(text))


def test_the_page_fetches_nothing_and_runs_its_own_script_alone(tmp_path: Path) -> None:
    [file] = report.build(bench(tmp_path / "b", {"A": [True, False] * 5, "B": [False, True] * 5}), forms=["html"])
    text = file.read_text()
    page = _Page(text)
    assert all((value or "").startswith("#") for name, value in page.attributes if name in ("href", "xlink:href"))
    assert not re.search(r"url\((?!#)|@import", text)
    allowed = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'" in text
    assert f"<script>{SCRIPT}</script>" in text
    assert page.tags.count("svg") == 3  # risk and coverage, tokens, seconds
    assert len(page.ids) == len(set(page.ids))


def test_the_same_folder_gives_the_same_bytes_wherever_it_is(tmp_path: Path) -> None:
    first = bench(tmp_path / "one", {"A": [True, False] * 5, "B": [False] * 10})
    shutil.copytree(first.folder, tmp_path / "two")
    for one, two in zip(report.build(first), report.build(BenchFolder(tmp_path / "two")), strict=True):
        assert one.read_bytes() == two.read_bytes()
        assert str(tmp_path) not in one.read_text()


def test_figures_differ_by_mark_and_line_not_by_colour_alone() -> None:
    series = [
        figures.Series(f"{n} $\\nonsense{{{n}}}$", ((1.0, n, n, n, 1.0, 1.0), (2.0, n, n, n, 2.0, 2.0)), n)
        for n in range(6)
    ]
    svg = figures.lines(series, "x", "y")
    assert svg == figures.lines(series, "x", "y")
    assert len(set(figures.MARKS)) >= 6
    assert (
        len(
            {
                re.search(r"stroke-dasharray: ([^;\"]*)", part) and part
                for part in re.findall(r"stroke-dasharray: [^;\"]*", svg)
            }
        )
        >= 5
    )
    assert "0 $\\nonsense{0}$" in svg
    assert "#010203" not in svg


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    folder = bench(tmp_path / "b", {"A": [True]})
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        report.build(folder, output=tmp_path / "file" / "report", forms=["markdown"])


# --- benches against each other, and the command line ------------------------------------------------------------


def test_two_benches_are_compared_method_by_method(tmp_path: Path) -> None:
    before = bench(tmp_path / "before", {"A": [False] * 12, "B": [True] * 12})
    after = bench(tmp_path / "after", {"A": [True] * 12, "B": [True] * 12})
    [found] = comparing.compare([str(before.folder), str(after.folder)])
    assert [(p.difference.difference, p.better is not None) for p in found.pairs] == [(1.0, True), (0.0, False)]
    named = comparing.compare([f"{before.folder}#A", f"{after.folder}#B"], metrics=["em", "f1"])
    assert [(each.metric, len(each.pairs)) for each in named] == [("em", 1), ("f1", 1)]
    [within] = comparing.compare([str(before.folder)])
    assert len(within.pairs) == 1


def test_what_cannot_be_compared_is_refused_by_name(tmp_path: Path) -> None:
    one = bench(tmp_path / "one", {"A": [True] * 3})
    other = begun(tmp_path / "other", [Question("q0", "Another question?", ("Tarn",))], ["A", "B"])
    for given_, error, match in (
        ([f"{one.folder}#Z"], UnknownName, "no method 'Z'"),
        ([str(one.folder)], BadInput, "Nothing here is to be compared"),
        ([str(one.folder), str(other.folder)], BadInput, "question q0 of t reads otherwise"),
        ([str(tmp_path / "nowhere")], BadInput, "no bench"),
    ):
        with pytest.raises(error, match=match):
            comparing.compare(given_)
    with pytest.raises(SleuthError, match="no task 'u'"):
        comparing.compare([str(one.folder)], task="u")


def test_the_commands_write_files_and_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    private(monkeypatch, tmp_path)
    bench(Path("bench-mine"), {"A": [True, False] * 6, "B": [False] * 12})
    assert main(["bench", "report", "bench-mine"]) == 0
    assert capsys.readouterr().out.splitlines() == ["written  bench-mine/report.html", "written  bench-mine/report.md"]
    assert (
        main(["bench", "report", "bench-mine", "--markdown", "--output", "here/mine.md", "--metrics", "f1", "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out) == {"files": ["here/mine.md"]}
    assert "by F1" in Path("here/mine.md").read_text()
    assert main(["bench", "compare", "bench-mine", "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert (found["metric"], found["pairs"][0]["n"], found["pairs"][0]["difference"]) == ("em", 12, -0.5)
    assert main(["bench", "compare", "bench-mine"]) == 0
    assert "B less A\t12\t-50.0" in capsys.readouterr().out
    assert main(["bench", "report", "nowhere"]) == 2
    assert main(["bench", "report", "bench-mine", "--metrics", "beauty"]) == 2
    assert main(["bench", "compare"]) == 2
