"""From how a flow ended to its answer: one place, and no failure is ever text that could be scored."""

from __future__ import annotations

import pytest

from sleuth import errors as e
from sleuth.guards.outcome import answered, cited, concluded, failed, unanswered, why
from sleuth.transcript import Transcript
from sleuth.types import Answer, Citation, Hop, Note, Passage

QUOTE = Citation("p", "Brenn", "Brenn is a town.", verified=True)
OTHER = Citation("p", "Brenn", "It has a mill.", verified=True)


def transcript():
    t = Transcript("head")
    t.wrote("Follow up: where?\n")
    t.observed("Intermediate answer: Brenn\n")
    t.hops += [Hop("where?", citation=QUOTE), Hop("which?"), Hop("where again?", citation=QUOTE)]
    return t


KINDS = [
    (e.BadReply, "unparsable"),
    (e.BudgetExceeded, "budget"),
    (e.DeadlineExceeded, "deadline"),
    (e.Cancelled, "cancelled"),
    (e.SourceError, "source_error"),
    (e.SourceTimeout, "source_error"),
    (e.SourceRateLimited, "source_error"),
    (e.ToolError, "source_error"),
    (e.LibraryFault, "source_error"),
    (e.ModelError, "model_error"),
    (e.ModelTimeout, "model_error"),
    (e.ModelRateLimited, "model_error"),
    (e.ContextTooLong, "model_error"),
    (e.DownloadError, "model_error"),
]


def raising(error):
    yield Note("n")
    raise error


def driven(flow):
    try:
        while True:
            next(flow)
    except StopIteration as end:
        return end.value


@pytest.mark.parametrize(("kind", "ended"), KINDS)
def test_each_error_has_its_reason_and_becomes_a_failed_answer_that_keeps_what_was_found(kind, ended):
    t = transcript()
    answer = driven(concluded(t, raising(kind("It went wrong.", hint="Try again."))))
    assert why(kind("x")) == ended
    assert (answer.text, answer.status, answer.ended) == ("", "failed", ended)
    assert answer.note == "It went wrong. Try again."
    assert answer.hops == tuple(t.hops)
    assert answer.transcript == "Follow up: where?\nIntermediate answer: Brenn\n"
    assert answer.citations == (QUOTE,)


@pytest.mark.parametrize("kind", [e.WrongUse, e.NoLibrary, e.UnknownName, e.BadInput, e.CassetteMiss, ValueError])
def test_wrong_use_a_replays_miss_and_bugs_pass_through(kind):
    with pytest.raises(kind):
        driven(concluded(transcript(), raising(kind("mend it"))))


def test_the_flows_own_answer_is_given_as_it_is():
    def flow():
        yield Note("n")
        return Answer("x", "answered", "confident")

    assert driven(concluded(transcript(), flow())) == Answer("x", "answered", "confident")


def test_a_failure_without_a_transcript_is_an_answer_too():
    assert failed(e.ModelTimeout("slow")) == Answer("", "failed", "model_error", note="slow")


def test_an_answer_carries_its_proof():
    read = (Passage("p", "d", "Brenn", "Brenn is a town. It has a mill."),)
    answer = answered(transcript(), "Brenn", "confident", read=read, final=(OTHER,), confidence=0.5, note="n")
    assert (answer.text, answer.status, answer.ended) == ("Brenn", "answered", "confident")
    assert (answer.read, answer.confidence, answer.note) == (read, 0.5, "n")
    assert answer.citations == (QUOTE, OTHER)
    assert len(answer.hops) == 3


def test_an_empty_answer_is_an_abstention_that_says_so():
    answer = answered(transcript(), "", "final_answer", confidence=0.9)
    assert (answer.text, answer.status, answer.confidence) == ("", "abstained", None)
    assert "empty" in answer.note
    assert answered(transcript(), "", note="why").note == "why"


def test_no_answer_keeps_hops_and_transcript():
    answer = unanswered(transcript(), "follow_up_limit", note="four")
    assert (answer.text, answer.status, answer.ended, answer.note) == ("", "abstained", "follow_up_limit", "four")
    assert len(answer.hops) == 3
    assert answer.citations == (QUOTE,)


def test_each_quote_is_cited_once_in_the_order_found():
    assert cited(transcript(), (OTHER, QUOTE)) == (QUOTE, OTHER)
    assert cited(Transcript("h")) == ()
