"""Words, sentences and stems as the guards compare them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.guards.text import find, forms, key, same, sentences, stem, stems, words


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ("Who was president?", " who  WAS president ", True),
        ("Straße", "STRASSE", True),
        ("co-operate", "cooperate", True),
        ("Who was president in 1889?", "Who was president in 1893?", False),
        ("?", "!", False),
        ("", "  ", True),
        ("東京？", "東京", True),
    ],
)
def test_same_ignores_case_spacing_and_punctuation_alone(a, b, equal):
    assert same(a, b) is equal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Café Crème", ("cafe", "creme")),
        ("1,063 feet", ("1063", "feet")),
        ("1969–70", ("1969", "1970")),
        ("1999/00", ("1999", "2000")),
        ("the U.S. Army", ("us", "army")),
        ("J. K. Rowling", ("jk", "rowling")),
        ("J.K. Rowling", ("jk", "rowling")),
        ("Harrison's house", ("harrison", "house")),
        ("O’Neill", ("oneill",)),
        ("vice-president", ("vice", "president")),
    ],
)
def test_words_lose_what_does_not_matter(text, expected):
    assert forms(text) == expected


def test_words_know_their_place():
    text = "The 1,063 feet"
    assert [text[w.start : w.end] for w in words(text)] == ["1,063", "feet"]


def test_find_wants_the_words_one_after_the_other():
    hay = words("Benjamin Harrison, and William Henry Harrison")
    assert find(("henry", "harrison"), hay) == 4
    assert find(("benjamin", "henry"), hay) == -1
    assert find((), hay) == -1


def test_sentences_do_not_end_at_initials_and_abbreviations():
    text = "J. K. Rowling met Dr. Smith in St. Louis. He paid 1.5 million! Was it the U.S. Army? Yes.\n\nA new one"
    assert [text[a:b] for a, b in sentences(text)] == [
        "J. K. Rowling met Dr. Smith in St. Louis.",
        "He paid 1.5 million!",
        "Was it the U.S. Army?",
        "Yes.",
        "A new one",
    ]


def test_stems_join_the_forms_of_a_word_and_leave_out_empty_ones():
    assert stem("completed") == stem("completion") == stem("complete")
    assert stem("stopped") == stem("stopping") == stem("stop")
    assert stems("When was the tower completed?") == {stem("tower"), stem("complete")}


@given(st.text())
def test_every_text_can_be_read(text):
    assert same(text, text.swapcase()) or key(text) != key(text.swapcase())
    assert all(0 <= w.start < w.end <= len(text) and w.form for w in words(text))
    stems(text)


@given(st.text())
def test_sentences_are_in_order_and_leave_out_only_space(text):
    spans = sentences(text)
    assert all(a < b for a, b in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
