"""Samples and lists of ids: which questions are chosen does not depend on the order of the file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.bench.questions import Question
from sleuth.bench.tasks import choice
from sleuth.errors import BadInput

FIRST = ["q9", "q33", "q15", "q45", "q29"]
KINDS = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=40)


def made(types: list[str]) -> list[Question]:
    return [Question(f"q{i}", "?", type=kind) for i, kind in enumerate(types)]


@given(KINDS, st.data())
def test_a_sample_is_the_same_in_any_order_of_the_file(types: list[str], data: st.DataObject) -> None:
    questions = made(types)
    n, seed = data.draw(st.integers(1, len(types))), data.draw(st.integers(0, 5))
    shuffled = data.draw(st.permutations(questions))
    for stratify in (False, True):
        chosen = choice.sampled(questions, n, seed=seed, stratify=stratify)
        assert chosen == choice.sampled(shuffled, n, seed=seed, stratify=stratify)
        assert len({question.id for question in chosen}) == n


@given(KINDS, st.data())
def test_a_smaller_sample_is_part_of_a_larger(types: list[str], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(types)))
    assert choice.sampled(made(types), len(types))[:n] == choice.sampled(made(types), n)


@given(KINDS, st.data())
def test_each_stratum_gets_its_share_to_within_one(types: list[str], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(types)))
    got = Counter(question.type for question in choice.sampled(made(types), n, stratify=True))
    for kind, size in Counter(types).items():
        assert abs(got[kind] - n * size / len(types)) < 1


def test_the_largest_remainders_are_rounded_up() -> None:
    assert choice.shares({"a": 47, "b": 16, "c": 37}, 10) == {"a": 5, "b": 1, "c": 4}
    assert choice.shares({"b": 1, "a": 1}, 1) == {"b": 0, "a": 1}


def test_claims_are_stratified_by_their_label() -> None:
    claims = [Question(f"{i}", "?", (("YES", "NO")[i % 2],), "claim", type="claim") for i in range(40)]
    got = Counter(question.answers for question in choice.sampled(claims, 10, stratify=True))
    assert got == {("YES",): 5, ("NO",): 5}


def test_another_seed_draws_others_and_this_draw_never_changes() -> None:
    questions = made(["a"] * 50)
    first = [question.id for question in choice.sampled(questions, 5)]
    assert first != [question.id for question in choice.sampled(questions, 5, seed=1)]
    assert first == FIRST, "published samples would change with it"


@pytest.mark.parametrize("n", [0, -1, 4])
def test_a_sample_of_none_or_too_many_is_refused(n: int) -> None:
    with pytest.raises(BadInput):
        choice.sampled(made(["a"] * 3), n)


def test_a_list_of_ids_gives_its_order_and_names_what_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "ids.txt"
    file.write_text("# ours\nq2\n\nq0\n", encoding="utf-8")
    assert [question.id for question in choice.listed(made(["a"] * 3), file)] == ["q2", "q0"]
    file.write_text("q2\nq9\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"1 of the 2 ids .* q9"):
        choice.listed(made(["a"] * 3), file)
    file.write_text("q2\nq2\n", encoding="utf-8")
    with pytest.raises(BadInput, match="twice: q2"):
        choice.listed(made(["a"] * 3), file)
    file.write_text("# none yet\n", encoding="utf-8")
    with pytest.raises(BadInput, match="There is no id in"):
        choice.listed(made(["a"] * 3), file)
    with pytest.raises(BadInput, match=r"cannot be read: No such file or directory\."):
        choice.listed(made(["a"]), tmp_path / "none.txt")
