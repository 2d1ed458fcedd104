"""A search that fails is tried once more, one that finds nothing is not, and which it was is said."""

from __future__ import annotations

import pytest

from sleuth.errors import LibraryFault, SourceError, SourceRateLimited, SourceTimeout
from sleuth.guards.searching import Looked, look_up
from sleuth.types import Note, Passage, Search

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
