"""A model whose calls are kept: the same call is not made twice, by nobody, and comes back exactly."""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.runs import in_loop

from sleuth.errors import ModelTimeout
from sleuth.models.cache import Cached, _Calls
from sleuth.types import Completion, Generate, Message, ToolCall, Usage

ASKED = Generate((Message("user", "Who?"),), stop=("\n",), temperature=0.7, sample=2)
WHOLE = Completion(
    " Eiffel\u2014\ud800",
    tool_calls=(ToolCall("search", '{"query": "x"}', "c1"),),
    thinking="Hm.",
    finish="stop",
    usage=Usage(calls=1, read=7, cached=3, written=2, usd=0.0125),
    logprob=-0.25,
    model="stub",
    stopped_by="\n",
)


class Model:
    """Gives its replies one after the other; an error is raised."""

    name = "model"

    def __init__(self, *replies: Completion | Exception, takes: float = 0.0) -> None:
        self.replies, self.takes, self.asked = list(replies), takes, 0

    async def generate(self, request: Generate, *, report: Any, pieces: Any = None) -> Completion:
        self.asked += 1
        await anyio.sleep(self.takes)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def count(self, messages: Any) -> int:
        return 5

    def price(self, read: int, written: int) -> float:
        return read + written

    async def aclose(self) -> None:
        self.asked = -1


class Heard:
    """What is reported."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, dict[str, Any]]] = []

    def __call__(self, kind: str, text: str, **data: Any) -> None:
        self.told.append((kind, text, data))

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _, _ in self.told]


def asked(model: Cached, request: Generate = ASKED, heard: Heard | None = None, pieces: Any = None) -> Completion:
    return in_loop(model.generate(request, report=heard or Heard(), pieces=pieces))


def test_a_call_comes_back_exactly_also_in_another_process_and_tells_what_it_took(tmp_path: Path) -> None:
    first, heard = Heard(), Heard()
    assert asked(Cached(Model(WHOLE, takes=0.05), tmp_path), heard=first) == WHOLE
    never = Model()
    assert asked(Cached(never, tmp_path), heard=heard) == WHOLE
    assert (never.asked, first.kinds, heard.kinds) == (0, [], ["cache"])
    assert 0.04 < heard.told[0][2]["seconds"] < 5


def test_pieces_come_in_one_piece_from_the_cache(tmp_path: Path) -> None:
    asked(Cached(Model(WHOLE), tmp_path / "kept.jsonl"))
    pieces: list[str] = []
    asked(Cached(Model(), tmp_path / "kept.jsonl"), pieces=pieces.append)
    assert pieces == [WHOLE.text]


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, sample=3),
        replace(ASKED, temperature=0.0),
        replace(ASKED, stop=()),
        replace(ASKED, max_tokens=7),
        replace(ASKED, messages=(Message("system", "Who?"),)),
    ],
)
def test_another_draw_temperature_stop_or_prompt_is_another_call(tmp_path: Path, other: Generate) -> None:
    model = Model(WHOLE, Completion("other"))
    cached = Cached(model, tmp_path)
    assert (asked(cached).text, asked(cached, other).text, model.asked) == (WHOLE.text, "other", 2)


def test_the_call_that_closes_is_the_same_call(tmp_path: Path) -> None:
    model = Model(WHOLE)
    cached = Cached(model, tmp_path)
    asked(cached)
    assert asked(cached, replace(ASKED, closing=True)) == WHOLE
    assert model.asked == 1


def test_another_model_does_not_get_its_calls(tmp_path: Path) -> None:
    asked(Cached(Model(WHOLE), tmp_path))
    other = Model(Completion("mine"))
    other.name = "other"
    assert asked(Cached(other, tmp_path)).text == "mine"


def test_a_call_that_fails_is_made_again(tmp_path: Path) -> None:
    cached = Cached(Model(ModelTimeout("late"), WHOLE), tmp_path)
    with pytest.raises(ModelTimeout):
        asked(cached)
    assert asked(cached) == WHOLE


def test_a_call_that_is_cancelled_is_not_kept(tmp_path: Path) -> None:
    model = Model(WHOLE, WHOLE, takes=0.05)
    cached = Cached(model, tmp_path)

    async def left() -> None:
        with anyio.move_on_after(0.01):
            await cached.generate(ASKED, report=Heard())

    in_loop(left())
    assert asked(cached) == WHOLE
    assert model.asked == 2


def test_the_same_call_made_twice_at_once_is_made_once_and_the_wait_is_told(tmp_path: Path) -> None:
    model, heard = Model(WHOLE, takes=0.05), Heard()
    cached = Cached(model, tmp_path)

    async def both() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(lambda: cached.generate(ASKED, report=heard))

    in_loop(both())
    assert model.asked == 1
    assert heard.kinds == ["queue", "cache"]
    assert abs(heard.told[0][2]["seconds"] - heard.told[1][2]["seconds"]) < 0.04


def test_two_processes_share_a_file(tmp_path: Path) -> None:
    ours, theirs = Cached(Model(WHOLE), tmp_path), Cached(Model(Completion("two")), tmp_path)
    asked(ours)
    asked(theirs, replace(ASKED, sample=9))
    assert asked(theirs) == WHOLE
    assert asked(ours, replace(ASKED, sample=9)).text == "two"


def test_a_torn_last_line_spoils_no_other(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    asked(Cached(Model(WHOLE), tmp_path))
    torn = replace(ASKED, sample=5)
    asked(Cached(Model(WHOLE), tmp_path), torn)
    os.truncate(file, file.stat().st_size - 9)
    again = Model(Completion("again"), Completion("new"))
    cached = Cached(again, tmp_path)
    assert asked(cached) == WHOLE
    assert (asked(cached, torn).text, asked(cached, replace(ASKED, sample=6)).text) == ("again", "new")
    fresh = Cached(Model(), tmp_path)
    assert (asked(fresh, torn).text, asked(fresh).text) == ("again", WHOLE.text)


def test_a_line_that_another_process_is_writing_is_read_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    asked(Cached(Model(WHOLE), tmp_path))
    line = file.read_bytes()
    key, calls = json.loads(line)["call"], _Calls(file)
    file.write_bytes(line[:40])
    assert calls.find(key, Heard()) is None
    with file.open("ab") as rest:
        rest.write(line[40:])
    found = calls.find(key, Heard())
    assert found is not None
    assert found[0] == WHOLE


@pytest.mark.parametrize(
    "spoilt",
    [
        *({"reply": reply} for reply in (None, 3, "text", {"~": "Usage"}, {"~": "Completion"}, {"~": "NoSuch"})),
        {"reply": {"~": "Completion", "text": 3}},
        *({"seconds": seconds} for seconds in (-1.0, "x", None, math.inf, math.nan)),
    ],
)
def test_a_line_that_holds_no_reply_is_as_if_it_were_not_there(tmp_path: Path, spoilt: dict[str, Any]) -> None:
    asked(Cached(Model(WHOLE), tmp_path))
    file = tmp_path / "calls.jsonl"
    row = json.loads(file.read_text())
    file.write_text(json.dumps({**row, **spoilt}) + "\n")
    assert asked(Cached(Model(Completion("asked")), tmp_path)).text == "asked"


@settings(max_examples=40)
@given(st.binary(max_size=200))
def test_whatever_stands_in_the_file_calls_are_made(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("cache")
    (folder / "calls.jsonl").write_bytes(data)
    cached = Cached(Model(WHOLE), folder)
    assert asked(cached) == WHOLE
    assert asked(cached) == WHOLE


def test_a_file_that_cannot_be_written_is_told_once_and_calls_go_on(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, where a folder is needed")
    heard = Heard()
    cached = Cached(Model(WHOLE, WHOLE), tmp_path / "taken" / "calls")
    assert (asked(cached, heard=heard), asked(cached, heard=heard)) == (WHOLE, WHOLE)
    assert heard.kinds == ["fault"]
    assert "cannot be kept" in heard.told[0][1]


def test_a_full_disk_is_told_once(tmp_path: Path) -> None:
    if not Path("/dev/full").exists() or sys.platform == "win32":
        pytest.skip("no /dev/full here")
    (tmp_path / "calls.jsonl").symlink_to("/dev/full")
    heard, calls = Heard(), _Calls(tmp_path / "calls.jsonl")
    calls.keep("one", WHOLE, 1.0, heard)
    calls.keep("two", WHOLE, 1.0, heard)
    assert heard.kinds == ["fault"]


def test_everything_else_is_the_models() -> None:
    model = Model()
    cached = Cached(model, Path("nowhere"))
    assert (cached.name, in_loop(cached.count(())), cached.price(2, 1)) == ("model", 5, 3)
    in_loop(cached.aclose())
    assert model.asked == -1
