"""Odd surroundings and hostile answers: each ends in a clear error, and no key is written down."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.homes import private
from tests.support.stub_server import Fault, StubServer

import sleuth
from sleuth.app import models, settings
from sleuth.app.question import checked
from sleuth.cli import main
from sleuth.cli.screen import stdout
from sleuth.errors import BadInput, DownloadError, EnvironmentFault, WrongUse
from sleuth.guards.citations import cite, contradicts, says
from sleuth.library import index
from sleuth.models import reply
from sleuth.models.files import CATALOGUE, check
from sleuth.models.tally import Tally
from sleuth.types import Passage

SECRET = "sk-" + "notarealkey123456"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    "address",
    [
        f"http://me:{SECRET}@127.0.0.1:9/v1#x",
        f"http://127.0.0.1:9/v1?api_key={SECRET}#x",
        "http://#x",
        "http://[::bad/v1#x",
        "http://127.0.0.1:99999/v1#x",
    ],
)
def test_an_address_that_is_none_or_holds_a_key_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(BadInput) as caught:
        models.parse(address, settings.load())
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(("name", "model"), [("OPENAI_BASE_URL", "openai:x"), ("OLLAMA_HOST", "ollama:x")])
def test_an_address_in_the_environment_is_checked_too(monkeypatch: pytest.MonkeyPatch, name: str, model: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv(name, "http://[x")
    with pytest.raises(BadInput, match=name):
        models.parse(model, settings.load())


def test_a_key_loses_the_line_end_it_was_pasted_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f" {SECRET}\n")
    named = models.parse("openai:x", settings.load())
    assert isinstance(named, models.RemoteName)
    assert named.key == SECRET


def test_a_key_that_no_header_can_carry_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{SECRET}é")
    with pytest.raises(BadInput, match="OPENAI_API_KEY") as caught:
        models.parse("openai:x", settings.load())
    assert SECRET not in str(caught.value)


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_HOME", "")
    monkeypatch.setenv("SLEUTH_CALLS", "")
    assert settings.load().home != Path.cwd()
    assert settings.load().calls is None


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_home_that_is_a_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("SLEUTH_HOME", str(tmp_path / "file" / below))
    with pytest.raises(EnvironmentFault, match=r"is a file.*SLEUTH_HOME"):
        settings.load()


@pytest.mark.parametrize("question", ["?!", "...", "-- ", "\u202e?", "$+="])
def test_a_question_without_a_word_is_refused(question: str) -> None:
    with pytest.raises(BadInput, match="no words"):
        checked(question)


def test_a_picture_is_a_word() -> None:
    assert checked("🗼?") == "🗼?"


# --- what servers answer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"choices":[{"text":"\\ud800 Paris","finish_reason":"stop"}]}'])
def test_an_answer_that_python_chokes_on_ends_the_run_in_order(body: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with StubServer() as server:
        server.faults.extend([Fault(200, body)] * 5)
        status = main(["ask", "Who?", "--model", f"{server.url}#stub", "--strategy", "standard", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (status, told["ended"]) in ((0, "final_answer"), (3, "model_error"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 5.0, 9e99, -float("inf")])
def test_a_log_probability_that_is_none_is_not_believed(value: float) -> None:
    assert reply.logs_of({"tokens": ["a", "b"], "token_logprobs": [-0.5, value]}) == ()


def test_a_log_probability_may_be_rounded_above_zero() -> None:
    assert reply.logs_of({"tokens": ["a"], "token_logprobs": [1e-7]}) == (("a", 0.0),)


@pytest.mark.parametrize("usage", [{"prompt_tokens": -5}, {"prompt_tokens": 5, "completion_tokens": -2}])
def test_a_negative_usage_is_none_told(usage: dict[str, Any]) -> None:
    assert reply.tokens_of(usage) is None


def test_cached_tokens_are_between_none_and_all() -> None:
    assert reply.tokens_of({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": -9}}) == (5, 0, 0)
    assert reply.tokens_of({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}) == (0, 5, 0)


def test_an_endless_answer_is_not_compared_with_every_sentence() -> None:
    passage = Passage("p", "d", "Word", "A word. " * 200, 1.0, (0, 1600))
    claim = "word " * 200_000
    assert cite(claim, [passage]) is None
    assert not says(passage.text, claim)
    assert not contradicts(claim, [passage], "1889-03-31")


# --- the local model's file --------------------------------------------------------------------------------------


def test_a_local_log_probability_that_is_no_number_makes_the_sum_none() -> None:
    tally = Tally(True)
    told = {"id": 1, "logprob": None, "bytes": [97], "top_logprobs": [{"id": 1, "bytes": [97]}]}
    tally.add({"content": "a", "tokens": [1], "completion_probabilities": [told]})
    assert tally.logprob() is None


def test_a_catalogue_file_is_checked_before_it_is_first_loaded(home: Path) -> None:
    file = CATALOGUE["smollm2-135m"]
    (home / "models").mkdir(parents=True)
    (home / "models" / file.file).write_bytes(b"GGUF, cut off")
    answer = sleuth.ask("Who?", model="local:smollm2-135m", strategy="standard")
    assert answer.ended == "model_error"
    assert "bytes instead of" in answer.note
    assert "sleuth models pull" in answer.note
    assert (home / "models" / file.file).exists(), "what the user put there is not thrown away by asking"


def test_a_checksum_once_seen_right_is_not_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"abc")
    file = replace(CATALOGUE["smollm2-135m"], size=3, sha256=hashlib.sha256(b"abc").hexdigest())

    def once() -> None:
        anyio.run(lambda: check(path, file, progress=lambda done, total, what: None))

    once()
    seen = path.stat().st_mtime_ns
    path.write_bytes(b"abd")
    os.utime(path, ns=(seen, seen))
    once()
    os.utime(path, ns=(seen, seen + 1_000_000_000))
    with pytest.raises(DownloadError, match="wrong checksum"):
        once()


# --- a user's own strategy ---------------------------------------------------------------------------------------


def text_only(question: str) -> Any:
    yield from sleuth.note("thought", "almost")
    return "Paris"


def no_flow(question: str) -> Any:
    return 5


async def coroutine(question: str) -> Any:
    return 5


@pytest.mark.parametrize(
    ("flow", "said"), [(text_only, "str, not an Answer"), (no_flow, "int"), (coroutine, "coroutine")]
)
def test_a_strategy_that_is_none_is_wrong_use(flow: Any, said: str) -> None:
    with pytest.raises(WrongUse, match=said):
        sleuth.ask("Who?", strategy=flow, model=sleuth.Script(["x"]), library=sleuth.Shelf({}), trace=False)


# --- files -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_file_whose_name_is_no_text_is_skipped_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("Paris is in France.")
    with open(os.path.join(os.fsencode(tmp_path), b"bad\xff.txt"), "w") as bad:
        bad.write("Rome is in Italy.")
    summary = index([tmp_path], tmp_path / "library")
    assert summary.added == 1
    assert [one.path.rpartition("/")[2] for one in summary.skipped] == ["bad?.txt"]
    assert "not UTF-8" in summary.skipped[0].reason


# --- streams -----------------------------------------------------------------------------------------------------


def test_closed_streams_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["strategies", "list"]) == 0
    assert main(["strategies", "show", "nothing"]) == 2
    for stream in (sys.stdout, sys.stderr):
        stream.close()


def test_a_terminal_that_says_it_has_no_columns_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    kept = io.StringIO()
    monkeypatch.setattr(sys, "stdout", kept)
    stdout().print("seen")
    assert "seen" in kept.getvalue()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", [["strategies", "list", "--json"], ["ask", "--json", "--model", "nothing", "Who?"]])
def test_a_full_disk_under_the_output_is_status_3(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(words) == 3
