"""FRAMES: test.tsv (no passages: its pages are Wikipedia's).

Columns: Prompt, Answer, wikipedia_link_1 to wikipedia_link_10, wikipedia_link_11+, reasoning_types (parted by |), wiki_links
(a Python list of addresses, as text; read for its addresses, never run). Titles come from the addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from sleuth.bench.questions import Question
from sleuth.bench.tasks.files import Source, repaired
from sleuth.bench.tasks.kinds import Card, Entry, Loader, Maker, Row, digest, has, maybe, once, text

CARD = Card(
    name="frames",
    title="FRAMES",
    addresses=("https://huggingface.co/datasets/google/frames-benchmark/resolve/main/test.tsv",),
    files=("*frames*.tsv", "test.tsv"),
    licence="Apache-2.0",
    source="Krishna et al. 2024, Fact, Fetch, and Reason, section 2 (data) and 3 (accuracy)",
    metrics=("em", "f1", "number", "recall_hops"),
)
_ADDRESS = re.compile(r"https?://[^\s'\"<>]+?(?=['\"]?\s*(?:,\s|,$|\]|\s|$|,\s*https?:))")


def is_row(row: Row) -> bool:
    """A prompt with an answer."""
    return has(row, "Prompt", "Answer")


def _entry(row: Row) -> Entry:
    asked = text(row, "Prompt")
    links = [address for name, cell in row.items() if _is_link(name) for address in _ADDRESS.findall(cell or "")]
    question = Question(
        id=f"frames-{digest(asked)}",
        text=asked,
        answers=(text(row, "Answer"),),
        supporting=once(list(_titles(links))),
        type=maybe(row, "reasoning_types"),
    )
    return Entry(question)


def _is_link(name: str | None) -> bool:
    return isinstance(name, str) and (name == "wiki_links" or name.startswith("wikipedia_link"))


def _titles(links: list[str]) -> Iterator[str]:
    for link in links:
        try:
            path = urlsplit(link).path
        except ValueError:
            continue
        if "/wiki/" in path:
            yield " ".join(repaired(unquote(path.split("/wiki/", 1)[1])).replace("_", " ").split())


def _opened(source: Source) -> Maker:
    return _entry


LOADER = Loader(CARD, is_row, _opened)
