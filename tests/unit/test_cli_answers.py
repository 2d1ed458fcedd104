"""An answer's exit status and how it is shown."""

from typing import Any

import pytest

from sleuth.cli.answers import cost, exit_status, put_answer
from sleuth.types import Answer, Citation, Status, Usage, Why


@pytest.mark.parametrize(
    ("status", "ended", "code"),
    [
        ("answered", "final_answer", 0),
        ("answered", "budget", 0),
        ("abstained", "follow_up_limit", 1),
        ("failed", "unparsable", 1),
        ("failed", "budget", 1),
        ("failed", "deadline", 1),
        ("failed", "model_error", 3),
        ("failed", "source_error", 3),
        ("abstained", "source_error", 3),
    ],
)
def test_exit_status(status: Status, ended: Why, code: int) -> None:
    assert exit_status(Answer("x" if status == "answered" else "", status, ended)) == code


def test_an_answer_is_shown_with_its_citations_and_why_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    citations = (Citation("1", "The Tower", "lit in\n1901", verified=True), Citation("2", "[b]Other[/b]", "x"))
    put_answer(Answer("1901", "answered", "follow_up_limit", citations=citations, note="four were asked"), trace=None)
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "1901"
    assert out[1] == '  [1] The Tower: "lit in 1901"'
    assert out[2] == '  [2] [b]Other[/b]: "x"  (not verified)'
    assert out[3] == "status   answered, follow up limit: four were asked"


@pytest.mark.parametrize(
    ("by", "shown"),
    [("logprob", " (log-probability)"), ("votes", " (votes)"), ("asked", " (as the model says)"), ("", "")],
)
def test_confidence_is_shown_with_where_it_is_from(capsys: pytest.CaptureFixture[str], by: Any, shown: str) -> None:
    put_answer(Answer("1901", "answered", "final_answer", confidence=0.834, confidence_by=by), trace=None)
    assert f"\nconfidence 0.83{shown}\n" in capsys.readouterr().out


def test_no_answer_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    put_answer(Answer("", "abstained", "repeated"), trace=None)
    assert capsys.readouterr().out.startswith("No answer.\nstatus   abstained, repeated\n")


def test_cost_counts_everything() -> None:
    usage = Usage(calls=1, searches=2, read=1200, cached=30, written=5, usd=0.01, seconds=1.25)
    assert cost(usage) == "1 call, 2 searches, read 1,200 new and 30 cached tokens, wrote 5, $0.0100, 1.2 s"
    assert cost(usage, 3.0).endswith("3.0 s")
