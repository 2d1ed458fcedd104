"""Each rule of the error analysis on the run that it is about, and on the nearest run that it is not about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.benches import begun, put

from sleuth.bench.errors import MEANING, Verdict, chosen, classify, table
from sleuth.bench.errors.facts import holds, stands, telling
from sleuth.bench.folder import Cell, Run
from sleuth.bench.questions import Question
from sleuth.bench.record import Lookup, Record
from sleuth.errors import BadInput
from sleuth.events import Noted, Span
from sleuth.types import Answer, Hop, Page, Passage

TOWER = Passage("t1", "tower", "Varrow Tower", "Varrow Tower was designed by Edda Wroll in 1907.")
WROLL = Passage("w1", "wroll", "Edda Wroll", "Edda Wroll was born in Brenn, a town on the Tarn.")
MILL = Passage("m1", "mill", "Varrow Mill", "Varrow Mill was built by Tam Hobb of Odd.")
ASKED = "Where was the designer of Varrow Tower born?"
QUESTION = Question("q", ASKED, ("Brenn",), supporting=("Varrow Tower", "Edda Wroll"), documents=("tower", "wroll"))
UNKNOWN = replace(QUESTION, supporting=(), documents=())
CELL = Cell("t", "m", "x")


def look(query: str, *passages: Passage, **more: Any) -> Lookup:
    return Lookup("search", query, Span("", 0), passages, **more)


def verdict(
    text: str,
    *lookups: Lookup,
    question: Question = QUESTION,
    ended: Any = "final_answer",
    status: Any = "",
    notes: tuple[Noted, ...] = (),
    **more: Any,
) -> Verdict:
    """Of a run that answered this after these look-ups."""
    answer = Answer(text, status or ("answered" if text else "abstained"), ended, **more)
    record = Record("r", question.text, {}, answer, lookups, notes=notes)
    return classify(Run(CELL, question, record))


BOTH = look("varrow tower", TOWER, WROLL)


def told(found: Verdict) -> tuple[str, str, bool]:
    return found.kind, found.rule, found.sure


# --- right ------------------------------------------------------------------------------------------------------


def test_right_with_every_gold_page_is_a_true_positive_and_sure():
    found = verdict("Brenn", BOTH)
    assert told(found) == ("true_positive", "right_with_all_gold", True)
    assert "Edda Wroll" in found.evidence


def test_right_with_a_gold_page_lacking_is_not_sure_where_the_answer_stands_all_the_same():
    found = verdict("Brenn", look("born", WROLL))
    assert told(found) == ("true_positive", "right_and_standing", False)
    assert "never found: Varrow Tower" in found.evidence


def test_right_where_nothing_found_says_so_is_a_false_positive():
    found = verdict("Brenn", look("varrow", TOWER, MILL))
    assert told(found) == ("false_positive", "right_without_evidence", True)
    assert "Edda Wroll" in found.evidence


def test_right_after_an_intermediate_answer_that_stands_nowhere_is_a_false_positive_and_not_sure():
    hops = (Hop("Who designed it?", answer="Olm Frisk", evidence=(TOWER,)),)
    assert told(verdict("Brenn", BOTH, hops=hops)) == ("false_positive", "right_with_a_false_step", False)
    grounded = (replace(hops[0], answer="Ms. Wroll, an architect", grounded=True),)
    assert verdict("Brenn", BOTH, hops=grounded).kind == "true_positive"


def test_right_by_heart_is_never_sure():
    assert told(verdict("Brenn")) == ("true_positive", "right_from_memory", False)


def test_a_yes_is_borne_out_by_the_gold_pages_and_not_by_a_no_that_stands_somewhere():
    question = replace(QUESTION, answers=("no",))
    word = replace(MILL, text="There is no mill.")
    assert told(verdict("no", BOTH, question=question)) == ("true_positive", "right_with_all_gold", True)
    assert told(verdict("no", look("x", word), question=question)) == (
        "false_positive",
        "right_without_evidence",
        False,
    )
    free = replace(question, supporting=(), documents=())
    assert told(verdict("no", look("x", word), question=free)) == ("true_positive", "right_without_gold", False)


# --- wrong ------------------------------------------------------------------------------------------------------


def test_a_gold_page_that_was_never_found_is_a_search_error_by_its_title():
    found = verdict("Odd", look("mill", MILL), look("hobb"))
    assert told(found) == ("search_error", "gold_never_found", True)
    assert "Varrow Tower, Edda Wroll; 1 look-ups brought nothing" in found.evidence


def test_a_search_error_is_not_sure_where_the_gold_answer_was_found_elsewhere():
    elsewhere = replace(MILL, text="Edda Wroll was born in Brenn.")
    assert told(verdict("Odd", look("wroll", elsewhere, TOWER))) == ("search_error", "gold_never_found", False)


def test_an_answer_made_up_after_a_failed_search_is_a_search_error_that_no_rule_is_sure_of():
    found = verdict("Lisbon", look("mill", MILL))
    assert told(found) == ("search_error", "gold_never_found", False)
    assert "'Lisbon' stands in nothing" in found.evidence


def test_a_namesake_is_no_gold_page_where_ids_are_known():
    namesake = replace(WROLL, document="wroll-2", id="w2")
    assert verdict("Odd", look("x", TOWER, namesake)).kind == "search_error"
    by_title = replace(QUESTION, documents=())
    assert verdict("Odd", look("x", TOWER, namesake), question=by_title).kind == "hallucination"


def test_an_opened_page_counts_as_found_by_its_title_and_its_sentences_are_evidence():
    question = replace(QUESTION, documents=())
    opened = Lookup("open", "Edda Wroll", Span("", 1), page=Page("Edda  wroll", ("She lived in Odd.",)))
    found = verdict("Odd", look("x", TOWER), opened, question=question)
    assert found.kind == "reasoning_error"


def test_an_answer_that_stands_in_nothing_found_is_a_hallucination():
    found = verdict("Lisbon", BOTH)
    assert told(found) == ("hallucination", "invented", True)
    assert "Lisbon" in found.evidence


def test_an_amount_may_have_been_reckoned_so_no_rule_is_sure_that_it_was_made_up():
    question = replace(QUESTION, text="How many years later?", answers=("12",))
    assert told(verdict("17", BOTH, question=question)) == ("hallucination", "invented", False)


def test_an_answer_in_the_passages_words_but_another_order_is_not_made_up():
    assert verdict("a Tarn town", BOTH).kind == "reasoning_error"


def test_what_a_tool_said_was_found():
    tool = Lookup("call", "count(x)", Span("", 1), text="The result is Olm.")
    assert verdict("Olm", BOTH, tool).kind == "reasoning_error"
    assert verdict("Olm", BOTH).kind == "hallucination"


def test_wrong_with_all_that_is_needed_is_a_reasoning_error_and_sure_only_where_one_answer_can_be_meant():
    assert told(verdict("Varrow Tower", BOTH)) == ("reasoning_error", "found_and_wrong", True)
    assert told(verdict("Edda Wroll", BOTH)) == ("reasoning_error", "found_and_wrong", False)


def test_gold_that_was_found_but_not_before_the_call_that_answered_is_said_so():
    found = verdict("Odd", look("x", TOWER, WROLL, MILL), read=(TOWER, MILL))
    assert (found.kind, found.rule) == ("reasoning_error", "found_and_not_read")
    assert "Edda Wroll" in found.evidence


@pytest.mark.parametrize(
    ("ours", "gold", "sure"),
    [
        ("Édda Wröll", "Edda Wroll", True),
        ("1969–70", "1969-70", True),
        ("March 3, 1907", "3 March 1907", True),
        ("two", "2", True),
        ("Edda Wroll", "Edda Maria Wroll", False),
        ("video games", "video game", False),
        ("yes, both are", "yes", False),
    ],
)
def test_the_same_in_other_words_is_a_matter_of_the_label(ours: str, gold: str, sure: bool):
    question = replace(QUESTION, answers=(gold,))
    assert told(verdict(ours, BOTH, question=question)) == ("label_ambiguity", "same_in_other_words", sure)


@pytest.mark.parametrize(
    ("ours", "gold"), [("yes", "no"), ("Brenn", "Wrenn"), ("1907", "1970"), ("it is not so", "no")]
)
def test_other_words_for_something_else_are_not(ours: str, gold: str):
    assert verdict(ours, BOTH, question=replace(QUESTION, answers=(gold,))).rule != "same_in_other_words"


def test_a_gold_answer_that_no_gold_page_bears_out_while_ours_stands_there_is_a_matter_of_the_label():
    question = replace(QUESTION, answers=("Olm Frisk",))
    assert told(verdict("Brenn", BOTH, question=question)) == ("label_ambiguity", "label_not_borne_out", True)
    assert verdict("Brenn", look("x", TOWER), question=question).kind == "search_error"
    assert verdict("Olm", BOTH, question=question).kind == "label_ambiguity", "one holds the other"
    assert verdict("Lisbon", BOTH, question=question).kind == "hallucination"


AGAIN = (Noted("repeat_told", "Search[varrow]"),) * 2


def test_a_loop_is_the_same_action_again_and_again_in_a_run_that_did_not_get_out():
    stuck = verdict("", look("varrow", TOWER), ended="step_limit", notes=AGAIN)
    assert told(stuck) == ("loop", "looped", True)
    assert "Search[varrow]" in stuck.evidence
    thrice = [look(query, TOWER) for query in ("varrow", "Varrow ", "varrow")]
    assert verdict("", *thrice, ended="step_limit").kind == "loop"
    assert verdict("", *thrice[:2], ended="repeated").kind == "loop"
    refused = (Noted("refused", "varrow"),) * 2
    assert verdict("", thrice[0], ended="unparsable", notes=refused).kind == "loop"
    others = (Noted("refused", "mill"), Noted("refused", "hobb"))
    assert verdict("", thrice[0], ended="unparsable", notes=others).kind == "search_error"


def test_a_single_repeat_one_that_brought_something_else_and_one_that_a_run_got_out_of_are_no_loops():
    assert verdict("", look("varrow", TOWER), look("varrow", TOWER), ended="step_limit").kind == "search_error"
    further = [look("varrow", replace(TOWER, text=f"Place {n}.")) for n in range(3)]
    assert verdict("", *further, ended="step_limit").kind == "search_error"
    assert verdict("Odd", look("varrow", TOWER, MILL), notes=AGAIN).kind == "search_error"
    assert verdict("Edda Wroll", BOTH, notes=AGAIN, ended="step_limit").kind == "reasoning_error"


def test_the_question_searched_twice_and_one_refused_follow_up_are_no_repeats():
    assert verdict("", *[look(ASKED, TOWER)] * 3, ended="step_limit").kind == "search_error"
    refused = (Noted("refused", ASKED),)
    assert verdict("", ended="unparsable", status="failed", notes=refused).rule == "no_answer"


def test_without_gold_pages_the_gold_answer_must_stand_somewhere_to_have_been_found():
    assert told(verdict("Odd", look("x", MILL), question=UNKNOWN)) == (
        "search_error",
        "gold_answer_never_found",
        False,
    )
    assert told(verdict("Lisbon", look("x", WROLL), question=UNKNOWN)) == ("hallucination", "invented", True)
    assert told(verdict("Lisbon", look("x", MILL), question=UNKNOWN)) == ("hallucination", "invented", False)
    assert told(verdict("Edda Wroll", look("x", WROLL), question=UNKNOWN)) == (
        "reasoning_error",
        "found_and_wrong",
        False,
    )


def test_wrong_by_heart_is_a_hallucination_that_no_rule_is_sure_of_and_no_answer_a_reasoning_error():
    assert told(verdict("Lisbon")) == ("hallucination", "wrong_from_memory", False)
    assert told(verdict("Varrow Tower")) == ("hallucination", "wrong_from_memory", False)
    assert told(verdict("", ended="unparsable")) == ("reasoning_error", "no_answer", True)


@pytest.mark.parametrize("text", ["Unknown", "I don't know."])
def test_an_answer_that_says_that_nothing_is_known_is_none(text: str):
    assert verdict(text, BOTH).rule == "no_answer"
    assert verdict(text, BOTH, question=replace(QUESTION, answers=(text,))).kind.endswith("positive")


@pytest.mark.parametrize("ended", ["model_error", "source_error", "deadline"])
def test_a_run_that_the_surroundings_stopped_says_nothing_of_the_method(ended: str):
    assert verdict("", look("x", MILL), ended=ended, status="failed").kind == "not_run"
    assert verdict("", look("x", MILL), ended="budget", status="failed").kind == "search_error"


def test_of_a_question_without_gold_answers_nothing_is_said():
    assert told(verdict("Brenn", BOTH, question=replace(QUESTION, answers=()))) == ("not_run", "no_gold_answer", True)


def test_of_alternative_sets_of_evidence_one_is_enough():
    claim = Question(
        "c",
        "Edda Wroll was born in Brenn.",
        ("SUPPORTS",),
        kind="claim",
        supporting=("Varrow Tower",),
        evidence=((("Varrow Tower", 0), ("Varrow Mill", 1)), (("Edda Wroll", 0),)),
    )
    assert told(verdict("supports", look("x", WROLL), question=claim)) == ("true_positive", "right_with_all_gold", True)
    assert told(verdict("REFUTES", look("x", WROLL), question=claim)) == ("reasoning_error", "found_and_wrong", True)
    lacking = verdict("REFUTES", look("x", MILL), question=claim)
    assert lacking.kind == "search_error"
    assert lacking.evidence.startswith("Never found: Varrow Tower.")


def test_an_answer_of_several_fields_is_right_when_every_field_and_value_stands_in_it():
    question = replace(QUESTION, answers=("Brenn, Odd",), structured={"Wroll": "Brenn", "Hobb": "Odd"})
    assert verdict("Wroll: Brenn; Hobb: Odd", BOTH, question=question).kind in ("true_positive", "false_positive")
    assert verdict("Wroll: Brenn", BOTH, question=question).kind not in ("true_positive", "false_positive")


def test_a_run_that_did_not_end_is_refused():
    for record in (None, Record("r", ASKED)):
        with pytest.raises(BadInput, match="did not end"):
            classify(Run(CELL, QUESTION, record))


@given(
    text=st.sampled_from(["", "Brenn", "brenn town", "yes", "17", "Lisbon", "unknown", "Edda"]),
    gold=st.lists(st.sampled_from(["Brenn", "no", "17", "Olm"]), max_size=2),
    found=st.lists(st.sampled_from([TOWER, WROLL, MILL]), max_size=3),
    ended=st.sampled_from(["final_answer", "repeated", "step_limit", "model_error", "budget"]),
    known=st.booleans(),
    kind=st.sampled_from(["question", "claim"]),
)
def test_every_run_that_ended_gets_one_kind_with_rule_and_evidence(text, gold, found, ended, known, kind):
    question = replace(QUESTION if known else UNKNOWN, answers=tuple(gold), kind=kind)
    lookups = (look("q", *found),) if found else ()
    result = verdict(text, *lookups, question=question, ended=ended)
    assert result.kind in MEANING
    assert result.rule
    assert result.evidence


# --- words ------------------------------------------------------------------------------------------------------


def test_words_stand_as_whole_words_and_hold_each_other_in_order():
    assert stands("Tarn", "on the Tarn.")
    assert not stands("Tar", "on the Tarn.")
    assert not stands("", "on the Tarn.")
    assert holds("Victor John Mature", "Victor Mature")
    assert not holds("Mature Victor", "Victor Mature")
    assert telling("a Tarn town", [MILL, WROLL]) == "Edda Wroll"
    assert telling("the", [WROLL]) == ""


# --- which runs -------------------------------------------------------------------------------------------------


def test_a_seed_draws_the_same_runs_and_a_larger_draw_holds_a_smaller_one(tmp_path: Path):
    questions = [Question(f"q{n}", "?", ("a",)) for n in range(30)]
    folder = begun(tmp_path, questions, ["x"])
    for n, question in enumerate(questions[:-1]):
        put(folder, CELL, question.id, Answer("a" if n % 2 else "b", "answered", "final_answer"))
    some = chosen(folder.runs(CELL), right=4, wrong=5, seed=1)
    more = chosen(folder.runs(CELL), right=8, wrong=50, seed=1)
    other = chosen(folder.runs(CELL), right=4, wrong=5, seed=2)
    ids = [[run.question.id for run in each] for each in (some.right, more.right, other.right)]
    assert ids[1][:4] == ids[0]
    assert ids[2] != ids[0]
    assert (len(some.wrong), len(more.wrong), some.all_right, some.all_wrong) == (5, 15, 14, 15)
    assert table(map(classify, more.right)) == {"true_positive": 8}
