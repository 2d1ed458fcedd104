"""Passages are whole sentences of 60 to 120 words, with their exact place in the document."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sleuth.library.read import Document
from sleuth.library.split import LEAST, MOST, WHOLE, Unit, _cuts, count_words, pieces

WORDS = st.sampled_from(["river", "Émile", "1889", "Dr.", "of", "“tower”", "😀", "U.S.", "café", "x" * 30])


@st.composite
def sentences(draw: st.DrawFn) -> str:
    words = draw(st.lists(WORDS, min_size=1, max_size=70))
    return " ".join(["The", *words]) + draw(st.sampled_from([".", "!", "?", "..."]))


TEXTS = st.lists(
    st.tuples(sentences(), st.sampled_from([" ", "\n", "\n\n", "  \n \n\t", "\n# Heading\n\n", "\n- "])),
    min_size=1,
    max_size=14,
).map(lambda parts: "".join(sentence + gap for sentence, gap in parts))


def article(*lengths: int, gap: str = " ", kind: str = "plain") -> Document:
    """A document with sentences of so many words each."""
    made = [" ".join([f"Word{n}", *["word"] * (length - 2), "end."]) for n, length in enumerate(lengths)]
    return Document("d", "D", gap.join(made), kind)  # type: ignore[arg-type]


def lengths(document: Document) -> list[int]:
    return [count_words(document.text[piece.begin : piece.end]) for piece in pieces(document)]


@settings(max_examples=60, deadline=None)
@given(st.one_of(TEXTS, st.text(max_size=400)), st.sampled_from(["plain", "markdown", "record"]))
@example("a\x00b\u2028c. \r D.", "plain")
def test_spans_are_exact_in_order_and_hold_every_word(text: str, kind: str) -> None:
    document = Document("d", "D", text, kind)  # type: ignore[arg-type]
    found = pieces(document)
    at = 0
    for piece in found:
        assert not text[at : piece.begin].strip(), "no word is lost between passages"
        passage = text[piece.begin : piece.end]
        assert passage == passage.strip() != ""
        assert piece.ends[-1] == len(passage)
        assert list(piece.ends) == sorted(set(piece.ends))
        at = piece.end
    assert not text[at:].strip()


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.sampled_from(["plain", "markdown"]))
def test_no_passage_is_under_the_least_unless_the_document_is(text: str, kind: str) -> None:
    found = lengths(Document("d", "D", text, kind))  # type: ignore[arg-type]
    assert len(found) == 1 or min(found) >= LEAST


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.integers(1, 130), st.integers(1, 300)), min_size=1, max_size=9))
def test_a_division_that_keeps_both_bounds_is_found_when_there_is_one(sizes: list[int]) -> None:
    units = [Unit(n, n + 1, size) for n, size in enumerate(sizes)]

    def fits(cuts: list[tuple[int, int]]) -> bool:
        return all(sum(sizes[a:b]) >= LEAST and (sum(sizes[a:b]) <= MOST or b - a == 1) for a, b in cuts)

    inner = range(1, len(sizes))
    ways = ([0, *chosen, len(sizes)] for size in range(len(sizes)) for chosen in combinations(inner, size))
    possible = any(fits(list(pairwise(way))) for way in ways)
    assert fits(_cuts(units)) == possible


def test_an_overlong_sentence_is_its_own_passage() -> None:
    assert lengths(article(70, 200, 70)) == [70, 200, 70]


def test_a_short_remainder_is_shared_out() -> None:
    assert lengths(article(*[10] * 13)) in ([60, 70], [70, 60])


def test_a_record_of_up_to_150_words_stays_whole_and_a_longer_one_does_not() -> None:
    assert lengths(article(75, 75, kind="record")) == [WHOLE]
    assert lengths(article(75, 76, kind="record")) == [75, 76]


def test_passages_end_with_paragraphs_where_they_can() -> None:
    text = "\n\n".join([article(40, 40).text, article(20, 70).text])
    assert lengths(Document("d", "D", text)) == [80, 90]


def test_a_markdown_heading_begins_a_passage_and_never_ends_one() -> None:
    body = article(30, 35).text
    document = Document("d", "D", f"# Top\n\n{body}\n\n## Next part\n\n{body}", "markdown")
    texts = [document.text[piece.begin : piece.end] for piece in pieces(document)]
    assert [text.split("\n")[0] for text in texts] == ["# Top", "## Next part"]


def test_abbreviations_do_not_end_a_sentence() -> None:
    document = Document("d", "D", "Dr. Smith met J. R. Tolkien in Washington, D.C. on Monday. He left.")
    assert [len(piece.ends) for piece in pieces(document)] == [2]


def test_a_run_on_of_hundreds_of_words_is_cut() -> None:
    document = Document("d", "D", "word " * 1000)
    assert max(lengths(document)) <= MOST


def test_nothing_comes_of_white_space() -> None:
    assert pieces(Document("d", "D", " \n\n\t ")) == []
