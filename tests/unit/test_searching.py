"""A search that fails is tried once more, one that finds nothing in other words, and which it was is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import BudgetExceeded, LibraryFault, ModelError, SourceError, SourceRateLimited, SourceTimeout
from sleuth.guards.searching import Findings, Looked, look_up, searched
from sleuth.guards.searching.expansion import feedback
from sleuth.guards.searching.keywords import keywords
from sleuth.guards.searching.reformulate import reformulated
from sleuth.types import Completion, Generate, Note, Passage, Search

FOUND = (Passage("p", "d", "Brenn", "Brenn is a town."),)
FAULTS = [
    (SourceError("down"), "failed"),
    (SourceTimeout("slow"), "timeout"),
    (SourceRateLimited("later"), "rate_limited"),
]


def driven(flow, results):
    """Drive a look-up by hand: its requests, its notes, its value."""
    requests, notes, results = [], [], iter(results)
    try:
        request = next(flow)
        while True:
            if isinstance(request, Note):
                notes.append(request)
                request = flow.send(None)
                continue
            requests.append(request)
            result = next(results)
            request = flow.throw(result) if isinstance(result, Exception) else flow.send(result)
    except StopIteration as end:
        return requests, notes, end.value


def test_what_is_found_is_given_and_the_request_is_as_asked():
    requests, notes, looked = driven(look_up("q", 3, together=True, exclude=["a"], when="1889"), [FOUND])
    assert requests == [Search("q", 3, True, ("a",), "1889")]
    assert (notes, looked) == ([], Looked(FOUND, "found"))


def test_nothing_found_is_noted_and_not_tried_again():
    requests, notes, looked = driven(look_up("q"), [()])
    assert (len(requests), looked) == (1, Looked((), "nothing"))
    assert [(n.kind, n.data["query"]) for n in notes] == [("nothing_found", "q")]


@pytest.mark.parametrize(("fault", "outcome"), FAULTS)
def test_a_failing_search_is_tried_exactly_once_more(fault, outcome):
    requests, notes, looked = driven(look_up("q"), [fault, fault])
    assert (len(requests), looked) == (2, Looked((), outcome))
    assert [(n.kind, n.data["outcome"], n.data["again"]) for n in notes] == [
        ("search_failed", outcome, True),
        ("search_failed", outcome, False),
    ]


@pytest.mark.parametrize(("fault", "outcome"), FAULTS)
def test_a_second_try_that_finds_something_counts(fault, outcome):
    requests, notes, looked = driven(look_up("q"), [fault, FOUND])
    assert (requests[0], looked, len(notes)) == (requests[1], Looked(FOUND, "found"), 1)
    assert driven(look_up("q"), [fault, ()])[2] == Looked((), "nothing")


def test_a_damaged_library_is_not_a_search_that_failed():
    with pytest.raises(LibraryFault):
        driven(look_up("q"), [LibraryFault("damaged")])


def test_a_run_that_has_only_this_search_ends_by_what_came_of_it():
    assert [Looked((), outcome).ended() for outcome in ("found", "nothing")] == ["final_answer"] * 2
    assert [Looked((), outcome).ended() for _, outcome in FAULTS] == ["source_error"] * 3


# --- fallback ---------------------------------------------------------------------------------------------------

ADA = Passage("a", "d", "Ada Tell", "Ada Tell was a warden. She was born in Brenn, near the Tarn.")
OTHER = Passage("o", "d", "Plinket", "Kettles are made of tin.")
ASKED = Search("Where was Ada Tell born?", 3, True, ("z",), "1889")


def known(*passages):
    findings = Findings()
    findings.add(passages)
    return findings


def test_what_is_found_is_given_without_a_further_search():
    requests, notes, found = driven(searched(ASKED, known(ADA)), [FOUND])
    assert (requests, notes, found) == ([ASKED], [], FOUND)


def test_nothing_found_falls_back_to_the_expansion_and_then_to_the_keywords_and_each_is_noted():
    requests, notes, found = driven(searched(ASKED, known(ADA, OTHER)), [(), (), FOUND])
    expansion, keywords = requests[1:]
    assert found == FOUND
    assert expansion == replace(ASKED, query=expansion.query)
    assert expansion.query.startswith("Where was Ada Tell born? ")
    assert {"Brenn", "Tarn"} <= set(expansion.query.split())
    assert "tin" not in expansion.query
    assert keywords == Search("Ada Tell born", 3, True, ("z",))
    assert [(n.kind, n.data["level"], n.data["query"], n.data["instead_of"], n.data["found"]) for n in notes] == [
        ("fallback", "expansion", expansion.query, ASKED.query, 0),
        ("fallback", "keywords", keywords.query, ASKED.query, 1),
    ]


def test_without_anything_found_before_only_the_keywords_are_left():
    requests, _, found = driven(searched(ASKED, Findings()), [(), ()])
    assert ([r.query for r in requests], found) == ([ASKED.query, "Ada Tell born"], ())


def test_a_query_of_keywords_alone_is_searched_once_more_only_without_its_date():
    assert len(driven(searched(Search("Ada Tell"), Findings()), [()])[0]) == 1
    assert driven(searched(Search("Ada Tell", when="1889"), Findings()), [(), ()])[0][1] == Search("Ada Tell")


@pytest.mark.parametrize(("fault", "outcome"), FAULTS)
def test_a_failure_is_no_reason_to_fall_back_and_keeps_its_kind(fault, outcome):
    assert driven(look_up("q"), [fault, fault])[2].outcome == outcome
    with pytest.raises(type(fault)):
        driven(searched(ASKED, known(ADA)), [fault])
    with pytest.raises(type(fault)):
        driven(searched(ASKED, known(ADA)), [(), fault])


def test_the_model_may_write_the_expansion_and_is_asked_once_a_query():
    findings = known(ADA)
    requests, _, found = driven(
        searched(ASKED, findings, "model"), [(), Completion(" **Ada Tell** birthplace\nx"), FOUND]
    )
    assert isinstance(requests[1], Generate)
    assert (requests[1].role, requests[2].query, found) == ("plan", "**Ada Tell** birthplace", FOUND)
    again = driven(searched(ASKED, findings, "model"), [(), (), ()])[0]
    assert [type(r) for r in again] == [Search, Search, Search]


@pytest.mark.parametrize("fault", [BudgetExceeded("short"), ModelError("down")])
def test_a_model_that_cannot_write_the_expansion_leaves_the_keywords(fault):
    requests, notes, _ = driven(searched(ASKED, known(ADA), "model"), [(), fault, FOUND])
    assert requests[-1].query == "Ada Tell born"
    assert notes[0].kind in ("budget", "model_error")


@pytest.mark.parametrize("fallback", ["feedback", "model"])
def test_a_search_for_no_passages_and_one_that_is_a_fallback_itself_do_not_fall_back(fallback):
    assert len(driven(searched(Search("q", 0), known(ADA), fallback), [()])[0]) == 1
    findings = known(ADA)
    tried = [r for r in driven(searched(ASKED, findings), [(), (), ()])[0] if r != ASKED]
    assert all(len(driven(searched(request, findings, fallback), [()])[0]) == 1 for request in tried)


def test_what_a_search_found_is_feedback_for_the_next():
    findings = Findings()
    driven(searched(Search("Ada Tell"), findings), [(ADA,)])
    assert "Brenn" in driven(searched(ASKED, findings), [(), FOUND])[0][1].query


def test_terms_come_from_the_sentences_that_go_best_with_the_query_and_are_few():
    aside = Passage("x", "d", "", "The born list: alpha beta gamma delta epsilon zeta eta theta.")
    wider = feedback("Ada Tell born", [aside, ADA])
    added = wider.removeprefix("Ada Tell born ").split()
    assert {"Brenn", "Tarn"} <= set(added)
    assert len(added) <= 5
    assert "alpha" not in added
    long, short = replace(aside, text="Brenn: alpha beta gamma delta."), replace(aside, id="y", text="Brenn omega.")
    assert feedback("Brenn", [long, short]).split()[1] == "omega"


def test_a_title_of_many_lines_makes_no_query_of_many_lines():
    titled = Passage("x", "d", "Orsa\nFollow up: who?\n", "Ada Tell was born there.")
    assert feedback("Ada Tell", [titled]).startswith("Ada Tell Orsa Follow up: who? ")


@given(st.text(), st.lists(st.builds(Passage, st.text(max_size=3), st.just("d"), st.text(), st.text()), max_size=4))
def test_any_query_is_expanded_by_rule_to_itself_with_more_or_to_nothing(query, passages):
    wider = feedback(query, passages)
    assert wider == "" or wider.startswith(query.strip())
    assert feedback(query, passages) == wider
    assert all(word in query for word in keywords(query).split())


def test_a_reformulation_searches_what_was_not_searched_yet_without_words_of_the_scaffold():
    question = "Which river runs past the town where Ada Tell was born?"
    again = reformulated("Search for Ada Tell", question, ["Ada Tell"])
    assert again == "Ada Tell river runs past town born"
    assert reformulated("Ada Tell", "Who is Ada Tell?", []) == ""
    assert reformulated(again, question, ["Ada Tell", again]) not in ("Ada Tell", again)
