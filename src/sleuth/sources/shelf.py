"""`Shelf`: a source that answers from a dict. For tests, yours and ours."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio

from sleuth.errors import SleuthError
from sleuth.ports import Report
from sleuth.types import Open, Page, Passage, Search, Similar


class Shelf:
    """Pages by title, and answers by query.

    >>> Shelf({"Eiffel Tower": "The Eiffel Tower was completed in 1889."})
    >>> Shelf(answers={"When was the Eiffel Tower completed?": "It was completed in 1889.", "Who?": SourceTimeout("late")})

    A query that `answers` knows (without regard to case and outer spaces) gets what stands there: a text is one
    passage without a title, "" nothing, an error is raised. Any other query gets the pages that share words with it,
    the most first. `open` gives the page of that title, or the nearest titles. `delay` is in seconds. What was asked
    is in `requests`.
    """

    def __init__(
        self,
        pages: Mapping[str, str] | None = None,
        *,
        answers: Mapping[str, str | Sequence[Passage] | SleuthError] | None = None,
        name: str = "shelf",
        delay: float = 0.0,
    ) -> None:
        self.name = name
        self.requests: list[Search | Open] = []
        self._pages = dict(pages or {})
        self._answers = {_key(query): found for query, found in (answers or {}).items()}
        self._delay = delay

    async def search(self, request: Search, *, report: Report) -> tuple[Passage, ...]:
        """At most `request.k` passages, none of `request.exclude`."""
        self.requests.append(request)
        await anyio.sleep(self._delay)
        found = self._answers.get(_key(request.query))
        if isinstance(found, SleuthError):
            raise found.again()
        passages = self._ranked(request.query) if found is None else _passages(request.query, found)
        return tuple(passage for passage in passages if passage.id not in request.exclude)[: request.k]

    async def open(self, request: Open, *, report: Report) -> Page | Similar:
        """The page, its sentences cut after full stops, question and exclamation marks."""
        self.requests.append(request)
        await anyio.sleep(self._delay)
        titles = {_key(title): title for title in self._pages}
        if (title := titles.get(_key(request.title))) is not None:
            text = self._pages[title]
            return Page(title, tuple(re.split(r"(?<=[.!?])\s+", text.strip())), (_passage(title, text),))
        near = difflib.get_close_matches(_key(request.title), titles, n=5, cutoff=0.0)
        return Similar(tuple(titles[key] for key in near))

    async def aclose(self) -> None:
        """Nothing is held."""

    def _ranked(self, query: str) -> list[Passage]:
        asked = _words(query)
        scored = ((len(asked & _words(f"{title} {text}")), title, text) for title, text in self._pages.items())
        best = sorted((item for item in scored if item[0]), key=lambda item: -item[0])
        return [_passage(title, text, float(score)) for score, title, text in best]


def _passages(query: str, found: str | Sequence[Passage]) -> Sequence[Passage]:
    if isinstance(found, str):
        return [replace(_passage(query, found), title="")] if found else []
    return found


def _passage(title: str, text: str, score: float = 1.0) -> Passage:
    return Passage(f"{title}#0", title, title, text, score, (0, len(text)))


def _key(text: str) -> str:
    return text.strip().casefold()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
