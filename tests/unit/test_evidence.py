"""Snippets stand in their passage word for word; hops are kept and noted with their proof."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sleuth.guards.evidence import SNIPPET_WORDS, recorded, said, snippet
from sleuth.transcript import Transcript
from sleuth.types import Citation, Hop, Note, Passage

TELL = Passage(
    "t", "d", "Ada Tell", "Ada Tell was a painter. She was born in Brenn in 1880. She had a dog.", why="named in: Brenn"
)
BRENN = Passage("b", "d", "Brenn", "Brenn is a town. Its mill was built by Jon Rook.")


def test_the_sentence_that_says_most_of_what_is_asked_is_the_snippet():
    assert snippet("Where was Ada Tell born?", [BRENN, TELL]) == Citation(
        "t", "Ada Tell", "She was born in Brenn in 1880.", verified=True
    )
    assert snippet("Who built the mill?", [TELL, BRENN]).quote == "Its mill was built by Jon Rook."


def test_between_equals_the_earlier_passage_and_sentence_is_taken():
    twin = Passage("c", "d", "Brenn", BRENN.text)
    assert snippet("What colour is the sky?", [BRENN, TELL]).quote == "Brenn is a town."
    assert snippet("Who built the mill?", [twin, BRENN]).passage == "c"


def test_a_title_counts_for_each_of_its_sentences():
    other = Passage("o", "d", "Ulf Tern", "He was born in Orl.")
    assert snippet("Where was Ulf Tern born?", [TELL, other]).passage == "o"


def test_a_sentence_whose_dates_hold_the_moment_is_preferred():
    text = "Jon Rook was warden of Orl Hall from 1899 to 1907. Ada Tell was warden of Orl Hall from 1907 to 1921."
    orl = Passage("o", "d", "Orl Hall", text)
    assert snippet("Who was warden of Orl Hall?", [orl]).quote.startswith("Jon Rook")
    assert snippet("Who was warden of Orl Hall?", [orl], when="1912-05-06").quote.startswith("Ada Tell")


def test_a_snippet_is_short_and_still_verbatim():
    long = Passage("l", "d", "Long", "word  " * 300)
    found = snippet("word", [long])
    assert len(found.quote.split()) == SNIPPET_WORDS
    assert found.verified
    assert found.quote in long.text


def test_without_passages_there_is_no_snippet():
    assert snippet("Where?", []) is None
    assert snippet("Where?", [Passage("e", "d", "Empty", "  \n ")]) is None


@given(st.text(), st.lists(st.tuples(st.text(max_size=20), st.text())))
def test_every_snippet_is_verbatim_and_short(question, pages):
    passages = [Passage(str(n), "d", title, text) for n, (title, text) in enumerate(pages)]
    found = snippet(question, passages)
    if found is not None:
        assert found.verified
        assert found.quote in passages[int(found.passage)].text
        assert 0 < len(found.quote.split()) <= SNIPPET_WORDS
    else:
        assert not any(text.strip() for _, text in pages)


def test_a_snippet_is_told_with_its_title_where_it_does_not_name_it():
    assert said(Citation("t", "Ada Tell", "She was born\n in Brenn.")) == "Ada Tell: She was born in Brenn."
    assert said(Citation("t", "Ada Tell", "Ada  Tell was born in Brenn.")) == "Ada Tell was born in Brenn."
    assert said(Citation("t", "", "She was born in Brenn.")) == "She was born in Brenn."


def test_a_hop_is_kept_and_noted_with_query_passages_reasons_and_quote():
    t = Transcript("head")
    quote = Citation("t", "Ada Tell", "She was born in Brenn in 1880.", verified=True)
    hop = Hop("Where was Ada Tell born?", "Ada Tell born", "Brenn", "found", (TELL,), quote, grounded=True)
    (told,) = list(recorded(t, hop))
    assert isinstance(told, Note)
    assert (told.kind, told.text, t.hops) == ("hop", hop.question, [hop])
    assert told.data == {
        "query": "Ada Tell born",
        "answer": "Brenn",
        "outcome": "found",
        "grounded": True,
        "passages": [{"id": "t", "title": "Ada Tell", "why": "named in: Brenn"}],
        "quote": quote.quote,
    }


def test_a_hop_without_evidence_is_noted_as_such():
    (told,) = list(recorded(Transcript("head"), Hop("Where?", "where", "No answer found", "nothing")))
    assert (told.data["outcome"], told.data["grounded"], told.data["passages"], told.data["quote"]) == (
        "nothing",
        False,
        [],
        "",
    )
