"""Records made by hand for metrics: an answer, pages of numbered sentences, and citations of some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sleuth.bench.metrics import TABLE
from sleuth.bench.questions import Question, Sentence
from sleuth.bench.record import Lookup, Record
from sleuth.events import Span
from sleuth.types import Answer, Citation, Hop, Passage, Usage

PAGES: Mapping[str, Sequence[str]] = {
    title: [f"Sentence {word} of {title} says something." for word in ("zero", "one", "two", "three")]
    for title in ("Tarn Tower", "Vera Lind", "Osk", "Northern Light")
}


def passage(title: str, pages: Mapping[str, Sequence[str]] = PAGES) -> Passage:
    return Passage(f"p-{title}", f"d-{title}", title, " ".join(pages[title]))


def record(
    text: str,
    cited: Sequence[Sentence] = (),
    *,
    searched: bool = True,
    confidence: float | None = None,
    pages: Mapping[str, Sequence[str]] = PAGES,
    usage: Usage = Usage(),
) -> Record:
    """A run that found every page, read the cited ones and cites these sentences, in this order."""
    found = tuple(passage(title, pages) for title in pages)
    citations = tuple(Citation(f"p-{title}", title, pages[title][at]) for title, at in cited)
    read = tuple(passage(title, pages) for title in dict.fromkeys(title for title, _ in cited))
    answer = Answer(
        text,
        "answered" if text else "abstained",
        "final_answer",
        citations=citations,
        confidence=confidence,
        hops=(Hop("q", evidence=found),) if searched else (),
        read=read,
    )
    lookups = (Lookup("search", "q", Span("", 0), found),) if searched else ()
    return Record("r", "q", answer=answer, lookups=lookups, usage=usage)


def scored(name: str, run: Record, question: Question) -> float | None:
    return TABLE[name].score(run, question)
