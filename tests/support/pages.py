"""The documentation as its tests see it: code blocks with their marks, commands, links."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"(?:<!-- ((?:not )?run[^>]*?) -->\n)?```(\w*)\n(.*?)```", re.DOTALL)
_PRINTED = re.compile(r"^\s*print\(.*\)\s+# (.+)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code of a page, its language, and its mark ("" where it has none)."""

    page: Path
    language: str
    mark: str
    text: str


def made() -> ModuleType:
    """``docs/make.py`` as a module."""
    if "docs_make" not in sys.modules:
        spec = importlib.util.spec_from_file_location("docs_make", ROOT / "docs" / "make.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["docs_make"] = module
        spec.loader.exec_module(module)
    return sys.modules["docs_make"]


def pages() -> list[Path]:
    """README, CONTRIBUTING, CHANGELOG and every page of docs/."""
    return list(made().markdown())


def blocks(page: Path) -> list[Block]:
    """The page's code blocks, in order."""
    found = _BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(page, language, mark or "", text) for mark, language, text in (m.groups() for m in found)]


def executed(page: Path, marks: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Run the page's Python blocks of these marks one after the other; what was printed, and what the page says is."""
    space: dict[str, Any] = {"__name__": "page"}
    out, told = io.StringIO(), []
    for block in blocks(page):
        if block.language == "python" and block.mark in marks:
            code = compile(block.text, str(page), "exec")
            with contextlib.redirect_stdout(out):
                exec(code, space)
            told += [found[1] for line in block.text.splitlines() if (found := _PRINTED.match(line))]
    return out.getvalue().splitlines(), told


def commands(page: Path) -> Iterator[list[str]]:
    """The words of each command line that the page shows after a ``$`` in a console block."""
    for block in blocks(page):
        if block.language == "console":
            yield from (shlex.split(line[2:]) for line in block.text.splitlines() if line.startswith("$ "))


def inline_commands(page: Path) -> Iterator[list[str]]:
    """The words of each `sleuth ...` and `make ...` in the text."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    for code in re.findall(r"`((?:sleuth|make) [^`\n]+)`", text):
        yield shlex.split(code)


def anchors(page: Path) -> set[str]:
    """What a link into the page may name after ``#``."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    heads = re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


def links(page: Path) -> list[str]:
    """The targets of the page's links and pictures."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return re.findall(r"\]\(([^)\s]+)\)", text)
