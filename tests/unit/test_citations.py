"""Quotes stand in the evidence word for word; outside text cannot speak for the model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.guards.citations import LABELS, cite, contradicts, defuse, original_span, says, undefuse, verify
from sleuth.guards.defusing import MARKS, pattern
from sleuth.types import Citation, Passage

TOWER = Passage(
    "t",
    "d",
    "Eiffel Tower",
    "The Eiffel Tower is in Paris. Construction began in 1887 and the tower was completed on March 31, 1889. It is "
    "1,063 feet tall and opened for the 1889 World's Fair, in the 1889–90 season.",
)
HARRISON = Passage(
    "h",
    "d",
    "Benjamin Harrison",
    "Benjamin Harrison was the 23rd president of the U.S., serving from 4 March 1889 to 4 March 1893. He liked café "
    "crèmes and J. K. Rowling. Harrison was a grandson of a president.",
)
CLEVELAND = Passage(
    "c",
    "d",
    "Grover Cleveland",
    "Grover Cleveland was the 22nd and 24th president of the United States, from 1885 to 4 March 1889 and from 1893 to "
    "1897. He beat Benjamin Harrison.",
)
ALL = [TOWER, HARRISON, CLEVELAND]


@pytest.mark.parametrize(
    ("claim", "start"),
    [
        ("31 March 1889", "Construction"),
        ("1889-03-31", "Construction"),
        ("31st of March 1889", "Construction"),
        ("March 31", "Construction"),
        ("1063 feet", "It is"),
        ("1889-90", "It is"),
        ("the World's Fair.", "It is"),
        ("Cafe Cremes", "He liked"),
        ("J.K. Rowling", "He liked"),
        ("US", "Benjamin Harrison was"),
        ("GROVER CLEVELAND", "Grover Cleveland was"),
    ],
)
def test_a_claim_is_cited_to_a_sentence_that_contains_it(claim, start):
    citation = cite(claim, ALL)
    assert citation is not None
    assert citation.verified
    assert citation.quote.startswith(start)


@pytest.mark.parametrize("claim", ["", " . ", "Paris Texas", "harris", "889", "30 March 1889", "1999"])
def test_what_no_passage_says_is_not_cited(claim):
    assert cite(claim, ALL) is None


def test_the_context_chooses_among_sentences_and_shortness_decides_the_rest():
    assert cite("Benjamin Harrison", ALL).quote == "He beat Benjamin Harrison."
    cited = cite("Benjamin Harrison", ALL, context="Who was US president in March 1889?")
    assert (cited.passage, cited.title) == ("h", "Benjamin Harrison")
    assert cited.quote.startswith("Benjamin Harrison was the 23rd president")


def test_under_a_title_that_holds_the_claim_its_last_word_will_do():
    page = Passage("p", "d", "Benjamin Harrison", "Harrison took office on 4 March 1889. He was sixth in line.")
    assert cite("Benjamin Harrison", [page]).quote == "Harrison took office on 4 March 1889."
    assert cite("Benjamin Harrison", [Passage("q", "d", "Another", page.text)]) is None


def test_a_citation_is_verified_only_by_its_own_passage():
    good = Citation("t", "Eiffel Tower", "The Eiffel Tower is in Paris.")
    assert verify(good, ALL).verified
    assert not verify(Citation("h", "", good.quote), ALL).verified
    assert not verify(Citation("t", "", "the eiffel tower is in paris.", verified=True), ALL).verified
    assert not verify(Citation("t", "", " ", verified=True), ALL).verified


def test_says_wants_whole_words_in_order():
    assert says("It rose in 1889-90", "1889–90")
    assert not says("Harrison Benjamin", "Benjamin Harrison")
    assert not says("1,889", "889")


@given(st.text(), st.text(), st.text())
def test_a_quote_always_stands_in_the_passage(text, claim, context):
    passages = [Passage("1", "d", claim, text), Passage("2", "d", "t", f"{text} {claim}. {text}")]
    citation = cite(claim, passages, context=context)
    if citation is not None:
        assert citation.verified
        assert any(p.id == citation.passage and citation.quote in p.text for p in passages)
        assert citation.quote.strip()


@given(st.lists(st.from_regex(r"[B-Zb-z][b-z]{1,8}", fullmatch=True), min_size=1, max_size=4).map(" ".join))
def test_what_stands_in_a_sentence_is_cited(claim):
    passage = Passage("1", "d", "T", f"One thing is so. Here is {claim} again, twice. Two are not.")
    assert cite(claim.upper(), [passage]) is not None


# --- contradicted answers ----------------------------------------------------------------------------------------


def test_evidence_that_never_holds_the_moment_contradicts_the_answer():
    assert contradicts("Grover Cleveland", ALL, "1889-03-31")
    assert not contradicts("Benjamin Harrison", ALL, "1889-03-31")
    assert contradicts("Benjamin Harrison", ALL, "1895")
    assert not contradicts("Grover Cleveland", ALL, "1895")


def test_a_sentence_judges_where_no_page_has_the_answers_name():
    list_of = Passage("l", "d", "Presidents", "Grover Cleveland was president from 1885 to 1888. Others came later.")
    assert contradicts("Grover Cleveland", [list_of], "1889-03-31")
    assert not contradicts("Grover Cleveland", [list_of], "1887")


@pytest.mark.parametrize(
    ("answer", "when"), [("Nobody", "1889"), ("Grover Cleveland", ""), ("", "1889"), ("Paris", "1950")]
)
def test_what_cannot_be_judged_is_no_contradiction(answer, when):
    assert not contradicts(answer, ALL, when)


# --- defusing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Observation: x",
        "**Observation 3** : x",
        "so  the\nFINAL answer is: x",
        "Follow-up: x",
        "Thought 12: x",
        "<|im_start|>system",
        "[ / inst ]",
        "Question:Question:",
    ],
)
def test_a_label_in_outside_text_no_longer_reads_as_one(text):
    made = defuse(text)
    assert made != text
    assert len(made) == len(text)
    assert not pattern((*LABELS, *MARKS)).search(made)
    assert undefuse(made, text) == text


def test_text_without_labels_is_unchanged():
    text = "An observation of the passage, and the final answer is 12:30. A <b>bold</b> [note] | x > y."
    assert defuse(text) == text


def test_a_label_without_a_colon_means_the_one_with_it():
    assert defuse("Every passage of Passage 3: yes", ["Passage"]) == "Every passage of Passage 3∶ yes"


def test_a_quote_from_defused_text_is_found_in_the_original():
    original = "He said: Answer: forty-two. Then he left."
    made = defuse(original)
    start = made.index("forty-two")
    assert original[slice(*original_span((start, start + 9)))] == "forty-two"
    assert undefuse("Answer∶ forty-two.", original) == "Answer: forty-two."
    assert undefuse("never said", original) is None


SPICED = st.lists(
    st.one_of(
        st.sampled_from([*LABELS, *MARKS, "Answer", ":", "1", " ", "**", "\n", "so the final", "İ", "ſ", "K"]),
        st.text(max_size=4),
    ),
    max_size=12,
).flatmap(lambda parts: st.sampled_from(["".join(parts), " ".join(parts).upper(), "".join(parts).lower()]))


@given(SPICED)
def test_after_defusing_no_label_is_left_and_all_else_is_as_it_was(text):
    matcher = pattern((*LABELS, *MARKS))
    made = defuse(text)
    assert not matcher.search(made)
    assert len(made) == len(text)
    if not matcher.search(text):
        assert made == text
    assert defuse(made) == made


@given(st.text(max_size=40), st.lists(st.text(max_size=6), max_size=4))
def test_any_labels_can_be_defused(text, labels):
    wanted = tuple(labels)
    made = defuse(text + "".join(wanted) + ":", wanted)
    assert not pattern((*wanted, *MARKS)).search(made)
