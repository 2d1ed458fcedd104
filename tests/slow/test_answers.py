"""Real answers: each strategy asks the embedded model over the sample library, with its trace, its proof, and a replay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import anyio
import pytest
from tests.support.homes import private
from tests.support.runs import Forbidden, Told

import sleuth
from sleuth.codec import plain
from sleuth.engine import Engine
from sleuth.events import Finished, Opened
from sleuth.library import index
from sleuth.models.local import LocalModel
from sleuth.sample import articles_path
from sleuth.strategies import TABLE
from sleuth.trace import Cassette, TraceWriter, read_trace
from sleuth.types import Answer, Completion, Passage

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.timeout(600)]

DEMO = "Who was US president when the Eiffel Tower was completed?"
SHORT = "In which city was the director of 2001: A Space Odyssey born?"
READING = [
    ("link-then-read", "default"),
    ("retrieve-then-read", "default"),
    ("react", "default"),
    ("self-ask", "paper"),
]
REMEMBERING = [("self-ask", "memory"), ("standard", "default")]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample library's folder."""
    folder = tmp_path_factory.mktemp("libraries") / "sample"
    index([articles_path()], folder)
    return folder


@pytest.fixture(scope="module")
def articles() -> Mapping[str, str]:
    """The sample's texts by title."""
    lines = articles_path().read_text(encoding="utf-8").splitlines()
    return {article["title"]: article["text"] for article in map(json.loads, lines)}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def assert_proven(answer: Answer, articles: Mapping[str, str], least: int) -> None:
    """At least so many citations, each verified: its quote stands word for word in the article it names."""
    assert len(answer.citations) >= least
    for citation in answer.citations:
        assert citation.verified
        assert citation.quote in articles[citation.title]


def assert_replays(trace: Path, answer: Answer) -> None:
    """Driven again from its trace, on ports that fail when touched: the same answer byte for byte, and the same events."""
    recorded = read_trace(trace)
    opened = recorded[0].body
    assert isinstance(opened, Opened)
    about, copy = opened.about, trace.with_suffix(".replayed.jsonl")
    flow = TABLE[about["strategy"]].flow(opened.question, **about["params"])
    with TraceWriter(copy) as writer:
        engine = Engine(Forbidden(), Forbidden(), sinks=[writer], budget=about["budget"], recording=Cassette(recorded))
        again = anyio.run(partial(engine.run, flow, question=opened.question, about=about, run=recorded[0].run))
    assert Told(read_trace(copy)).lines() == Told(recorded).lines()
    assert written(again) == written(answer)


def written(answer: Answer) -> bytes:
    """The answer but for the seconds it took."""
    fields = plain(answer)
    fields["usage"].pop("seconds", None)
    return json.dumps(fields, ensure_ascii=False).encode()


def test_the_demo_question_is_answered_hop_by_hop_with_its_proof(
    embedded: LocalModel, sample: Path, articles: Mapping[str, str], tmp_path: Path
) -> None:
    trace = tmp_path / "demo.jsonl"
    answer = sleuth.ask(DEMO, model=embedded, library=sample, strategy="self-ask", trace=trace)
    assert (answer.text, answer.status) == ("Benjamin Harrison", "answered")
    assert len(answer.hops) >= 2
    assert_proven(answer, articles, least=2)
    assert_replays(trace, answer)


@pytest.mark.parametrize(("strategy", "setting"), READING)
def test_a_strategy_that_reads_answers_from_passages(
    embedded: LocalModel, sample: Path, articles: Mapping[str, str], tmp_path: Path, strategy: str, setting: str
) -> None:
    trace = tmp_path / "run.jsonl"
    answer = sleuth.ask(SHORT, model=embedded, library=sample, strategy=strategy, setting=setting, trace=trace)
    found = [
        e.body.value for e in read_trace(trace) if isinstance(e.body, Finished) and isinstance(e.body.value, tuple)
    ]
    assert any(isinstance(passage, Passage) for passages in found for passage in passages)
    assert answer.usage.searches >= 1
    assert_proven(answer, articles, least=1 if answer.read else 0)
    assert_replays(trace, answer)


@pytest.mark.parametrize(("strategy", "setting"), REMEMBERING)
def test_a_strategy_without_search_answers_in_one_call_and_cites_nothing(
    embedded: LocalModel, sample: Path, tmp_path: Path, strategy: str, setting: str
) -> None:
    trace = tmp_path / "run.jsonl"
    answer = sleuth.ask(SHORT, model=embedded, library=sample, strategy=strategy, setting=setting, trace=trace)
    values = [e.body.value for e in read_trace(trace) if isinstance(e.body, Finished)]
    assert [type(value) for value in values] == [Completion]
    assert (answer.usage.calls, answer.usage.searches, answer.citations) == (1, 0, ())
    assert_replays(trace, answer)
