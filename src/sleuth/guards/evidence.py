"""Short snippets that stand in their passage word for word, and hops as the trace shows them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sleuth.guards.dates import holds
from sleuth.guards.text import sentences, stems
from sleuth.transcript import Transcript
from sleuth.types import Citation, Flow, Hop, Passage
from sleuth.verbs import note

SNIPPET_WORDS = 45
"""Most words of a snippet: "one short snippet" (Self-Ask write-up, "Requirements")."""


def snippet(question: str, passages: Sequence[Passage], when: str = "") -> Citation | None:
    """The sentence that says most of what the question asks about, at most 45 words of it; None without passages.

    Between equals, the earlier passage and sentence; `when` (ISO) speaks for sentences whose dates hold that moment.
    """
    asked = stems(question)
    best, passage, most = "", None, -1.0
    for candidate in passages:
        titled = asked & stems(candidate.title)
        for a, b in sentences(candidate.text):
            sentence = candidate.text[a:b]
            worth = len(asked & (stems(sentence) | titled)) + (1.5 if when and holds(sentence, when) else 0.0)
            if worth > most:
                best, passage, most = sentence, candidate, worth
    if passage is None:
        return None
    words = list(re.finditer(r"\S+", best))
    quote = best[: words[SNIPPET_WORDS - 1].end()] if len(words) > SNIPPET_WORDS else best
    return Citation(passage.id, passage.title, quote, verified=quote in passage.text)


def said(citation: Citation) -> str:
    """A snippet as the model reads it: with the page's title where the quote alone does not name it."""
    named = stems(citation.title) & stems(citation.quote)
    text = " ".join(citation.quote.split())
    return text if named or not citation.title else f"{citation.title}: {text}"


def recorded(t: Transcript, hop: Hop) -> Flow[None]:
    """Keep the hop in the transcript, and note it."""
    t.hops.append(hop)
    yield from noted(hop)


def noted(hop: Hop) -> Flow[None]:
    """Note the hop, with its query, its passages and why each is there.

    For a forked flow: its hop joins the transcript of the flow that forked it, in the order of the plan, not of time.
    """
    yield from note(
        "hop",
        hop.question,
        query=hop.query,
        answer=hop.answer,
        outcome=hop.outcome,
        grounded=hop.grounded,
        passages=[{"id": p.id, "title": p.title, "why": p.why} for p in hop.evidence],
        quote=hop.citation.quote if hop.citation else "",
    )
