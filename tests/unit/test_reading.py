"""The short-answer call and the strategies made of little else: standard, retrieve-then-read, link-then-read."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.play import play

from sleuth.engine import Engine
from sleuth.errors import ModelError, SourceError
from sleuth.guards.guarded import PAPER
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.strategies.link_then_read import link_then_read
from sleuth.strategies.reader import clipped, parse
from sleuth.strategies.retrieve_then_read import retrieve_then_read
from sleuth.strategies.standard import standard
from sleuth.types import Completion, Guards, Passage

QUESTION = "Which river runs past the town where Ada Orl was born?"
ORL = Passage("p1", "d1", "Ada Orl", "Ada Orl was born in Brenn.", why="title in question")
BRENN = Passage("p2", "d2", "Brenn", "Brenn is a town on the river Tarn.", why="named in: Ada Orl")
OTHER = Passage("p3", "d3", "Orl", "Orl is a village on the river Silt.")
LAST = Passage("p4", "d4", "Silt", "The Silt is a river.")


def sure(text):
    return Completion(text, "label", "\n", logprob=-0.1)


def unsure(text):
    return Completion(text, "label", "\n", logprob=-2.5)


def test_standard_makes_one_call_and_looks_nothing_up():
    run = play(standard(QUESTION), [" the Tarn"], {})
    assert (run.answer.text, len(run.requests), run.looked) == ("the Tarn", 1, [])
    assert run.requests[0].closing


def test_retrieve_then_read_searches_once_and_reads_what_comes_back():
    run = play(retrieve_then_read(QUESTION, k=2), [sure(" Tarn")], {QUESTION: [ORL, BRENN]})
    assert (run.answer.text, run.queries) == ("Tarn", [QUESTION])
    assert run.answer.read == (ORL, BRENN)
    assert run.answer.citations[0].quote == BRENN.text
    assert run.answer.citations[0].verified


def test_an_answer_that_stands_in_no_passage_is_said_to_be_ungrounded():
    run = play(retrieve_then_read(QUESTION), ["Danube"], {QUESTION: [ORL, BRENN]})
    assert run.answer.citations == ()
    assert "not found in the passages" in run.answer.note


def test_nothing_found_is_an_abstention_and_a_dead_source_is_not():
    nothing = play(retrieve_then_read(QUESTION), [], {})
    assert (nothing.answer.status, nothing.answer.text) == ("abstained", "")
    dead = play(retrieve_then_read(QUESTION), [], {QUESTION: SourceError("down")})
    assert (dead.answer.ended, dead.answer.text) == ("source_error", "")


def test_a_failing_model_is_never_an_answer():
    run = play(retrieve_then_read(QUESTION), [ModelError("The server is down.")], {QUESTION: [ORL]})
    assert (run.answer.text, run.answer.status, run.answer.ended) == ("", "failed", "model_error")
    assert run.answer.hops[0].evidence == (ORL,)


def test_link_then_read_reads_the_best_pair_and_stops_when_sure():
    run = play(link_then_read(QUESTION), [sure("Tarn")], {QUESTION: [ORL, BRENN, OTHER, LAST]})
    assert (run.answer.text, run.answer.ended, len(run.requests)) == ("Tarn", "confident", 1)
    assert run.looked[0].together
    assert run.answer.read == (ORL, BRENN)
    assert [p["why"] for p in run.notes("hop")[0].data["passages"]][:2] == ["title in question", "named in: Ada Orl"]


def test_link_then_read_reads_the_next_pair_when_unsure_and_keeps_the_surer_answer():
    run = play(link_then_read(QUESTION), [unsure("Silt"), sure("Tarn")], {QUESTION: [OTHER, LAST, ORL, BRENN]})
    assert (run.answer.text, len(run.requests), len(run.notes("unsure"))) == ("Tarn", 2, 1)
    kept = play(
        link_then_read(QUESTION),
        [Completion("Tarn", logprob=-0.9), unsure("Silt")],
        {QUESTION: [ORL, BRENN, OTHER, LAST]},
    )
    assert (kept.answer.text, kept.answer.ended) == ("Tarn", "final_answer")


def test_a_further_reading_that_holds_no_answer_leaves_the_first_one():
    run = play(link_then_read(QUESTION), [unsure("Tarn"), "\n"], {QUESTION: [ORL, BRENN, OTHER, LAST]})
    assert (run.answer.text, run.answer.status) == ("Tarn", "answered")


def test_a_model_without_log_probabilities_is_read_once():
    run = play(link_then_read(QUESTION), ["Tarn"], {QUESTION: [ORL, BRENN, OTHER, LAST]})
    assert (run.answer.text, run.answer.confidence, len(run.requests)) == ("Tarn", None, 1)


def test_an_empty_short_answer_is_unparsable():
    assert play(standard(QUESTION), ["\n"], {}).answer.ended == "unparsable"


@given(st.text())
def test_the_answer_is_one_line_without_its_label(reply):
    assert "\n" not in parse(reply)


def test_answers_lose_labels_quotes_and_the_final_stop_but_not_an_abbreviation():
    assert parse(' Answer: "Benjamin Harrison".') == "Benjamin Harrison"
    assert parse("Martin Luther King Jr.") == "Martin Luther King Jr."
    assert parse("Question: x") == "Question: x"


@given(st.text())
def test_a_clipped_passage_begins_as_the_passage_does(text):
    assert " ".join(text.split()).startswith(clipped(text)[:50].rstrip()) or not text.strip()


# --- guards -------------------------------------------------------------------------------------------------------

SPELLED = "Which river runs past the birthplace of Ada Orl?"
STRATEGIES = pytest.mark.parametrize("strategy", [retrieve_then_read, link_then_read])


class Deaf(Shelf):
    """Finds nothing for a whole question, and the page for its keywords."""

    async def search(self, request, *, report):
        self.requests.append(request)
        return () if request.query == SPELLED else (ORL,)


def asked(flow):
    shelf, script = Deaf(), Script([sure("Brenn")])
    return anyio.run(Engine(script, shelf).run, flow), shelf


@STRATEGIES
def test_a_search_that_finds_nothing_falls_back_unless_it_is_told_not_to(strategy):
    without, _ = asked(strategy(SPELLED, guards=PAPER))
    assert (without.status, without.text) == ("abstained", "")
    answer, shelf = asked(strategy(SPELLED))
    assert (answer.text, answer.read) == ("Brenn", (ORL,))
    assert len(shelf.requests) >= 2


@STRATEGIES
def test_an_answer_that_no_passage_says_is_marked_or_withheld_as_the_user_chose(strategy):
    shelf = {QUESTION: [ORL, BRENN]}
    assert play(strategy(QUESTION), [sure("Danube")], shelf).answer.grounded is False
    assert play(strategy(QUESTION), [sure("Tarn")], shelf).answer.grounded is True
    assert play(strategy(QUESTION, guards=PAPER), [sure("Danube")], shelf).answer.grounded is None
    withheld = play(strategy(QUESTION, guards=Guards(citations="abstain")), [sure("Danube")], shelf).answer
    assert (withheld.text, withheld.status, withheld.ended) == ("", "abstained", "ungrounded")
