"""The score against the number of samples, from stored draws: point k is what the strategy answers with k samples."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support import benches
from tests.support.benches import NAMES, asked, begun

from sleuth.bench.folder import BenchFolder
from sleuth.bench.questions import Question
from sleuth.bench.report.reading import read
from sleuth.bench.report.samples import Curve, backs_off, curves, majority
from sleuth.events import Finished
from sleuth.guards.votes import Votes

GOLD = Question("q", "Which river runs past Brenn?", ("Tarn",))
ANSWERS = st.sampled_from(["Tarn", "Silt", "Orl", ""])


def stored(where: Path, draws: Sequence[str], acts: str, methods: Sequence[str] = tuple(NAMES)) -> BenchFolder:
    folder = begun(where, [GOLD], [NAMES[each] for each in methods])
    for strategy in methods:
        _, events, params = asked(strategy, GOLD.text, draws, acts, len(draws))
        benches.write(folder, strategy, GOLD, events, params)
    return folder


def drawn(folder: BenchFolder) -> dict[str, Curve]:
    return {curve.name: curve for curve in curves(read(folder), "t", "m")[1]}


@settings(max_examples=12, deadline=None)
@example(draws=["Silt", "Orl", ""], acts="Tarn")  # ReAct's answer is the right one
@example(
    draws=["Tarn", "Silt", "Orl", "", "Silt"], acts=""
)  # sampling ends as half is out of reach: a fifth would have won
@given(draws=st.lists(ANSWERS, min_size=1, max_size=5), acts=st.sampled_from(["Tarn", "Silt", ""]))
def test_each_point_is_what_the_strategy_itself_answers_with_so_many_samples(draws: list[str], acts: str) -> None:
    with tempfile.TemporaryDirectory() as where:
        found = drawn(stored(Path(where) / "bench", draws, acts))
    for strategy in ("cot-sc", "cot-sc-then-react", "react-then-cot-sc"):
        curve = found[NAMES[strategy]]
        assert (len(curve.points), curve.missing, curve.other) == (len(draws), "", 0)
        for point in curve.points:
            answer, _, _ = asked(strategy, GOLD.text, draws, acts, point.k)
            assert point.unknown == 0
            assert point.right == (answer.text == "Tarn"), (strategy, point.k)


@given(draws=st.lists(ANSWERS, min_size=1, max_size=9), data=st.data())
def test_what_was_given_up_early_changes_no_majority_of_fewer(draws: list[str], data: st.DataObject) -> None:
    n, votes = len(draws), Votes(len(draws))
    while not votes.is_settled():
        votes.cast(len(votes.answers), draws[len(votes.answers)])
    kept = dict(votes.answers)
    k = data.draw(st.integers(1, n))
    whole = majority(dict(enumerate(draws)), k)
    assert majority(kept, k) == whole  # never unknown, as draws come in order
    assert whole is not None


@given(draws=st.lists(ANSWERS, min_size=1, max_size=7), lost=st.sets(st.integers(0, 6)))
def test_a_lost_draw_makes_a_point_unknown_and_never_wrong(draws: list[str], lost: set[int]) -> None:
    every = dict(enumerate(draws))
    kept = {number: text for number, text in every.items() if number not in lost}
    for k in range(1, len(draws) + 1):
        assert majority(kept, k) in (None, majority(every, k))
        assert backs_off(kept, k) in (None, backs_off(every, k))


def test_what_is_unknown_is_a_range_and_no_point(tmp_path: Path) -> None:
    folder = begun(tmp_path / "bench", [GOLD], ["CoT-SC"])
    _, events, params = asked("cot-sc", GOLD.text, ["Silt", "Tarn", "Tarn"], "", 3)
    came = [e for e in events if not (isinstance(e.body, Finished) and "Silt" in str(e.body.value))]
    benches.write(folder, "cot-sc", GOLD, came, params)  # draw 0 never came in
    first, second, _ = drawn(folder)["CoT-SC"].points
    assert (first.unknown, first.value) == (1, None)
    assert (first.low, first.high) == (0.0, 1.0)
    assert second.value is None


def test_a_curve_whose_runs_are_missing_says_which(tmp_path: Path) -> None:
    without_react = drawn(stored(tmp_path / "a", ["Tarn"] * 3, "Tarn", ["cot-sc", "cot-sc-then-react"]))
    assert without_react["CoT-SC"].missing == ""
    assert "no runs of ReAct alone" in without_react["CoT-SC -> ReAct"].missing
    without_draws = drawn(stored(tmp_path / "b", ["Tarn"] * 3, "Tarn", ["react", "react-then-cot-sc"]))
    assert "no runs of CoT-SC" in without_draws["ReAct -> CoT-SC"].missing
    assert drawn(stored(tmp_path / "c", ["Tarn"], "Tarn", ["react"])) == {}


def test_a_back_off_that_was_not_run_is_made_of_its_halves(tmp_path: Path) -> None:
    found = drawn(stored(tmp_path / "bench", ["Silt", "Orl", "Orl"], "Tarn", ["cot-sc", "react"]))
    assert [point.right for point in found["CoT-SC -> ReAct"].points] == [0, 0, 0]
    assert [point.right for point in found["ReAct -> CoT-SC"].points] == [1, 1, 1]


@pytest.mark.parametrize(
    ("draws", "off"), [(("a", "b"), False), (("a", "b", "c"), True), (("", "", "a"), True), (("",), True)]
)
def test_less_than_half_of_the_samples_backs_off(draws: Sequence[str], off: bool) -> None:
    assert backs_off(dict(enumerate(draws)), len(draws)) is off
