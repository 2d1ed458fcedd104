"""What is taken as a question."""

import pytest

from sleuth.app.question import MOST_CHARACTERS, checked
from sleuth.errors import BadInput


@pytest.mark.parametrize("empty", ["", "   ", "\n\t", "\x00\x1b"])
def test_an_empty_question_is_refused(empty: str) -> None:
    with pytest.raises(BadInput, match="empty"):
        checked(empty)


def test_control_characters_and_lone_surrogates_are_removed() -> None:
    assert checked("Who\x00 is \x1b[31mAda\ud800?\r\n") == "Who is [31mAda?"


def test_text_in_any_script_is_kept() -> None:
    question = "Who directed Star Wars: A New Hope? 東京はどこ 👩‍🚀"
    assert checked(question) == question


def test_a_very_long_question_is_refused_with_its_length_and_a_way_out() -> None:
    with pytest.raises(BadInput, match=r"100,000 characters; at most 20,000.*sleuth index"):
        checked("x" * 100_000)
    assert len(checked("x" * MOST_CHARACTERS)) == MOST_CHARACTERS


def test_a_small_window_allows_less() -> None:
    with pytest.raises(BadInput, match="at most 2,000"):
        checked("x" * 2_001, window=1_000)


def test_a_question_is_text() -> None:
    with pytest.raises(BadInput, match="not int"):
        checked(5)  # type: ignore[arg-type]
