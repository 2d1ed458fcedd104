""" "Who held X when Y happened": the date is found, the search narrowed, the answer checked, and all of it is noted."""

from __future__ import annotations

import pytest
from tests.support.play import play

from sleuth.guards.timing import Clock, says_no_more, spoken
from sleuth.strategies.link_then_read import link_then_read
from sleuth.strategies.self_ask import self_ask
from sleuth.types import Note, Passage, Search

QUESTION = "Who was warden of Orl Hall when the Brenn bridge was completed?"
ROLE = "Who was warden of Orl Hall"
WHEN = "When was the Brenn bridge completed?"
WHO = "Who was warden of Orl Hall on 6 May 1912?"


def passage(title, text):
    return Passage(title, title, title, text)


BRIDGE = passage("Brenn bridge", "The Brenn bridge was completed on 6 May 1912. It crosses the Tarn.")
TELL = passage("Ada Tell", "Ada Tell was warden of Orl Hall from 1907 to 1921.")
ROOK = passage("Jon Rook", "Jon Rook was warden of Orl Hall from 1899 to 1907.")
VALE = passage("Una Vale", "Una Vale was warden of Orl Hall from 1921 to 1930.")


def heard(clock, *passages):
    """The notes of a clock that hears these."""
    return [note for note in clock.heard(passages) if isinstance(note, Note)]


def set_clock(question=QUESTION, event=BRIDGE):
    clock = Clock(question)
    assert heard(clock, event)
    return clock


def read(clock, *passages):
    return [p.title for p in clock.narrowed(passages)]


# --- the question's kind, and its date ----------------------------------------------------------------------------


def test_the_question_falls_into_event_and_role_and_the_date_is_asked_first():
    clock = Clock(QUESTION)
    assert (clock.event, clock.role, clock.when) == ("the Brenn bridge was completed", ROLE, "")
    assert clock.follow_up() == WHEN


def test_a_date_found_by_a_hop_is_kept_and_noted_and_the_role_is_asked_next():
    clock = Clock(QUESTION)
    notes = heard(clock, TELL, BRIDGE)
    assert [(n.kind, n.data["when"], n.data["title"]) for n in notes] == [("when", "1912-05-06", "Brenn bridge")]
    assert (clock.when, clock.dated_by) == ("1912-05-06", BRIDGE)
    assert clock.follow_up() == WHO
    assert (Clock(QUESTION).query("else"), clock.query("else")) == ("else", ROLE)


def test_a_passage_that_shares_one_word_with_the_event_does_not_date_it():
    assert heard(Clock(QUESTION), passage("Mill", "The mill by the bridge opened in 1880.")) == []


def test_a_neighbour_does_not_date_the_event():
    assert heard(Clock(QUESTION), passage("Orl bridge", "The Orl bridge was completed in 1880.")) == []


def test_the_first_date_counts():
    clock = set_clock()
    assert heard(clock, passage("Brenn bridge", "The Brenn bridge was completed on 1 June 1999.")) == []
    assert clock.when == "1912-05-06"


@pytest.mark.parametrize(
    "other",
    ["The Brenn bridge crosses the Tarn.", "The Orl tunnel was completed in 1880.", "Brenn is a town of 1,912."],
)
def test_a_passage_that_does_not_date_the_event_sets_no_date(other):
    clock = Clock(QUESTION)
    assert (heard(clock, passage("Orl", other)), clock.when) == ([], "")


@pytest.mark.parametrize(
    "question",
    [
        "Where was Ada Tell born?",
        "Which river runs past the town where Ada Tell was born?",
        "Were Ada Tell and Jon Rook born in the same town?",
        "Who directed Star Wars: A New Hope?",
        "",
    ],
)
def test_nothing_happens_for_questions_of_another_kind(question):
    clock = Clock(question)
    pool = [ROOK, BRIDGE, TELL]
    assert heard(clock, *pool) == []
    assert (clock.when, clock.follow_up(), clock.query("else")) == ("", "", "else")
    assert clock.narrowed(pool) == pool
    assert clock.readings(question, pool) == [(question, pool)]
    assert not clock.refuses("Who was warden then?")
    assert not clock.contradicted("Jon Rook", pool)


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("1889-03-31", "31 March 1889"),
        ("1889-03", "March 1889"),
        ("1889", "1889"),
        ("", ""),
        ("-0044-03-15", "-0044-03-15"),
    ],
)
def test_dates_are_spoken_as_prose_says_them(when, said):
    assert spoken(when) == said


# --- follow-ups that bring nothing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "follow_up",
    [QUESTION, "who was WARDEN of Orl Hall, when the Brenn Bridge was completed", "Who was the warden of Orl Hall at the completion of the Brenn bridge?"],
)  # fmt: skip
def test_a_follow_up_that_repeats_the_question_says_no_more(follow_up):
    assert says_no_more(follow_up, QUESTION)


@pytest.mark.parametrize("follow_up", [WHEN, WHO, "Who was warden of Orl Hall?", "Who was Ada Tell?", ""])
def test_a_follow_up_that_asks_a_part_or_something_new_is_let_through(follow_up):
    assert not says_no_more(follow_up, QUESTION)


def test_a_vague_follow_up_is_refused_once_the_date_is_known():
    vague = "Who was warden of Orl Hall at the time?"
    assert not Clock(QUESTION).refuses(vague)
    clock = set_clock()
    assert clock.refuses(vague)
    assert not clock.refuses(WHO)
    assert not clock.refuses("Who lived in Kessel House?")


# --- what is read -------------------------------------------------------------------------------------------------


def test_only_the_holder_of_that_day_and_the_event_are_read():
    assert read(set_clock(), BRIDGE, ROOK, VALE, TELL) == ["Ada Tell", "Brenn bridge"]
    assert read(Clock(QUESTION), BRIDGE, ROOK, VALE, TELL) == ["Brenn bridge", "Jon Rook", "Una Vale", "Ada Tell"]


def test_where_no_passage_holds_the_date_nothing_is_taken_away():
    assert read(set_clock(), ROOK, BRIDGE, VALE) == ["Jon Rook", "Brenn bridge", "Una Vale"]


def test_a_vice_warden_is_not_the_warden():
    vice = passage("Pim Lark", "Pim Lark was vice warden of Orl Hall from 1910 to 1915.")
    assert read(set_clock(), vice, TELL, BRIDGE) == ["Ada Tell", "Brenn bridge"]
    assert set_clock().contradicted("Pim Lark", [TELL, BRIDGE])
    asked = set_clock("Who was vice warden of Orl Hall when the Brenn bridge was completed?")
    assert read(asked, TELL, vice, BRIDGE)[0] == "Pim Lark"


@pytest.mark.parametrize("qualifier", ["deputy", "acting", "former", "assistant"])
def test_other_qualifiers_make_another_office_too(qualifier):
    other = passage("Pim Lark", f"Pim Lark was {qualifier} warden of Orl Hall from 1910 to 1915.")
    assert read(set_clock(), other, TELL, BRIDGE)[0] == "Ada Tell"


def test_a_moment_between_two_separate_terms_is_held_by_the_other_one():
    twice = passage("Ivo Ash", "Ivo Ash was warden of Orl Hall from 1901 to 1909 and again from 1915 to 1920.")
    between = passage("Ada Tell", "Ada Tell was warden of Orl Hall from 1909 to 1915.")
    clock = set_clock()
    assert read(clock, twice, between, BRIDGE)[0] == "Ada Tell"
    assert "Ivo Ash" not in read(clock, twice, between, BRIDGE)
    assert clock.contradicted("Ivo Ash", [between, BRIDGE])
    later = set_clock(event=passage("Brenn bridge", "The Brenn bridge was completed on 6 May 1917."))
    assert read(later, between, twice, BRIDGE)[0] == "Ivo Ash"


def test_on_the_day_of_the_handover_who_comes_stands_before_who_goes():
    goes = passage("Jon Rook", "Jon Rook was warden of Orl Hall from 1 May 1899 to 6 May 1912.")
    comes = passage("Ada Tell", "Ada Tell was warden of Orl Hall from 6 May 1912 to 1 May 1921.")
    clock = set_clock()
    assert read(clock, goes, comes, BRIDGE)[0] == "Ada Tell"
    assert not clock.contradicted("Ada Tell", [goes, comes, BRIDGE])


def test_an_interval_without_an_end_holds_every_later_day():
    clock = set_clock(event=passage("Brenn bridge", "The Brenn bridge was completed on 6 May 2019."))
    since = passage("Una Vale", "Una Vale has been warden of Orl Hall since 2014.")
    assert read(clock, ROOK, since, BRIDGE)[0] == "Una Vale"
    assert clock.contradicted("Jon Rook", [since, BRIDGE])
    assert not clock.contradicted("Una Vale", [since, BRIDGE])


def test_two_who_speak_equally_well_are_both_read():
    second = passage("Ulf Tern", "Ulf Tern was warden of Orl Hall from 1911 to 1913.")
    assert read(set_clock(), TELL, second, ROOK, BRIDGE) == ["Ada Tell", "Ulf Tern", "Brenn bridge"]


# --- the answer against the dates ---------------------------------------------------------------------------------


def test_an_answer_that_its_dates_contradict_is_caught_and_an_unjudged_one_is_not():
    clock, shown = set_clock(), [TELL, BRIDGE]
    assert clock.contradicted("Jon Rook", [ROOK, *shown])
    assert clock.contradicted("6 May 1912", shown)
    assert not clock.contradicted("Ada Tell", shown)
    assert not clock.contradicted("Tell", shown)
    assert not clock.contradicted("Pim Lark", [BRIDGE])
    assert not Clock(QUESTION).contradicted("Jon Rook", [ROOK, *shown])


def test_a_page_of_the_office_that_names_the_holder_then_supports_him():
    office = passage(
        "Orl Hall", "Jon Rook was warden of Orl Hall from 1899 to 1907. Ada Tell was warden from 1907 to 1921."
    )
    clock = set_clock()
    assert not clock.contradicted("Ada Tell", [office, BRIDGE])
    assert clock.contradicted("Jon Rook", [office, BRIDGE])


def test_who_is_only_mentioned_on_the_holders_page_is_not_the_holder():
    page = passage("Ada Tell", "Ada Tell was warden of Orl Hall from 1907 to 1921, as the successor of Jon Rook.")
    assert set_clock().contradicted("Jon Rook", [page, BRIDGE])
    assert not set_clock().contradicted("Ada Tell", [page, BRIDGE])


def test_there_are_at_most_three_readings_and_the_first_asks_for_the_day():
    clock = set_clock()
    assert clock.readings(QUESTION, [TELL, BRIDGE]) == [
        (WHO, [TELL, BRIDGE]),
        (QUESTION, [BRIDGE, TELL]),
        (WHO, [TELL]),
    ]
    assert clock.readings(QUESTION, [ROOK, VALE]) == [(WHO, [ROOK, VALE]), (QUESTION, [ROOK, VALE])]


# --- in the strategies --------------------------------------------------------------------------------------------


def searches(run):
    return [(r.query, r.when) for r in run.looked if isinstance(r, Search)]


def test_link_then_read_searches_again_with_the_date_and_reads_who_held_the_role_then():
    run = play(link_then_read(QUESTION), ["Ada Tell"], {QUESTION: [BRIDGE, ROOK], ROLE: [ROOK, TELL]})
    assert searches(run) == [(QUESTION, ""), (ROLE, "1912-05-06")]
    assert [n.data["when"] for n in run.notes("when")] == ["1912-05-06"]
    assert run.answer.text == "Ada Tell"
    assert run.answer.read == (TELL, BRIDGE)
    assert run.prompts[0].endswith(f"Question: {WHO}\nAnswer:")
    assert run.notes("contradicted") == []


def test_link_then_read_reads_a_contradicted_answer_again():
    run = play(link_then_read(QUESTION), ["Jon Rook", "Ada Tell"], {QUESTION: [BRIDGE, ROOK, TELL], ROLE: [TELL]})
    assert (run.answer.text, len(run.requests)) == ("Ada Tell", 2)
    assert [n.text.split(":")[0] for n in run.notes("contradicted")] == ["Jon Rook"]
    assert [n.data["question"] for n in run.notes("read")] == [WHO, QUESTION]
    assert run.answer.citations[-1].quote == TELL.text


def test_after_three_contradicted_readings_the_first_answer_stands():
    run = play(
        link_then_read(QUESTION), ["Jon Rook", "Una Vale", "Pim"], {QUESTION: [BRIDGE, ROOK, TELL], ROLE: [TELL]}
    )
    assert (run.answer.text, len(run.requests), len(run.notes("contradicted"))) == ("Jon Rook", 3, 3)


def test_without_a_date_link_then_read_searches_once():
    run = play(link_then_read(QUESTION), ["Ada Tell"], {QUESTION: [ROOK, TELL]})
    assert searches(run) == [(QUESTION, "")]
    assert (run.notes("when"), run.notes("contradicted")) == ([], [])


# Self-Ask reads once in between, when the day is known and was asked for: the third reply of each script. What is read
# so is not paid for again at the end.


def asked(run):
    return [n.text for n in run.notes("hop")]


def test_self_ask_replaces_a_follow_up_that_repeats_the_question_by_rule():
    replies = [QUESTION, f"Follow up: {QUESTION}", "Ada Tell", "So the final answer is:"]
    shelf = {f"{QUESTION} {WHEN}": [BRIDGE], ROLE: [ROOK, TELL]}
    run = play(self_ask(QUESTION), replies, shelf)
    assert asked(run) == [WHEN, WHO]
    assert [(n.text, n.data["by_rule"]) for n in run.notes("refused")] == [(QUESTION, WHEN), (QUESTION, WHO)]
    assert searches(run)[:2] == [(f"{QUESTION} {WHEN}", ""), (ROLE, "1912-05-06")]
    assert len(run.notes("when")) == 1
    assert (run.answer.text, run.answer.read) == ("Ada Tell", (TELL, BRIDGE))
    assert f"Follow up: {WHEN}\nIntermediate answer: The Brenn bridge was completed on 6 May 1912.\n" in run.prompts[1]
    assert run.prompts[1].count(QUESTION) == 1
    assert len(run.requests) == len(replies)


def test_self_ask_refuses_a_vague_follow_up_once_the_date_is_known():
    vague = "Who was warden of Orl Hall at the time?"
    replies = [WHEN, f"Follow up: {vague}", "Ada Tell", "So the final answer is:"]
    run = play(self_ask(QUESTION), replies, {f"{QUESTION} {WHEN}": [BRIDGE], ROLE: [ROOK, TELL]})
    assert asked(run) == [WHEN, WHO]
    assert [(n.text, n.data["by_rule"]) for n in run.notes("refused")] == [(vague, WHO)]
    assert run.answer.hops[1].answer == TELL.text
    assert run.answer.text == "Ada Tell"


def test_self_ask_reads_again_what_the_dates_contradict():
    replies = [WHEN, f"Follow up: {WHO}", "Jon Rook", "So the final answer is:", "Ada Tell"]
    run = play(self_ask(QUESTION), replies, {f"{QUESTION} {WHEN}": [BRIDGE], ROLE: [ROOK, TELL]})
    assert run.answer.text == "Ada Tell"
    assert [n.text.split(":")[0] for n in run.notes("contradicted")] == ["Jon Rook"]
    assert len(run.answer.citations) >= 2
    assert all(c.verified for c in run.answer.citations)
