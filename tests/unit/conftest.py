"""Property tests are judged by what they find, not by how busy the machine is; and no test sees what another named."""

from __future__ import annotations

import pytest
from hypothesis import settings

from sleuth.app import strategies

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def _strategies_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test calls a strategy of its own is forgotten behind it."""
    monkeypatch.setattr(strategies, "_own", {})
