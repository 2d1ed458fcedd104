"""Text from outside never steers the terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.cli.text import clean, one_line


@pytest.mark.parametrize(
    ("nasty", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1bPq#data\x1b\\after", "after"),
        ("\x1bcreset", "reset"),
        ("a\x08\x08b\x7f", "ab"),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("\ud800lone", "lone"),
        ("kept\nas\tit is\r\n", "kept\nas\tit is\n"),
        ("[bold]not markup[/bold] :smile:", "[bold]not markup[/bold] :smile:"),
        ("\x1b", ""),
    ],
)
def test_control_sequences_are_removed(nasty: str, shown: str) -> None:
    assert clean(nasty) == shown


@given(st.text(st.characters(codec=None), max_size=200))
def test_nothing_that_controls_is_left(text: str) -> None:
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in clean(text))
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=50))
def test_plain_text_is_kept(text: str) -> None:
    assert clean(text) == text


def test_one_line_flattens_and_cuts() -> None:
    assert one_line("a\n b\t\tc") == "a b c"
    assert one_line("x" * 20, 10) == "x" * 9 + "…"
