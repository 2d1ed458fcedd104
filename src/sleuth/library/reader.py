"""`Library`: search passages, and open pages by their titles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sleuth.errors import NoLibrary
from sleuth.library import search as searching
from sleuth.library.store import Row, Snapshot, faults
from sleuth.library.update import counts
from sleuth.library.words import bare, key, likeness, sound
from sleuth.types import Page, Passage, Search, Similar

_NEAR = 50  # titles that share most runs of three characters, among which the most similar are chosen


@dataclass(frozen=True, slots=True)
class Info:
    """What a library holds: documents, passages, links between them, when it was last changed, bytes on disk."""

    name: str
    documents: int
    passages: int
    links: int
    built: datetime
    size: int


class Library:
    """A library as it was when it was opened; open it again to see later changes. May be used from several threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._at = snapshot
        self.folder = snapshot.folder
        self.name = snapshot.folder.name

    @classmethod
    def open(cls, folder: str | Path) -> Library:
        """Raises `NoLibrary` if there is none in the folder or it holds nothing, `LibraryFault` if it is damaged."""
        snapshot = Snapshot.open(Path(folder))
        if not snapshot.searcher.num_docs:
            raise NoLibrary(f"The library {folder} holds nothing.", hint="Fill it with `sleuth index PATH...`.")
        return cls(snapshot)

    def search(self, request: Search) -> tuple[Passage, ...]:
        """Passages for a query, best first; () when nothing is found.

        Ranked one by one (BM25), or, with `together`, so that the first two answer best together, then the next two.
        Each passage's `why` says what brought it. Raises `LibraryFault` if the index is damaged.
        """
        with faults(self.folder, "read"):
            return searching.search(self._at, request)

    def open_page(self, title: str) -> Page | Similar:
        """The page with this title; else the one with this title but for case, accents, punctuation and a trailing
        parenthesis (if only one is); else the five most similar titles. Raises `LibraryFault` if the index is damaged.
        """
        with faults(self.folder, "read"):
            document = self._document(sound(title))
            return self._page(document) if document else Similar(self.titles_similar(title))

    def titles_similar(self, title: str, k: int = 5) -> tuple[str, ...]:
        """The `k` most similar titles of the library, best first (`words.likeness`)."""
        import tantivy

        text = f" {key(title)} "[:200]
        terms = dict.fromkeys(text[n : n + 3] for n in range(len(text) - 2))
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._at.schema, "grams", gram, "basic")) for gram in terms
        ]
        with faults(self.folder, "read"):
            rows = self._at.rows(tantivy.Query.boolean_query(clauses), max(_NEAR, k)) if clauses else []
        titles = sorted({row.title for row in rows}, key=lambda other: (-likeness(title, other), other))
        return tuple(titles[:k])

    def info(self) -> Info:
        """What the library holds."""
        documents, passages, links = counts(self._at)
        with faults(self.folder, "read"):
            built = datetime.fromtimestamp((self.folder / "meta.json").stat().st_mtime, UTC)
            size = sum(path.stat().st_size for path in self.folder.iterdir() if path.is_file())
        return Info(self.name, documents, passages, links, built, size)

    def _document(self, title: str) -> str | None:
        """The id of the document a title means: the most exact, then the first by id."""
        wanted = key(title) or title.strip()
        found = self._leads(wanted)
        exact = [row.document for row in found if row.title == title.strip()]
        alike = [row.document for row in found if (key(row.title) or row.title.strip()) == wanted]
        if exact or alike:
            return min(exact or alike)
        plain = self._leads(key(bare(title))) if bare(title) != title else []
        loose = {row.document for row in (found or plain)}
        return loose.pop() if len(loose) == 1 else None

    def _leads(self, name: str) -> list[Row]:
        import tantivy

        return self._at.rows(tantivy.Query.term_query(self._at.schema, "lead", name, "basic"), 1000) if name else []

    def _page(self, document: str) -> Page:
        import tantivy

        query = tantivy.Query.term_query(self._at.schema, "document", document, "basic")
        rows = sorted(self._at.rows(query, self._at.searcher.num_docs), key=lambda row: row.ordinal)
        sentences = tuple(sentence for row in rows for sentence in _sentences(row))
        return Page(rows[0].title, sentences, tuple(searching.passage(row) for row in rows))


def _sentences(row: Row) -> Iterable[str]:
    begin = 0
    for end in row.ends:
        yield row.text[begin:end].strip()
        begin = end
