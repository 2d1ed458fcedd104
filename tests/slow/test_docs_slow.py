"""The documentation's blocks that need the embedded model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.homes import private
from tests.support.pages import ROOT, blocks, executed, pages

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.timeout(600)]

MARKED = [page for page in pages() if any(block.mark == "run: model" for block in blocks(page))]


@pytest.mark.parametrize("page", MARKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_that_ask_the_embedded_model_print_what_the_page_says(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model_file: Callable[[str], Path]
) -> None:
    home = private(monkeypatch, tmp_path)
    (home / "models").mkdir(parents=True)
    file = model_file("qwen2.5-coder-1.5b")
    (home / "models" / file.name).symlink_to(file)
    printed, told = executed(page, ("run: model",))
    assert printed == told
