"""The bench's page is true: its three commands, as they stand there, measure fifty questions over a folder."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.support.homes import private
from tests.support.pages import ROOT, blocks
from tests.support.stub_server import Body, StubServer

from sleuth.cli import main

PAGE = ROOT / "docs" / "bench.md"


def three_commands() -> list[list[str]]:
    block = next(block for block in blocks(PAGE) if block.language == "console")
    return [shlex.split(line[2:]) for line in block.text.splitlines() if line.startswith("$ ")]


def reply(body: Body) -> str:
    """The year that stands behind the question's tower among the passages; a guess where there is none."""
    prompt = body["prompt"]
    number = re.findall(r"tower (\d+) completed\?", prompt)[-1]
    found = re.search(rf"Tower {number} was completed in (\d+)", prompt)
    year = found[1] if found else "1900"
    if prompt.rstrip().endswith("Are follow up questions needed here:"):
        return f" No.\nSo the final answer is: {year}"
    return f" {year}"


def test_the_three_commands_of_the_page_measure_fifty_questions_over_a_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private(monkeypatch, tmp_path)
    Path("documents").mkdir()
    rows = []
    for n in range(50):
        Path(f"documents/tower-{n}.md").write_text(f"# Tower {n}\n\nTower {n} was completed in {1850 + n}.\n")
        rows.append({"question": f"In what year was tower {n} completed?", "answers": [str(1850 + n)]})
    Path("questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    commands = three_commands()
    assert len(commands) == 3
    with StubServer(reply=reply) as server:
        monkeypatch.setenv("SLEUTH_MODEL", f"{server.url}#stub")
        for words in commands:
            assert words[0] == "sleuth"
            assert main(words[1:]) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    for name in ("retrieve-then-read", "link-then-read", "self-ask"):
        assert re.search(rf"^{name} +50 +\d+\.\d \(", out, re.MULTILINE), out
    assert list(Path("bench-questions").glob("*.html"))
