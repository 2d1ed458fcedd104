"""The transcript only grows, and knows what was asked and shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sleuth.transcript import Transcript, plain_words
from sleuth.types import Message, Passage


def test_messages_are_head_turns_and_what_is_put_behind_them():
    t = Transcript("head")
    t.wrote("Follow up: where?\n")
    t.observed("Intermediate answer: Brenn\n")
    prefix = Message("assistant", "Follow up:")
    assert t.messages(prefix) == (
        Message("user", "head"),
        Message("assistant", "Follow up: where?\n"),
        Message("observation", "Intermediate answer: Brenn\n"),
        prefix,
    )
    assert t.text() == "Follow up: where?\nIntermediate answer: Brenn\n"


def test_an_empty_reply_adds_no_turn_and_an_empty_observation_does():
    t = Transcript("head")
    t.wrote("")
    t.observed("")
    assert t.turns == [Message("observation", "")]


@given(st.lists(st.tuples(st.booleans(), st.text())))
def test_what_was_sent_once_is_never_changed(turns):
    t, before = Transcript("head"), ()
    for own, text in turns:
        (t.wrote if own else t.observed)(text)
        assert t.messages()[: len(before)] == before
        before = t.messages()


def test_a_repeat_is_seen_without_case_spacing_and_punctuation_and_by_kind():
    t = Transcript("head")
    assert not t.repeats("follow_up", "When was it completed?")
    assert t.repeats("follow_up", "  when was IT, completed")
    assert not t.repeats("action", "When was it completed?")
    assert not t.repeats("follow_up", "When was she completed?")
    assert t.repeats("follow_up", "When was it completed?")


@given(st.text())
def test_plain_words_are_the_same_for_what_is_said_louder_and_wider(text):
    words = plain_words(text)
    assert words == plain_words(words) == plain_words(f"  {words}?!")
    assert all(word.isalnum() for word in words.split())


def test_words_that_only_stand_together_are_not_the_same_as_one():
    assert plain_words("ice cream") != plain_words("icecream")
    assert plain_words("Straße, ÉTÉ") == plain_words("STRASSE été")


def test_the_first_finding_of_a_passage_counts():
    t = Transcript("head")
    first, again = Passage("p", "d", "x", "text", 2.0, why="first"), Passage("p", "d", "x", "text", 1.0, why="again")
    t.shown([first])
    t.shown([again, Passage("q", "d", "y", "more")])
    assert list(t.pool) == ["p", "q"]
    assert t.pool["p"].why == "first"
