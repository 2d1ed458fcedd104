"""People's labels outlast anything, are blind, and agreement over chance is what Cohen wrote down."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.benches import begun, put
from tests.support.homes import private

from sleuth.bench.errors import SEEN, Label, agreement, kappa, labels, put_label, take_back
from sleuth.bench.folder import BenchFolder, Cell, Run
from sleuth.bench.questions import Question
from sleuth.cli import main
from sleuth.cli.bench.label import neutral, talk, waiting
from sleuth.types import Answer, Hop, Passage

WROLL = Passage("w1", "wroll", "Edda Wroll", "Edda Wroll was born in Brenn.")
QUESTIONS = [
    Question(f"q{n}", f"Where was designer {n} born?", ("Brenn",), supporting=("Edda Wroll",)) for n in range(6)
]
METHODS = ("react:paper", "self-ask")
KINDS = st.sampled_from(["true_positive", "loop", "search_error"])


@pytest.fixture
def bench(tmp_path: Path) -> BenchFolder:
    """Two methods, each right on three questions and wrong on three."""
    folder = begun(tmp_path / "b", QUESTIONS, METHODS)
    for cell in folder.plan().cells():
        for number, question in enumerate(QUESTIONS):
            said = "Brenn" if number % 2 else "Lisbon"
            hop = Hop("Where?", answer="Brenn", evidence=(WROLL,), grounded=True)
            put(folder, cell, question.id, Answer(said, "answered", "final_answer", hops=(hop,), read=(WROLL,)))
    return folder


def runs(bench: BenchFolder) -> list[Run]:
    return waiting(bench, list(bench.plan().cells()), 50, 50, 0)


def says(*lines: str) -> Callable[[str], str]:
    """A person who types these lines and then is gone."""
    given_ = iter(lines)

    def ask(_: str) -> str:
        try:
            return next(given_)
        except StopIteration:
            raise EOFError from None

    return ask


def kinds_of(bench: BenchFolder, left: Sequence[Run], *, corrected: bool = False) -> list[str]:
    mine = labels(bench, corrected=corrected).get("ada", {})
    return [mine[key].kind if (key := (run.cell, run.question.id)) in mine else "" for run in left]


# --- agreement --------------------------------------------------------------------------------------------------


def pairs(table: Sequence[Sequence[int]]) -> list[tuple[str, str]]:
    return [(str(a), str(b)) for a, row in enumerate(table) for b, count in enumerate(row) for _ in range(count)]


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ([[20, 5], [10, 15]], 0.4),
        ([[45, 15], [25, 15]], 0.13043478260869557),
        ([[25, 35], [5, 35]], 0.25925925925925924),
        ([[10, 0], [0, 10]], 1.0),
        ([[0, 10], [10, 0]], -1.0),
        ([[5, 5], [5, 5]], 0.0),
        ([[44, 5, 1], [7, 20, 3], [9, 5, 6]], 0.29 / 0.59),
    ],
)
def test_kappa_is_the_closed_form_on_known_tables(table: Sequence[Sequence[int]], wanted: float):
    """Two yes-or-no raters from textbooks, the ends, and .7 against .5*.6 + .3*.3 + .2*.1 = .41."""
    n = sum(map(sum, table))
    observed = sum(row[k] for k, row in enumerate(table)) / n
    expected = sum(sum(row) * sum(other[k] for other in table) for k, row in enumerate(table)) / n**2
    assert kappa(pairs(table)) == pytest.approx((observed - expected) / (1 - expected))
    assert kappa(pairs(table)) == pytest.approx(wanted)


def test_kappa_of_nothing_and_of_one_kind_alone_cannot_be_said():
    assert kappa([]) is None
    assert kappa([("loop", "loop")] * 9) is None
    assert agreement([]).interval is None
    assert agreement([("loop", "loop")] * 9).share == 1.0


@given(st.lists(st.tuples(KINDS, KINDS), min_size=1, max_size=25))
def test_kappa_is_symmetric_stays_between_its_ends_and_does_not_see_the_order(judged: list[tuple[str, str]]):
    value = kappa(judged)
    turned = kappa([(b, a) for a, b in reversed(judged)])
    assert (value is None) == (turned is None)
    if value is not None:
        assert value == pytest.approx(turned)
        assert -1 - 1e-9 <= value <= 1 + 1e-9


def test_the_interval_holds_the_value_and_narrows_with_more_runs():
    few, many = agreement(pairs([[8, 2], [4, 6]])), agreement(pairs([[80, 20], [40, 60]]))
    for each in (few, many):
        assert each.interval is not None
        assert each.kappa is not None
        assert each.interval[0] <= each.kappa <= each.interval[1]
    assert few.interval[1] - few.interval[0] > 2 * (many.interval[1] - many.interval[0])
    assert many.interval == agreement(pairs([[80, 20], [40, 60]])).interval
    assert many.counts[("0", "1")] == 20


# --- the file ---------------------------------------------------------------------------------------------------


def label(question: str, kind: str, by: str = "ada", note: str = "") -> Label:
    return Label("t", "m", "react:paper", question, kind, by, note)


def test_the_last_label_counts_and_one_taken_back_is_gone(bench: BenchFolder):
    put_label(bench, label("q1", "loop"))
    put_label(bench, label("q1", "search_error"))
    put_label(bench, label("q2", "loop"))
    put_label(bench, label("q1", "loop", by="ben"))
    cell = Cell("t", "m", "react:paper")
    take_back(bench, Run(cell, QUESTIONS[2], None), "ada")
    found = labels(bench)
    assert {key: each.kind for key, each in found["ada"].items()} == {(cell, "q1"): "search_error"}
    assert found["ben"][cell, "q1"].kind == "loop"


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_cut_off_by_a_crash_costs_itself_and_nothing_after_it(bench: BenchFolder, cut: int):
    put_label(bench, label("q1", "loop"))
    put_label(bench, label("q2", "loop"))
    file = bench.folder / "labels.jsonl"
    file.write_bytes(file.read_bytes()[:-cut])
    put_label(bench, label("q3", "search_error"))
    asked = {question for _, question in labels(bench)["ada"]}
    assert {"q1", "q3"} <= asked
    assert ("q2" in asked) == (cut == 1)


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "null",
        '{"task": 1}',
        json.dumps({key: ["x"] for key in ("task", "model", "method", "question", "kind", "by")}),
        json.dumps({**dict.fromkeys(("task", "model", "method", "question", "by"), "x"), "kind": "nonsense"}),
        "[" * 100_000,
    ],
)
def test_foreign_lines_are_passed_over(bench: BenchFolder, line: str):
    (bench.folder / "labels.jsonl").write_text(line + "\n", encoding="utf-8")
    put_label(bench, label("q1", "loop"))
    assert [each.kind for each in labels(bench)["ada"].values()] == ["loop"]
    assert set(labels(bench)) == {"ada"}


def test_a_correction_after_the_rules_were_seen_leaves_the_blind_label_to_agreement(bench: BenchFolder):
    put_label(bench, label("q1", "loop"))
    put_label(bench, label("q1", "search_error", note=SEEN))
    assert [each.kind for each in labels(bench)["ada"].values()] == ["loop"]
    assert [each.kind for each in labels(bench, corrected=True)["ada"].values()] == ["search_error"]


# --- the talk ---------------------------------------------------------------------------------------------------


def test_what_is_shown_tells_neither_method_nor_verdict(bench: BenchFolder, capsys: pytest.CaptureFixture[str]):
    left = runs(bench)
    assert talk(bench, left, "ada", says(*["a"] * len(left))) == len(left)
    out = capsys.readouterr().out
    assert "gold      Brenn" in out
    assert "its pages Edda Wroll" in out
    assert "passage   Edda Wroll: Edda Wroll was born in Brenn." in out
    for word in ("react", "self-ask", "paper", "right_with", "invented", "found_and_wrong"):
        assert word not in out.lower(), word
    methods = [run.cell.method for run in left]
    assert methods != sorted(methods), "the methods are mixed"


@pytest.mark.parametrize(
    "said",
    [
        "Thought 1: Wroll.\nAction 1: Finish[Brenn]",
        "Are follow up questions needed here: Yes.\nFollow up: Wroll.\nSo the final answer is: Brenn",
        "Intermediate answer: Wroll. So the answer is: Brenn",
        "Wroll. Brenn",
    ],
)
def test_the_labels_of_a_scaffold_are_not_shown(said: str):
    assert neutral(said) == "Wroll. Brenn"


def test_it_can_be_left_at_any_time_and_goes_on_where_it_was(bench: BenchFolder):
    left = runs(bench)
    assert talk(bench, left, "ada", says("a", "s", "b", "q")) == 2
    done = labels(bench)["ada"]
    again = [run for run in runs(bench) if (run.cell, run.question.id) not in done]
    assert again == [left[1], *left[3:]]
    assert talk(bench, again, "ada", says("a")) == 1


def test_going_back_takes_the_last_one_back_and_a_skipped_one_was_none(bench: BenchFolder):
    left = runs(bench)
    assert talk(bench, left, "ada", says("a", "u", "b", "s", "u", "x", "a", "q")) == 2
    first, second = kinds_of(bench, left)[:2]
    letters = {True: ("true_positive", "false_positive"), False: ("reasoning_error", "loop")}
    right = [int(run.question.id[1]) % 2 == 1 for run in left]
    assert first == letters[right[0]][1]
    assert second == letters[right[1]][0]


def test_the_rules_are_shown_only_of_what_was_labelled_and_a_change_after_that_is_not_blind(
    bench: BenchFolder, capsys: pytest.CaptureFixture[str]
):
    left = runs(bench)
    assert talk(bench, left, "ada", says("r", "q")) == 0
    assert "the rules " not in capsys.readouterr().out
    assert talk(bench, left, "ada", says("a", "r", "u", "b", "q")) == 1
    assert "the rules " in capsys.readouterr().out
    blind, changed = kinds_of(bench, left)[0], kinds_of(bench, left, corrected=True)[0]
    assert blind != changed
    assert blind in ("true_positive", "reasoning_error")


def test_after_a_slip_or_the_rules_the_trajectory_is_not_shown_again(
    bench: BenchFolder, capsys: pytest.CaptureFixture[str]
):
    assert talk(bench, runs(bench), "ada", says("a", "x", "r", "", "q")) == 1
    assert capsys.readouterr().out.count(" of 12  ") == 2


# --- the commands -----------------------------------------------------------------------------------------------


def test_errors_prints_kinds_by_method_and_agreement_between_rules_and_people(
    bench: BenchFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    private(monkeypatch, tmp_path)
    assert main(["bench", "errors", str(bench.folder)]) == 0
    out, err = capsys.readouterr()
    assert "t, react:paper, m" in out
    assert "true positive" in out
    assert "3 of 3 (of 3)" in out
    assert "100% (44 to 100)" in out
    assert "sleuth bench label" in err
    for by in ("ada", "ben"):
        talk(bench, runs(bench), by, says(*["a"] * 12))
    capsys.readouterr()
    assert main(["bench", "errors", str(bench.folder), "--method", "self-ask", "--wrong", "2", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert [cell["method"] for cell in row["cells"]] == ["self-ask"]
    assert len(row["cells"][0]["runs"]) == 5
    assert row["cells"][0]["runs"][0]["people"] == {"ada": "true_positive", "ben": "true_positive"}
    found = {tuple(pair["judges"]): pair for pair in row["agreement"]}
    assert found["rules", "ada"]["n"] == 5
    assert (found["ada", "ben"]["n"], found["ada", "ben"]["kappa"]) == (12, 1.0)


def test_labels_are_kept_by_the_command_and_it_says_what_is_left(
    bench: BenchFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    private(monkeypatch, tmp_path)
    monkeypatch.setattr("builtins.input", says("a", "q"))
    assert main(["bench", "label", str(bench.folder), "--by", "ada"]) == 0
    assert "12 trajectories to label as ada" in capsys.readouterr().out
    monkeypatch.setattr("builtins.input", says("q"))
    assert main(["bench", "label", str(bench.folder), "--by", "ada"]) == 0
    assert "11 trajectories to label as ada, 1 done" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["errors", "nowhere"], "There is no bench in nowhere"),
        (["errors", "BENCH", "--method", "act"], "no method 'act'"),
        (["label", "BENCH", "--json"], "sleuth bench errors --json"),
    ],
)
def test_wrong_use_is_told_with_what_to_do_next(
    bench: BenchFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    told: str,
):
    private(monkeypatch, tmp_path)
    assert main(["bench", *(str(bench.folder) if word == "BENCH" else word for word in words)]) == 2
    assert told in capsys.readouterr().err
