"""Settings of their own with the embedded model over the sample library: an answer or a stated reason, its proof, its replay.

The default settings of all strategies run in test_compare.py; here are the cheaper ones of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.slow.test_answers import SHORT, articles, assert_proven, assert_replays, home, sample  # noqa: F401  (fixtures)

import sleuth
from sleuth.models.local import LocalModel
from sleuth.strategies import TABLE

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.timeout(600)]

CLAIM = "Benjamin Harrison was US president when the Eiffel Tower was completed."
RUNS: list[tuple[str, str, str]] = [
    ("plan-and-solve", "paper", SHORT),
    ("parallel-self-ask", "paper", SHORT),
    ("react", "sparse", SHORT),
    ("react", "claims", CLAIM),
    ("act", "paper", SHORT),
    ("cot", "claims", CLAIM),
    ("standard", "paper", SHORT),
    ("standard", "claims", CLAIM),
    ("auto", "paper", SHORT),
]
"""Strategy, setting, question: one line each."""


@pytest.mark.parametrize(("strategy", "setting", "question"), RUNS)
def test_a_strategy_runs_with_the_embedded_model_and_replays(
    embedded: LocalModel,
    sample: Path,  # noqa: F811
    articles: Mapping[str, str],  # noqa: F811
    tmp_path: Path,
    strategy: str,
    setting: str,
    question: str,
) -> None:
    trace = tmp_path / "run.jsonl"
    answer = sleuth.ask(question, model=embedded, library=sample, strategy=strategy, setting=setting, trace=trace)
    assert answer.ended not in ("model_error", "source_error")
    assert (answer.status == "answered") == bool(answer.text)
    assert answer.usage.calls <= TABLE[strategy].most_calls(TABLE[strategy].settings[setting])
    assert_proven(answer, articles, least=0)
    assert_replays(trace, answer)
