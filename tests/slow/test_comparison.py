"""Every strategy on the write-ups' question, with the embedded model and the sample library: none crashes, each row is its
trace's fold, and each trace replays to the same answer without touching the model.

Cheap settings, named in the comparison itself, keep it under four minutes on two quiet cores: three samples in place of
the self-consistency strategies' own number, four steps of the loops, and at most ten calls a strategy.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.slow.test_answers import assert_replays
from tests.support.homes import private
from tests.unit.test_compare import assert_folds

import sleuth
from sleuth.events import Finished
from sleuth.library import index
from sleuth.models.local import LocalModel
from sleuth.sample import articles_path
from sleuth.strategies import TABLE
from sleuth.trace import read_trace
from sleuth.types import Completion

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.timeout(1800)]

TESLA = "How did Tesla's stock and competitors react after they cut prices?"
CHEAP = {
    "self-ask": "follow_ups=3",
    "react": "steps=4",
    "hybrid": "steps=3",
    "cot-sc": "n=3",
    "react-then-cot-sc": "steps=3:n=3",
    "cot-sc-then-react": "steps=3:n=3",
    "act": "steps=4",
}


def test_no_strategy_crashes_on_the_tesla_question_and_every_trace_folds_to_its_row_and_replays(
    embedded: LocalModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    private(monkeypatch, tmp_path)
    library = tmp_path / "sample"
    index([articles_path()], library)
    names = [f"{name}:{CHEAP[name]}" if name in CHEAP else name for name in TABLE]
    comparison = sleuth.compare(
        TESLA, names, model=embedded, library=library, budget=sleuth.Budget(calls=10, seconds=120)
    )
    assert [row.name for row in comparison.rows] == names
    assert [row.note for row in comparison.rows if row.error is not None] == []
    assert all(row.ended not in ("", "model_error", "source_error", "cancelled") for row in comparison.rows)
    assert_folds(comparison)
    for row, name in zip(comparison.rows, TABLE, strict=True):
        assert row.trace is not None
        assert row.answer is not None
        assert row.usage.calls <= 10
        assert any(
            isinstance(e.body, Finished) and isinstance(e.body.value, Completion) for e in read_trace(row.trace)
        ), name
        assert all(citation.verified for citation in row.answer.citations)
        assert_replays(row.trace, row.answer)
