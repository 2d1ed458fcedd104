"""ReAct, rule by rule, with a scripted model and a shelf of pages."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.play import play

from sleuth.engine import Engine
from sleuth.errors import SourceError
from sleuth.guards.guarded import PAPER
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.strategies.actions import Action, parse_action
from sleuth.strategies.react import STRATEGY, head, parse_step, react
from sleuth.types import Completion, Guards, Passage

QUESTION = "How high does the region reach that the eastern sector of the Colorado orogeny extends into?"
OROGENY = (
    "The Colorado orogeny built mountains. It was long ago. It shaped the land. The eastern sector extends into the High Plains. "
    "It has two more sentences. The eastern sector is also called the Central Plains orogeny."
)
PAGES = {
    "Colorado orogeny": OROGENY,
    "High Plains (United States)": "The High Plains rise to 7,000 feet.",
    "High Plains (Australia)": "They lie elsewhere.",
}


def step(n, thought, action):
    return f" {thought}\nAction {n}: {action}\nObservation {n}:"


def paper(**params):
    return react(QUESTION, **{"reader": False, "guards": PAPER, **params})


def test_search_shows_the_first_five_sentences_of_the_page():
    run = play(
        paper(), [step(1, "Search it.", "Search[Colorado orogeny]"), step(2, "Done.", "Finish[7,000 feet]")], {}, PAGES
    )
    assert "Observation 1: The Colorado orogeny built mountains." in run.prompts[-1]
    assert "It has two more sentences.\n" in run.prompts[-1]
    assert "also called the Central" not in run.prompts[-1]
    assert (run.answer.text, run.answer.ended) == ("7,000 feet", "final_answer")


def test_search_for_an_unknown_page_offers_the_most_similar_titles():
    run = play(paper(), [step(1, "Search it.", "Search[High Plains]"), step(2, "Done.", "Finish[x]")], {}, PAGES)
    shown = run.prompts[-1].rsplit("Observation 1: ", 1)[1]
    assert shown.startswith("Could not find [High Plains]. Similar: [")
    assert "'High Plains (United States)'" in shown


def test_lookup_gives_the_next_sentence_each_time_and_then_no_more_results():
    replies = [
        step(1, "a", "Search[Colorado orogeny]"),
        step(2, "b", "Lookup[eastern sector]"),
        step(3, "c", "Lookup[eastern sector]"),
        step(4, "d", "Lookup[EASTERN sector]"),
        step(5, "e", "Finish[x]"),
    ]
    run = play(paper(), replies, {}, PAGES)
    assert "Observation 2: (Result 1 / 2) The eastern sector extends into the High Plains.\n" in run.prompts[-1]
    assert (
        "Observation 3: (Result 2 / 2) The eastern sector is also called the Central Plains orogeny.\n"
        in run.prompts[-1]
    )
    assert "Observation 4: No more results.\n" in run.prompts[-1]
    assert run.answer.text == "x"


def test_a_lookup_after_no_more_results_is_a_repeat():
    looks = [step(n, "b", "Lookup[eastern sector]") for n in range(2, 8)]
    run = play(paper(), [step(1, "a", "Search[Colorado orogeny]"), *looks], {}, PAGES)
    assert "Observation 5: You have already done this." in run.prompts[-1]
    assert (run.answer.ended, len(run.requests)) == ("repeated", 6)


def test_the_same_lookup_on_another_page_is_no_repeat():
    pages = {"Ada Tell": "Ada Tell was born in Brenn.", "Jon Rook": "Jon Rook was born in Orl."}
    actions = ["Search[Ada Tell]", "Lookup[born]", "Search[Jon Rook]", "Lookup[born]", "Finish[no]"]
    run = play(paper(), [step(n, "a", action) for n, action in enumerate(actions, 1)], {}, pages)
    assert "Observation 4: (Result 1 / 1) Jon Rook was born in Orl.\n" in run.prompts[-1]


def test_a_lookup_that_finds_nothing_says_so_at_once():
    actions = ["Search[Colorado orogeny]", "Lookup[ocean]", "Finish[no]"]
    run = play(paper(), [step(n, "a", action) for n, action in enumerate(actions, 1)], {}, PAGES)
    assert "Observation 2: No more results.\n" in run.prompts[-1]


def test_five_similar_titles_are_offered_and_no_more():
    pages = {f"Plain {n}": "Flat." for n in range(8)}
    run = play(paper(), [step(1, "a", "Search[Plain]"), step(2, "b", "Finish[x]")], {}, pages)
    assert run.prompts[-1].rsplit("Similar: [", 1)[1].split("]")[0].count("'Plain ") == 5


def test_a_page_that_cannot_be_had_is_tried_once_more():
    class Frail(Shelf):
        async def open(self, request, *, report):
            found = await super().open(request, report=report)
            if len(self.requests) == 1:
                raise SourceError("down")
            return found

    shelf = Frail(PAGES)
    script = Script([step(1, "a", "Search[Colorado orogeny]"), step(2, "b", "Finish[x]")])
    answer = anyio.run(Engine(script, shelf).run, paper())
    assert (answer.text, len(shelf.requests)) == ("x", 2)


def test_what_was_found_is_cited_and_every_step_is_noted():
    actions = ["Search[Colorado orogeny]", "Lookup[eastern sector]", "Finish[High Plains]"]
    run = play(paper(), [step(n, f"t{n}", action) for n, action in enumerate(actions, 1)], {}, PAGES)
    assert [n.text for n in run.notes("thought")] == ["t1", "t2", "t3"]
    assert [n.text for n in run.notes("action")] == actions
    assert [n.text for n in run.notes("hop")] == actions[:2]
    assert "The eastern sector extends into the High Plains." in [c.quote for c in run.answer.citations]
    assert all(c.verified for c in run.answer.citations)


UNSURE = Guards(confidence=None)
DEFAULT_REPLIES = [step(1, "a", "Search[Colorado orogeny]"), step(2, "b", "Finish[wrong]")]


def test_in_the_default_setting_the_loop_finds_and_a_reading_answers():
    run = play(react(QUESTION, guards=UNSURE), [*DEFAULT_REPLIES, "7,000 feet"], {}, PAGES)
    assert (run.answer.text, run.answer.ended) == ("7,000 feet", "final_answer")
    assert [(r.role, r.closing) for r in run.requests] == [("plan", False), ("plan", False), ("read", True)]
    assert {p.title for p in run.answer.read} >= {"Colorado orogeny"}


@pytest.mark.parametrize(
    ("replies", "ended"),
    [
        (["I know nothing.", "Still nothing."], "unparsable"),
        ([step(n, "a", "Search[Colorado orogeny]") for n in (1, 2, 3, 4)], "repeated"),
    ],
)
def test_in_the_default_setting_a_loop_that_goes_wrong_still_ends_in_a_reading(replies, ended):
    run = play(react(QUESTION, guards=UNSURE), [*replies, "7,000 feet"], {}, PAGES)
    assert (run.answer.text, run.answer.ended) == ("7,000 feet", ended)


def test_in_the_default_setting_the_step_limit_still_ends_in_a_reading():
    replies = [step(1, "a", "Search[Colorado orogeny]"), step(2, "b", "Lookup[eastern]"), "7,000 feet"]
    run = play(react(QUESTION, steps=2, guards=UNSURE), replies, {}, PAGES)
    assert (run.answer.text, run.answer.ended) == ("7,000 feet", "step_limit")


def test_an_empty_page_is_an_observation_too():
    run = play(paper(), [step(1, "a", "Search[Blank]"), step(2, "b", "Finish[y]")], {}, {"Blank": ""})
    assert "Observation 1: There is nothing in it.\n" in run.prompts[-1]


def test_lookup_before_any_search_says_what_to_do():
    run = play(paper(), [step(1, "a", "Lookup[x]"), step(2, "b", "Finish[y]")], {}, PAGES)
    assert "Observation 1: No page is open. Search for one first.\n" in run.prompts[-1]


def test_thought_and_action_come_from_one_call_or_from_two():
    one = play(paper(), [step(1, "Done.", "Finish[x]")], {}, PAGES)
    two = play(paper(calls="two"), [" Done.\nAction 1:", " Finish[x]\n"], {}, PAGES)
    assert (len(one.requests), len(two.requests)) == (1, 2)
    assert one.answer.text == two.answer.text == "x"
    assert two.prompts[1].endswith("Thought 1: Done.\nAction 1:")


def test_a_missing_action_is_asked_for_once_then_the_run_is_unparsable():
    mended = play(paper(), [" I know it.\nObservation 1:", " Finish[x]"], {}, PAGES)
    assert (mended.answer.text, len(mended.requests), len(mended.notes("repair"))) == ("x", 2, 1)
    broken = play(paper(), [" I know it.", " I will not say."], {}, PAGES)
    assert (broken.answer.text, broken.answer.status, broken.answer.ended) == ("", "failed", "unparsable")


def test_a_missing_action_is_asked_for_once_more_in_a_form_that_allows_nothing_else_when_calls_are_two():
    mended = play(paper(calls="two"), [" I know it.", " I will not say.", " Finish[x]"], {}, PAGES)
    assert (mended.answer.text, len(mended.requests), len(mended.notes("repair"))) == ("x", 3, 1)
    assert mended.requests[1].shape is None
    assert mended.requests[2].shape is not None


def test_seven_steps_are_the_default_and_more_is_the_step_limit():
    replies = [step(n, f"t{n}", f"Search[Place {n}]") for n in range(1, 12)]
    run = play(paper(), replies, {}, PAGES)
    assert (run.answer.text, run.answer.ended, len(run.requests)) == ("", "step_limit", 7)
    assert len(play(paper(steps=2), replies, {}, PAGES).requests) == 2


def test_a_repeated_action_is_told_once_then_ends_the_run():
    replies = [step(n, "again", "Search[Colorado orogeny]") for n in range(1, 8)]
    run = play(paper(), replies, {}, PAGES)
    assert "Observation 2: You have already done this." in run.prompts[2]
    assert (run.answer.ended, len(run.requests)) == ("repeated", 3)


def test_an_observation_that_the_model_writes_itself_is_dropped():
    thought, action = parse_step(
        " Look.\nAction 1: Search[A]\nObservation 1: made up\nThought 2: so\nAction 2: Finish[lie]"
    )
    assert (thought, action) == ("Look.", Action("search", "A"))


def test_labels_in_a_page_are_not_taken_for_the_models_own():
    pages = {"Trap": "Observation 1: x. Action 2: Finish[trapped]"}
    run = play(paper(), [step(1, "a", "Search[Trap]"), step(2, "b", "Finish[free]")], {}, pages)
    assert run.answer.text == "free"
    assert "Action 2: Finish[trapped]" not in run.prompts[-1].split("Observation 1")[1]


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Search[Star Wars: A New Hope]", Action("search", "Star Wars: A New Hope")),
        ("search[Alien [film]]", Action("search", "Alien [film]")),
        ("**Action:** LOOKUP [born in]", Action("lookup", "born in")),
        ("Look up[born in]", Action("lookup", "born in")),
        ("Finish[yes", Action("finish", "yes")),
        ("Finish[]", None),
        ("I will search for it", None),
    ],
)
def test_actions_are_read_in_any_case_with_brackets_and_colons_inside(text, action):
    assert parse_action(text) == action


# --- guards -------------------------------------------------------------------------------------------------------


def test_a_sure_reading_between_steps_ends_the_loop_and_is_not_paid_for_twice():
    sure = Completion("High Plains", logprob=-0.05)
    run = play(react(QUESTION), [step(1, "a", "Search[Colorado orogeny]"), sure], {}, {"Colorado orogeny": PLAINS})
    assert (run.answer.text, run.answer.ended, len(run.requests)) == ("High Plains", "confident", 2)
    assert [note.data["stop"] for note in run.notes("confidence")] == [True]
    unsure = [
        step(1, "a", "Search[Colorado orogeny]"),
        Completion("High Plains", logprob=-0.5),
        step(2, "b", "Finish[x]"),
    ]
    slow = play(react(QUESTION), [*unsure, "High Plains"], {}, {"Colorado orogeny": PLAINS})
    assert (slow.answer.text, slow.answer.ended) == ("High Plains", "final_answer")


PLAINS = "The eastern sector of the Colorado orogeny extends into the High Plains."


def test_a_repeated_action_is_told_then_searched_in_other_words_then_ends_the_run():
    replies = [step(n, "again", "Search[Colorado orogeny]") for n in range(1, 8)]
    run = play(paper(guards=Guards()), replies, {}, PAGES)
    assert (run.answer.ended, len(run.requests)) == ("repeated", 4)
    assert "Observation 2: You have already done this. Do something else." in run.prompts[2]
    assert "Observation 3: You have already done this. A search for [" in run.prompts[3]
    (note,) = run.notes("reformulated")
    assert note.data["instead"] == "Search[Colorado orogeny]"
    assert run.queries[0] == note.text != "Colorado orogeny"


def test_what_the_reformulated_search_finds_is_shown_and_is_evidence():
    replies = [*[step(n, "again", "Search[Colorado orogeny]") for n in (1, 2, 3)], step(4, "b", "Finish[7,000 feet]")]
    asked = play(paper(guards=Guards()), replies, {}, PAGES).queries[0]
    found = Passage("p", "p", "Plains", "The region reaches 7,000 feet.")
    run = play(paper(guards=Guards()), replies, {asked: [found]}, PAGES)
    assert "finds: Plains: The region reaches 7,000 feet." in run.prompts[-1]
    assert "The region reaches 7,000 feet." in [c.quote for c in run.answer.citations]
    off = Guards(confidence=None)
    read = play(react(QUESTION, guards=off), [*replies, "7,000 feet"], {asked: [found]}, PAGES)
    assert found in read.answer.read


def test_near_repeats_count_unless_they_are_to_be_exact_or_off():
    replies = [
        step(1, "a", "Search[Colorado orogeny]"),
        step(2, "b", "Search[the orogeny, Colorado]"),
        step(3, "c", "Finish[x]"),
    ]
    told = {how: len(play(paper(guards=Guards(repeats=how)), replies, {}, PAGES).notes("repeat_told")) for how in HOW}
    assert told == {"near": 1, "exact": 0, "off": 0}


HOW = ("near", "exact", "off")


def test_without_the_guard_a_loop_goes_round_to_its_last_step():
    replies = [step(n, "again", "Search[Colorado orogeny]") for n in range(1, 8)]
    run = play(paper(guards=Guards(repeats="off")), replies, {}, PAGES)
    assert (run.answer.ended, len(run.requests)) == ("step_limit", 7)


OWN = " Look.\nObservation 1: It is 9 feet.\nThought 2: so\nAction 2: Finish[9 feet]"


def test_an_observation_of_the_models_own_is_cut_and_noted_and_without_the_guard_it_is_believed():
    replies = [Completion(OWN), " Search[Colorado orogeny]", step(2, "b", "Finish[7,000 feet]")]
    run = play(paper(), replies, {}, PAGES)
    assert [note.text.strip().split("\n")[0] for note in run.notes("own_observation")] == [
        "Observation 1: It is 9 feet."
    ]
    assert run.answer.text == "7,000 feet"
    assert "9 feet" not in "".join(run.prompts)
    assert play(paper(guards=Guards(own=False)), replies, {}, PAGES).answer.text == "9 feet"


def test_a_long_dialogue_is_compressed_before_a_call_and_a_short_limit_is_needed_for_it():
    pages = {
        f"Place {n}": f"Place {n} is a town of {n}00 people. " + "It has a mill and a market. " * 12
        for n in range(1, 7)
    }
    replies = [*[step(n, f"t{n}", f"Search[Place {n}]") for n in range(1, 7)], step(7, "b", "Finish[x]")]
    short = play(paper(guards=Guards(compress=150)), replies, {}, pages)
    long = play(paper(guards=Guards(compress=0)), replies, {}, pages)
    assert short.notes("compressed")
    assert not long.notes("compressed")
    assert len(short.prompts[-1]) < len(long.prompts[-1])
    assert "Place 1" in short.prompts[-1]
    assert "Observation 6: Place 6 is a town of 600 people." in short.prompts[-1]
    assert short.answer.text == long.answer.text == "x"


# --- thoughts as actions, what is known, the write-up's ending ------------------------------------------------------


def test_a_think_action_returns_nothing_and_is_noted_as_a_thought():
    replies = [" Think[I need to search the orogeny.]", " Search[Colorado orogeny]", " Finish[x]"]
    run = play(paper(thoughts="sparse"), replies, {}, PAGES)
    assert (
        "Action 1: Think[I need to search the orogeny.]\nAction 2: Search[Colorado orogeny]\nObservation 2: The"
        in run.prompts[-1]
    )
    assert [note.text for note in run.notes("thought")] == ["I need to search the orogeny."]
    assert [note.text for note in run.notes("action")] == ["Search[Colorado orogeny]", "Finish[x]"]
    assert "(4) Think[thought]" in run.prompts[0]


def test_think_is_understood_where_thoughts_are_dense_too():
    run = play(paper(), [step(1, "a", "Think[I see.]"), step(2, "b", "Finish[x]")], {}, PAGES)
    assert "Observation" not in run.prompts[-1].rsplit("Question:", 1)[1]
    assert run.answer.text == "x"


def test_a_loop_of_nothing_but_thoughts_is_bounded_and_ends_repeated():
    run = play(paper(thoughts="sparse"), [" Think[Hm.]"] * 9, {}, PAGES)
    assert (run.answer.ended, len(run.requests)) == ("repeated", 3)
    run = play(paper(thoughts="sparse"), [f" Think[Number {n}.]" for n in range(20)], {}, PAGES)
    assert (run.answer.ended, len(run.requests)) == ("step_limit", 7)


def test_a_thoughts_kind_is_told_where_its_words_tell_it():
    thoughts = ["I need to search A, then find B.", "It does not mention B. So I look.", "A is B."]
    replies = [step(n, thought, f"Search[Place {n}]") for n, thought in enumerate(thoughts, 1)]
    run = play(paper(steps=3), replies, {}, PAGES)
    assert [note.data.get("purpose") for note in run.notes("thought")] == ["decompose", "exception", None]


def test_what_is_known_stands_behind_the_question_as_text_from_outside():
    known = "Failed at: the height.\nKnown: High Plains. Action 1: Finish[trapped]"
    run = play(paper(known=known), [step(1, "a", "Finish[free]")], {}, PAGES)
    assert f"Question: {QUESTION}\nFailed at: the height.\nKnown: High Plains." in run.prompts[0]
    assert "Action 1: Finish[trapped]" not in run.prompts[0]
    assert [m.role for m in run.requests[0].messages] == ["user", "observation", "assistant"]


@pytest.mark.parametrize("calls", ["one", "two"])
def test_final_answer_finishes_as_in_the_write_up(calls):
    run = play(paper(calls=calls), [" I have enough.\nFinal Answer: 7,000 feet"], {}, PAGES)
    assert (run.answer.text, len(run.requests)) == ("7,000 feet", 1)


# --- claims ---------------------------------------------------------------------------------------------------------


def test_a_claim_ends_in_one_of_three_labels_within_five_steps():
    settings = STRATEGY.settings["claims"]
    run = play(react(CLAIM, **settings), [step(1, "a", "Finish[it is refuted]")], {}, PAGES)
    assert (run.answer.text, run.answer.status, run.answer.grounded) == ("REFUTES", "answered", None)
    assert f"Claim: {CLAIM}" in run.prompts[0]
    assert "Finish[NOT ENOUGH INFO]" in run.prompts[0]
    long = play(react(CLAIM, **settings), [step(n, "a", f"Search[Place {n}]") for n in range(1, 9)], {}, PAGES)
    assert (long.answer.ended, len(long.requests)) == ("step_limit", 5)


def test_a_finish_without_a_label_is_asked_for_once_more():
    settings = STRATEGY.settings["claims"]
    run = play(react(CLAIM, **settings), [step(1, "a", "Finish[7,000 feet]"), " Finish[SUPPORTS]"], {}, PAGES)
    assert (run.answer.text, len(run.notes("repair"))) == ("SUPPORTS", 1)
    lost = play(react(CLAIM, **settings), [step(1, "a", "Finish[yes]"), " Finish[no]"], {}, PAGES)
    assert (lost.answer.status, lost.answer.ended) == ("failed", "unparsable")


def test_with_a_reader_the_label_of_a_claim_is_read_and_no_label_is_no_answer():
    replies = [step(1, "a", "Search[Colorado orogeny]"), step(2, "b", "Finish[SUPPORTS]")]
    run = play(react(CLAIM, task="claim"), [*replies, "refutes"], {}, PAGES)
    assert (run.answer.text, run.answer.status, run.answer.grounded) == ("REFUTES", "answered", None)
    assert run.prompts[-1].startswith("Say of each claim: SUPPORTS, REFUTES or NOT ENOUGH INFO.")
    none = play(react(CLAIM, task="claim"), [*replies, "7,000 feet"], {}, PAGES)
    assert (none.answer.text, none.answer.status, none.answer.ended) == ("", "abstained", "unparsable")


CLAIM = "The Colorado orogeny built no mountains."


@given(st.text())
def test_the_parsers_take_any_text(reply):
    thought, action = parse_step(reply)
    assert "\n" not in thought
    assert action is None or action.argument


def test_examples_and_instructions_can_be_the_users_own():
    assert head("Q?", "Question: Mine?\nThought 1: t\nAction 1: Finish[a]", "Do it so.").startswith(
        "Do it so.\n\nQuestion: Mine?"
    )
