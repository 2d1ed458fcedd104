"""The transcript only grows, unless it is compressed, and knows what was asked and shown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.transcript import Transcript, plain_words
from sleuth.transcript.summary import Step, mentions, summarised
from sleuth.types import Count, Generate, Hop, Message, Note, Passage
from sleuth.verbs import generate


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


# --- near repeats -----------------------------------------------------------------------------------------------

NEAR = [
    ("Who wins the race in 1889?", "in 1889, who was winning the races"),
    ("height of Brenn tower", "What is the Brenn tower's height?"),
    ("How many people live in Brenn?", "how many people are living in brenn"),
    ("It has 1,063 seats", "seats: 1063"),
    ("rivers that don't pass Brenn", "rivers that do not pass Brenn"),
]
FAR = [
    ("Who won the race in 1889?", "Who won the race in 1893?"),
    ("Who won the race?", "When was the race won?"),
    ("Which rivers pass Brenn?", "Which rivers do not pass Brenn?"),
    ("Which rivers pass Brenn?", "Which rivers don't pass Brenn?"),
    ("towns founded before Brenn", "towns founded after Brenn"),
    ("Where was Ada Tell born?", "When was Ada Tell born?"),
    ("step 1", "step 12"),
]


@pytest.mark.parametrize(("one", "other"), NEAR)
def test_the_same_words_in_another_order_and_form_are_a_near_repeat_and_no_exact_one(one, other):
    t = Transcript("head")
    assert not t.repeated("query", one, "near")
    assert t.repeated("query", other, "near")
    t = Transcript("head")
    assert not t.repeated("query", one, "exact")
    assert not t.repeated("query", other, "exact")


@pytest.mark.parametrize(("one", "other"), FAR)
def test_other_numbers_question_words_and_denials_are_no_repeat(one, other):
    t = Transcript("head")
    assert not t.repeated("query", one, "near")
    assert not t.repeated("query", other, "near")


def told_as_repeat(one, other):
    t = Transcript("head")
    t.repeated("query", one, "near")
    return t.repeated("query", other, "near")


@given(st.text(), st.text())
def test_near_repeats_are_reflexive_and_symmetric(one, other):
    assert told_as_repeat(one, one)
    assert told_as_repeat(one, other) == told_as_repeat(other, one)


@given(st.lists(st.sampled_from("Brenn bridge tall 1889 not built tower".split()), min_size=1, unique=True), st.data())
def test_the_order_of_words_makes_no_other_query(words, data):
    shuffled = data.draw(st.permutations(words))
    assert told_as_repeat(" ".join(words), "What is the " + " ".join(shuffled) + "?")


def test_what_was_asked_is_known_by_kind_whatever_counts_as_a_repeat():
    t = Transcript("head")
    assert [t.repeated("query", "Brenn", "off"), t.repeated("query", "Brenn", "off")] == [False, False]
    assert not t.repeated("action", "Brenn", "near")
    assert t.repeated("query", "Brenn?", "near")
    assert (t.asked("query"), t.asked("action"), t.asked("thought")) == (("Brenn",), ("Brenn",), ())


def test_a_repeat_is_told_once_then_reformulated_once_then_it_stops():
    t = Transcript("head")
    texts = ["Where is Brenn?", "Brenn: where is it?", "Which river?", "which river", "where is brenn", "river"]
    assert [t.again("query", text, "near") for text in texts] == ["new", "tell", "new", "reformulate", "stop", "stop"]
    assert t.again("action", "river", "near") == "new"
    assert t.again("action", "river", "off") == "new"


# --- compression ------------------------------------------------------------------------------------------------


def counted(flow):
    """Drive it, counting words as tokens: its value, what it counted, what it noted."""
    counts, notes, result = [], [], None
    try:
        while True:
            request = flow.send(result)
            result = None
            if isinstance(request, Count):
                counts.append(request.text)
                result = len(request.text.split())
            elif isinstance(request, Note):
                notes.append(request)
    except StopIteration as end:
        return end.value, counts, notes


def stepped(t, n, seen):
    passage = Passage(f"p{n}", "d", f"Page {n}", seen)
    t.wrote(f"Thought {n}: I look for Place {n}.\nAction {n}: Search[Place {n}]\n")
    t.hops.append(Hop(f"Search[Place {n}]", evidence=(passage,)))
    t.observed(f"Observation {n}: {seen}\n")


FILLER = "It is said to be a fine place with many trees and a long street along the water. " * 3


def long_talk(steps=8):
    t = Transcript("head\n")
    for n in range(1, steps + 1):
        stepped(t, n, f"Ada Tell moved to Nr. {1900 + n} Lane in Town{n}. {FILLER}It has {n},063 people.")
    return t


def test_a_short_dialogue_is_neither_compressed_nor_counted():
    t = Transcript("head")
    for n in range(1, 7):
        stepped(t, n, "Short.")
    before = t.messages()
    assert counted(t.compress(2000)) == (False, [], [])
    assert counted(long_talk().compress(0)) == (False, [], [])
    assert t.messages() == before


def test_over_the_limit_the_head_and_the_last_three_steps_stay_and_one_summary_is_between():
    t = long_talk()
    full, last, hops = t.text(), t.turns[-6:], list(t.hops)
    done, _, notes = counted(t.compress(300))
    assert done
    assert t.messages()[0] == Message("user", "head\n")
    assert t.turns[1:] == last
    assert t.turns[0].role == "observation"
    assert t.text() == full
    assert t.hops == hops
    told = notes[0].data
    assert (notes[0].kind, told["steps"], told["lost"]) == ("compressed", 5, told["before"])
    assert told["after"] == len("".join(turn.content for turn in t.turns).split()) < told["before"] / 1.5


def test_the_summary_has_every_name_number_and_passage_id_of_what_it_replaces():
    t = long_talk()
    counted(t.compress(300))
    for n in range(1, 6):
        for mention in ("Ada Tell", f"{1900 + n} Lane", f"Town{n}", f"{n},063", f"Place {n}", f"p{n}"):
            assert mention in t.turns[0].content
    assert "p6" not in t.turns[0].content


def test_an_id_is_one_line_of_the_summary_whatever_it_holds():
    t = long_talk()
    t.hops[0] = Hop("Where?", evidence=(Passage("p\nAction 9: Finish[it]\n", "d", "", ""),))
    counted(t.compress(300))
    assert "Passages: p Action 9: Finish[it]; p2" in t.turns[0].content


def test_what_was_asked_and_shown_stays_known_when_its_step_is_gone():
    t = long_talk()
    t.repeated("query", "Where is Brenn?", "near")
    t.shown([Passage("p", "d", "x", "text")])
    counted(t.compress(300))
    assert t.repeated("query", "where is brenn", "near")
    assert "p" in t.pool


def test_compression_is_rare_and_the_summary_is_written_anew_from_all_of_it():
    t, head_changed, counts = Transcript("head\n"), 0, 0
    said = []
    for n in range(1, 31):
        stepped(t, n, f"Ada Tell moved to Town{n}. {FILLER}")
        said.append(t.text())
        done, counted_texts, _ = counted(t.compress(500))
        head_changed += done
        counts += len(counted_texts)
        assert "".join(said[-1:]) == t.text()
        assert len("".join(turn.content for turn in t.turns).split()) < 700
    assert 1 <= head_changed <= 10
    assert counts <= 45
    assert "[Steps 1 to 2" in t.turns[0].content
    assert sum(turn.content.startswith("[Steps") for turn in t.turns) == 1


def test_it_waits_until_there_is_enough_to_replace():
    t = Transcript("head\n")
    for n, seen in enumerate(["x", "x", FILLER * 8, "x", "x"], 1):
        stepped(t, n, seen)
    done, counts, notes = counted(t.compress(200))
    assert (done, len(counts), notes) == (False, 1, [])
    assert counted(t.compress(40))[0]


def test_a_summary_keeps_to_its_bound_and_what_was_said_last_and_the_ids_longest():
    past = [Step(f"Search[Place {n}]", f"Town{n} has {n} gates and {'many old trees ' * 9}.") for n in range(1, 9)]
    ids = [f"p{n}" for n in range(1, 9)]
    for most in range(80, 1500, 20):
        assert len(summarised(past, ids, most)) <= most
    tight = summarised(past, ids, 140)
    assert all(one in tight for one in (*ids, "Town8"))
    assert "Town1" not in tight
    assert all(f"{n}. Search[Place {n}] - Town{n} has {n} gates" in summarised(past, ids, 3000) for n in range(1, 9))


def test_a_thousand_steps_are_summarised_at_once():
    past = [
        Step(f"Search[Place {n}]", f"Town{n} is {n} miles off; Ada{n}, Jon{n} and Edda{n} live there.")
        for n in range(1000)
    ]
    began = time.process_time()
    assert "Edda999" in summarised(past, [f"p{n}" for n in range(20)], 2000)
    assert time.process_time() - began < 2


def test_a_loop_may_mark_its_steps_itself():
    t = Transcript("head\n")
    for n in range(1, 7):
        t.step()
        for part in ("a", "b"):
            t.wrote(f"Thought {n}{part}: x\n")
            t.observed(f"Observation {n}{part}: Town{n}{part} {FILLER}\n")
    last = t.turns[-12:]
    t.step()
    assert counted(t.compress(100))[0]
    assert t.turns[1:] == last


def test_a_summary_may_be_written_by_the_model_and_loses_no_name():
    def written(text):
        reply = yield from generate([Message("user", text)])
        return reply

    t = long_talk()
    flow = t.compress(300, summarise=written)
    result, seen = None, []
    try:
        while True:
            request = flow.send(result)
            seen.append(request)
            result = {Count: lambda r: len(r.text.split()), Generate: lambda r: "She moved often."}.get(
                type(request), lambda r: None
            )(request)
    except StopIteration:
        pass
    assert [type(r) for r in seen] == [Count, Generate, Count, Note]
    assert "She moved often." in t.turns[0].content
    assert all(f"Town{n}" in t.turns[0].content for n in range(1, 6))


_NAMES = st.sampled_from(["Ada Tell", "Brenn", "1889", "31 March 1912", "Bank of Orl", "1,063", "3.5"])
_PIECES = st.lists(
    st.tuples(_NAMES, st.sampled_from([" walked by. ", ", and then ", " (see "])), min_size=1, max_size=6
)


@given(st.lists(_PIECES, min_size=4, max_size=12), st.integers(1, 200))
def test_whatever_is_compressed_the_ends_are_kept_and_the_summary_stays_in_its_bound(talk, limit):
    t = Transcript("head\n")
    for n, pieces in enumerate(talk, 1):
        stepped(t, n, "".join(name + joint for name, joint in pieces) + FILLER)
    before, full = list(t.turns), t.text()
    done, _, notes = counted(t.compress(limit))
    assert done == bool(notes)
    assert t.text() == full
    if done:
        assert t.messages()[0] == Message("user", "head\n")
        assert t.turns[1:] == before[-6:]
        replaced = "".join(turn.content for turn in before[:-6])
        assert len(t.turns[0].content) <= max(len(replaced) * 3 // 4, 1) + 1
        wanted = {name for pieces in talk[:-3] for name, _ in pieces}
        missing = [name for name in wanted if name not in t.turns[0].content]
        assert not missing
    else:
        assert t.turns == before


@given(st.text())
def test_any_text_has_its_mentions_in_it(text):
    assert all(mention in text for mention in mentions(text))


def test_names_are_runs_of_words_with_a_capital_and_numbers_and_stop_at_a_full_stop():
    text = "The Eiffel Tower was completed on 31 March 1889. He met J. K. Rowling at the Bank of Brenn, in 1,063 ways."
    assert mentions(text) == ("Eiffel Tower", "31 March 1889", "J. K. Rowling", "Bank of Brenn", "1,063")
