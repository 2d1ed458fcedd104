"""Every strategy on the write-ups' question, with the embedded model and the sample library.

Cheap settings, named in the comparison itself, keep it under four minutes on two quiet cores: three samples in place of
the self-consistency strategies' own number, four steps of the loops, and at most ten calls a strategy.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.homes import private
from tests.unit.test_compare import assert_folds

import sleuth
from sleuth.library import index
from sleuth.models.local import LocalModel
from sleuth.sample import articles_path
from sleuth.strategies import TABLE

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


def test_no_strategy_crashes_on_the_tesla_question_and_every_trace_folds_to_its_row(
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
