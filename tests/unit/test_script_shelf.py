"""`Script` and `Shelf`: the model and the source of tests."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import ModelError, ModelTimeout, SourceTimeout
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.types import Completion, Generate, Message, Open, Page, Passage, Search, Similar, Usage


def told(kind: str, text: str, **data: Any) -> None: ...


def reply(script: Script, request: Generate | None = None, **how: Any) -> Completion:
    request = request or Generate((Message("user", "one two"),), **how)
    return anyio.run(lambda: script.generate(request, report=told))


def found(shelf: Shelf, query: str, **how: Any) -> tuple[Passage, ...]:
    return anyio.run(lambda: shelf.search(Search(query, **how), report=told))


def test_replies_come_in_order_and_requests_are_kept() -> None:
    script = Script(["first", "second"])
    assert [reply(script).text, reply(script, stop=("x",)).text] == ["first", "second"]
    assert [request.stop for request in script.requests] == [(), ("x",)]


def test_a_script_that_is_used_up_is_a_model_error() -> None:
    script = Script(["only"])
    reply(script)
    with pytest.raises(ModelError, match="1 replies"):
        reply(script)


def test_a_reply_may_be_a_text_a_completion_an_error_or_a_function() -> None:
    given_usage = Completion("b", "limit", usage=Usage(read=7), logprob=-1.0)
    error = ModelTimeout("slow")
    script = Script(["a", given_usage, error, lambda request: request.messages[0].content])
    assert reply(script).text == "a"
    second = reply(script)
    assert (second.finish, second.usage, second.logprob, second.model) == ("limit", Usage(read=7), -1.0, "script")
    with pytest.raises(ModelTimeout) as raised:
        reply(script)
    assert raised.value is not error
    assert reply(script).text == "one two"


def test_a_whole_script_may_be_a_function() -> None:
    script = Script(lambda request: f"{request.max_tokens}")
    assert [reply(script, max_tokens=n).text for n in (5, 6, 7)] == ["5", "6", "7"]


@pytest.mark.parametrize(
    ("stop", "text", "finish", "stopped_by"),
    [
        ((), "a\nb Q: c", "end", None),
        (("Q:", "\n"), "a", "label", "\n"),
        (("Q:",), "a\nb ", "label", "Q:"),
        (("zzz",), "a\nb Q: c", "end", None),
    ],
)
def test_a_text_is_cut_at_the_first_stop(stop: tuple[str, ...], text: str, finish: str, stopped_by: str | None) -> None:
    completion = reply(Script(["a\nb Q: c"]), stop=stop)
    assert (completion.text, completion.finish, completion.stopped_by) == (text, finish, stopped_by)


def test_a_text_is_cut_at_max_tokens_words() -> None:
    completion = reply(Script(["one two  three four"]), max_tokens=3, stop=("four",))
    assert (completion.text, completion.finish) == ("one two  three ", "label")
    completion = reply(Script(["one two  three four"]), max_tokens=2, stop=("four",))
    assert (completion.text, completion.finish) == ("one two", "limit")


@given(st.text(), st.lists(st.text(min_size=1, max_size=3), max_size=3), st.integers(1, 5))
def test_a_cut_reply_holds_no_stop_and_no_more_than_was_asked_for(text: str, stop: list[str], most: int) -> None:
    completion = reply(Script([text]), stop=tuple(stop), max_tokens=most)
    assert text.startswith(completion.text)
    assert not any(mark in completion.text for mark in stop)
    assert completion.usage.written <= most
    assert (completion.stopped_by in stop) == (completion.finish == "label")


def test_words_are_tokens_and_have_a_price() -> None:
    completion = reply(Script(["a b c"], usd=0.5))
    assert completion.usage == Usage(calls=1, read=2, written=3, usd=2.5)


def test_delays_are_one_for_all_or_one_for_each_and_pieces_spread_over_them() -> None:
    pieces: list[tuple[str, float]] = []

    async def main() -> float:
        script = Script(["a b", "c d"], delay=[0.0, 0.06])
        request = Generate((Message("user", "q"),))
        await script.generate(request, report=told)
        begun = anyio.current_time()
        await script.generate(
            request, report=told, pieces=lambda text: pieces.append((text, anyio.current_time() - begun))
        )
        return anyio.current_time() - begun

    assert anyio.run(main) >= 0.055
    assert [text for text, _ in pieces] == ["c ", "d"]
    assert pieces[1][1] - pieces[0][1] > 0.02


def test_a_shelf_answers_known_queries_without_regard_to_case_and_outer_spaces() -> None:
    passages = [Passage("p1", "d", "T", "text one"), Passage("p2", "d", "T", "text two")]
    shelf = Shelf(answers={"Who?": "Someone.", "None?": "", "Late?": SourceTimeout("late"), "Two?": passages})
    assert [passage.text for passage in found(shelf, " who? ")] == ["Someone."]
    assert found(shelf, "none?") == ()
    assert found(shelf, "two?", k=1) == (passages[0],)
    assert found(shelf, "two?", exclude=("p1",)) == (passages[1],)
    with pytest.raises(SourceTimeout):
        found(shelf, "late?")
    assert len(shelf.requests) == 5


def test_a_shelf_ranks_its_pages_by_the_words_they_share_with_any_other_query() -> None:
    shelf = Shelf({"Tower": "A high tower in Paris.", "Bridge": "A bridge in Paris.", "Tree": "An oak."})
    best = found(shelf, "high tower Paris")
    assert [(passage.title, passage.score, passage.span) for passage in best] == [
        ("Tower", 3.0, (0, 22)),
        ("Bridge", 1.0, (0, 18)),
    ]
    assert found(shelf, "submarine") == ()


def test_a_shelf_opens_pages_or_names_the_nearest() -> None:
    shelf = Shelf({"Eiffel Tower": "It is high. Is it old? Yes!", "Oak": "A tree."})
    page = anyio.run(lambda: shelf.open(Open("eiffel tower"), report=told))
    assert isinstance(page, Page)
    assert (page.title, page.sentences) == ("Eiffel Tower", ("It is high.", "Is it old?", "Yes!"))
    assert page.passages == (Passage("Eiffel Tower#0", "Eiffel Tower", "Eiffel Tower", shelf_text(page), 1.0, (0, 27)),)
    near = anyio.run(lambda: shelf.open(Open("Eiffel Towel"), report=told))
    assert near == Similar(("Eiffel Tower", "Oak"))


def shelf_text(page: Page) -> str:
    return " ".join(page.sentences)


def test_both_may_be_closed_twice() -> None:
    async def main() -> list[None]:
        return [await port.aclose() for port in (Script([]), Shelf()) for _ in range(2)]

    assert anyio.run(main) == [None] * 4


def test_a_text_that_answers_a_query_has_no_title_of_its_own() -> None:
    assert found(Shelf(answers={"When?": "1889"}), "When?") == (Passage("When?#0", "When?", "", "1889", 1.0, (0, 4)),)
