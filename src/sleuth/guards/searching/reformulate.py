"""Another wording for a query that was asked before, by rule."""

from __future__ import annotations

from collections.abc import Iterable

from sleuth.guards.searching.keywords import keywords
from sleuth.transcript.wording import gist, stem


def reformulated(query: str, question: str, asked: Iterable[str] = ()) -> str:
    """A query that was not asked yet: the query's names with the question's words not yet searched; "" where none is left.

    `asked` holds the queries so far. Scaffold words and question words are left out (`sleuth.guards.searching.keywords`).
    """
    before = {gist(text) for text in (*asked, query)}
    used = {stem(word) for text in (*asked, query) for word in keywords(text).split()}
    fresh = " ".join(word for word in keywords(question).split() if stem(word) not in used)
    for wording in (
        f"{keywords(query, names=True)} {fresh}" if fresh else "",
        fresh,
        keywords(query),
        keywords(question),
    ):
        if wording.strip() and gist(wording) not in before:
            return " ".join(wording.split())
    return ""
