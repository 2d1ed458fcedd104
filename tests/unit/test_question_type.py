"""Question types by rule: every rule has made-up questions, and no text in any language makes it fail."""

from __future__ import annotations

import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.guards.question_type import MEANING, Kind, question_type

OPEN = """
Why did the Brenn mill close?
How did Ada Tell become a painter?
How does the Orl lock work?
How can a village keep its mill?
Explain the quarrel of Brenn and Orl.
Please describe the Tarn valley.
Tell me about Jon Rook
What happened after the Brenn bridge fell?
What led to the Orl fire?
What did Ada Tell say about Jon Rook?
What if the Tarn had flooded Brenn?
What were the consequences of the Orl fire?
What is the significance of the Brenn charter?
What would a miller do?
how should one look after a weir
"""
CHAIN = """
Who was warden of Orl Hall when the Brenn bridge was completed?
Who was warden of Orl Hall in 1889?
Who was warden before Ada Tell returned?
At the time of the Orl fire, who was warden of Orl Hall?
Who is the mother of the director of the film that won the Brenn Medal?
Where was the wife of the founder of Brenn College born?
When did the father of the composer of Orl Waltz die?
When is Ada Tell's husband's birthday?
What is the capital of the country where the river that Ada Tell painted begins?
Which award did the author of the book that Grey Mill is based on receive?
"""
PARALLEL = """
How did Brenn's millers and fishers react after the weir was raised?
What are the populations of Brenn, Orl and Silt?
Which of Brenn, Orl, and Silt is the oldest town?
When was the Brenn bridge built and who designed it?
What are the population and the area of Brenn?
What is the height of each of the five Tarn bridges?
In what years did the top four millers of Orl die?
Who were the first three wardens of Orl Hall?
What were the release dates of the albums of the Orl Trio?
List the wardens of Orl Hall and their trades.
Name all weirs on the Tarn.
Find the wardens of Orl Hall.
How many pupils does every school in Brenn have?
What are the heights of all the bridges over the Tarn?
What are the Tarn's seven longest tributaries?
"""
PAIR = """
Which is taller, the Brenn tower or the Orl tower?
Who is older, Ada Tell or Jon Rook?
Are Brenn and Orl in the same valley?
Were Ada Tell and Jon Rook both painters?
Is Brenn or Orl the older town?
What do Ada Tell and Jon Rook have in common?
Is the Brenn tower taller than the Orl tower?
Did Ada Tell live longer than Jon Rook?
Which film has the director who was born first, Grey Mill or Orl Waltz?
What is the difference between Brenn and the Orl?
Which of the two lighthouses is taller?
which came first, the weir or the mill?
Do both directors of the films Grey Mill and Orl Waltz come from Brenn?
Which magazine was founded first "Mill Life" or "You're Late"?
"""
SINGLE = """
When was the Brenn bridge completed?
Who wrote Grey Mill?
Where was Ada Tell born?
How tall is the Orl tower?
How many people live in Brenn?
What is the capital of Norland?
Who is the wife of Jon Rook?
Who painted "The Weir at Dusk"?
In which year did Ada Tell die?
What is the largest town in Norland?
what is the length of the tarn?
What is the place of birth of Ada Tell?
How did Ada Tell die?
"""
LINKED = """
Who is the mother of the director of Grey Mill?
What is the place of birth of the director of film Grey Mill?
Where was the wife of Jon Rook born?
Which river runs past the town where Ada Tell was born?
When did Ada Tell's father die?
Who is Ada Tell's paternal grandmother?
What is the population of the largest town in Norland?
Who directed the 1940 film in which Jon Rook appeared?
Which Norland painter had a pupil named Jon Rook?
What does the company that makes the Brenn kettle also sell?
Where did Jon Rook play for the Brenn Rovers?
The town in which the Orl Fair is held lies on which river?
Would Ada Tell have known the Orl Waltz?
Is Brenn a town in Norland?
Name the river that runs past Brenn.
Ada Tell
?
Qui est la mère du réalisateur de Grey Mill ?
Wer war der Vater von Ada Tell?
谁是这部电影的导演的母亲?
من هي والدة المخرج؟
¿Quién fundó Brenn?
"""
QUESTIONS = [
    (question, kind)
    for kind, block in {
        "open": OPEN,
        "chain": CHAIN,
        "parallel": PARALLEL,
        "pair": PAIR,
        "single": SINGLE,
        "linked": LINKED,
    }.items()
    for question in block.strip().splitlines()
]


@pytest.mark.parametrize(("question", "kind"), QUESTIONS)
def test_a_question_is_of_its_type(question: str, kind: str) -> None:
    told = question_type(question)
    assert (told.kind, bool(told.reason)) == (kind, True), told


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What did Microsoft's CEO say when OpenAI's CEO was fired?", "open"),
        ("Who was CEO before Sam Altman returned?", "chain"),
        ("How did Tesla's stock and competitors react after they cut prices?", "parallel"),
    ],
)
def test_the_examples_of_the_write_ups_decision_tree_go_where_it_sends_them(question: str, kind: str) -> None:
    assert question_type(question).kind == kind


def test_each_type_has_a_meaning_that_people_can_read() -> None:
    assert set(MEANING) == set(get_args(Kind))
    assert {kind for _, kind in QUESTIONS} == set(MEANING)


def test_the_reason_quotes_the_question() -> None:
    assert (
        question_type("Who is older, Ada Tell or Jon Rook?").reason
        == "two things side by side: 'Ada Tell or Jon Rook?'"
    )
    assert "'of', 'that won'" in question_type("Who is the mother of the heir of the film that won?").reason


def test_spacing_and_a_missing_question_mark_change_nothing() -> None:
    for question, kind in QUESTIONS:
        if len(question) > 3:
            assert question_type(f"  {question.replace(' ', '  ')}\n").kind == kind
            assert question_type(question.rstrip("?")).kind == kind, question


@given(st.text(max_size=300))
def test_any_text_has_a_type(text: str) -> None:
    assert question_type(text).kind in MEANING


@given(
    st.lists(
        st.sampled_from("What N Brenn Orl of the and or , ' that who 's both \" ? 1889 most each".split()), max_size=60
    )
)
def test_any_words_have_a_type(words: list[str]) -> None:
    assert question_type(" ".join(words)).kind in MEANING


@pytest.mark.parametrize(
    "piece", ["Brenn of the ", "Brenn, ", "the a and ", "what are the s of the ", "A.", "of ", '"', "N's "]
)
def test_a_very_long_question_is_read_quickly(piece: str) -> None:
    began = time.process_time()
    question_type("What are " + piece * 5000)
    assert time.process_time() - began < 1
