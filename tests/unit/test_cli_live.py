"""What a person sees while a run goes on."""

import io
from typing import Any

from rich.console import Console

from sleuth.cli.live import Live
from sleuth.events import Attempt, Body, Closed, Event, Noted, Span, Started
from sleuth.types import Answer, Generate, Search


def seen(*bodies: Body, terminal: bool = True, quiet: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, color_system=None, width=100, markup=False, soft_wrap=True)
    with Live(console, quiet=quiet) as live:
        for seq, body in enumerate(bodies):
            live(Event("run", seq, 0.0, Span("", seq), body))
    return out.getvalue()


def hop(**data: Any) -> Noted:
    return Noted("hop", "When was the tower completed?", data)


FOUND = hop(
    query="tower completed when",
    answer="The tower was completed in 1889.",
    outcome="found",
    passages=[{"id": "1", "title": "The Tower", "why": "covers: tower, completed"}],
)


def test_a_hop_shows_question_query_passage_and_answer() -> None:
    text = seen(FOUND)
    for part in (
        "1. When was the tower completed?",
        "tower completed when",
        "The Tower",
        "covers: tower, completed",
        "in 1889.",
    ):
        assert part in text


def test_a_query_equal_to_the_question_is_not_repeated() -> None:
    assert "query" not in seen(hop(query="When was the tower completed?", answer="1889"))


def test_a_hop_that_found_nothing_says_so() -> None:
    assert "nothing found" in seen(hop(outcome="nothing"))
    assert "the source said: later" in seen(hop(outcome="rate_limited"))


def test_passages_may_be_plain_titles() -> None:
    assert "The Tower" in seen(hop(passages=["The Tower"]))


def test_thoughts_and_unknown_kinds_are_shown_plainly() -> None:
    text = seen(Noted("thought", "I should look."), Noted("some_new_kind", "whatever"))
    assert "thought: I should look." in text
    assert "some new kind: whatever" in text


def test_retries_are_shown_and_a_download_is_announced() -> None:
    text = seen(Attempt("retry", "server said 503"), Attempt("download", "Fetching the model x (98 MB)"))
    assert "retry: server said 503" in text
    assert "Fetching the model x (98 MB)" in text


def test_without_a_terminal_hops_are_plain_lines() -> None:
    lines = seen(FOUND, Started(Generate(()), "d", 0), Attempt("retry", "503"), terminal=False).splitlines()
    assert lines[0] == "1. When was the tower completed?"
    assert lines[-1] == "  retry: 503"
    assert not any("\x1b" in line or "planning" in line for line in lines)


def test_without_a_terminal_every_tenth_of_a_download_is_told() -> None:
    parts = [Attempt("download", f"{n} of 98 MB", {"done": n, "total": 98, "what": "part 1"}) for n in range(99)]
    lines = seen(Attempt("download", "Fetching"), *parts, terminal=False).splitlines()
    assert lines[0] == "  download: Fetching"
    assert lines[-1] == "  download: 98 of 98 MB"
    assert len(lines) == 11


def test_quiet_is_silent() -> None:
    bodies = (FOUND, Attempt("download", "Fetching"), Closed(Answer("x", "answered", "final_answer")))
    assert seen(*bodies, terminal=False, quiet=True) == ""
    assert "tower" not in seen(*bodies, quiet=True)


def test_passages_cannot_steer_the_terminal_or_write_markup() -> None:
    text = seen(hop(answer="\x1b[2J[red]x[/red]"), Started(Search("[red] \x1b]0;t\x07q"), "d", 0))
    assert "[red]x[/red]" in text
    assert "\x1b[2J" not in text
    assert "\x1b]0" not in text
