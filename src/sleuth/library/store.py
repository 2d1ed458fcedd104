"""The index on disk: its fields, reading a snapshot of it, and writing to it.

Everything a library knows stands in one tantivy index (passages, links, the state of the files it was made from), so that
one tantivy commit, which is atomic, changes all of it or nothing.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.errors import LibraryFault, NoLibrary
from sleuth.library.words import keys
from sleuth.locks import try_lock

if TYPE_CHECKING:
    import tantivy

FORMAT = 1
ABOUT = "library.json"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_SIGNS = ("No space left", "StorageFull", "File too large", "uota exceeded")
HEAP = 64_000_000  # bytes the writer gathers before it writes a segment


@dataclass(frozen=True, slots=True)
class Row:
    """A passage as it is kept. `ordinal` is its place in the document, from 0; `links` are keys of titles in its text."""

    id: str
    document: str
    title: str
    text: str
    span: tuple[int, int]
    ordinal: int = 0
    ends: tuple[int, ...] = ()
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file was like when it was indexed; `read_at` and `mtime` in nanoseconds since the epoch."""

    path: str
    size: int
    mtime: int
    digest: str
    read_at: int


def schema() -> tantivy.Schema:
    """The fields. `name` holds the keys of a passage's title; `lead` and `grams` are on a document's first passage only."""
    import tantivy

    fields = tantivy.SchemaBuilder()
    for name in ("id", "document", "name", "lead", "first", "mentions"):
        fields.add_text_field(name, tokenizer_name="raw", index_option="basic")
    fields.add_text_field("grams", tokenizer_name="sleuth_grams", index_option="basic")
    fields.add_text_field("title", stored=True, tokenizer_name="sleuth_english", index_option="freq")
    fields.add_text_field("text", stored=True, tokenizer_name="sleuth_english", index_option="position")
    fields.add_text_field("path", stored=True, tokenizer_name="raw", index_option="basic")
    for name in ("kept", "state"):
        fields.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    fields.add_unsigned_field("links", fast=True)
    return fields.build()


def english() -> tantivy.TextAnalyzer:
    """Words in small letters, without accents, English stems."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(41)).filter(Filter.lowercase())
    return builder.filter(Filter.ascii_fold()).filter(Filter.stemmer("english")).build()


def grams() -> tantivy.TextAnalyzer:
    """Runs of three characters."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    return TextAnalyzerBuilder(Tokenizer.ngram(3, 3)).filter(Filter.lowercase()).build()


def rebuild(folder: Path) -> str:
    """The next thing to try when the library in this folder is damaged."""
    try:
        roots = json.loads((folder / ABOUT).read_text(encoding="utf-8"))["roots"]
        named = " ".join(map(shlex.quote, roots))
    except (OSError, ValueError, KeyError, TypeError):
        named = "PATH..."
    return f"Rebuild it: `sleuth library remove {shlex.quote(folder.name)}`, then `sleuth index {named or 'PATH...'} --library {shlex.quote(folder.name)}`."


@contextmanager
def faults(folder: Path, doing: str) -> Iterator[None]:
    """Turn what tantivy and the operating system raise into `LibraryFault`: disk full, no access, or a damaged index."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as failure:
        raise fault(folder, doing, failure) from failure
    except BaseException as failure:  # a panic of tantivy's Rust code is not an Exception; all others go on as they are
        if type(failure).__name__ != "PanicException":
            raise
        raise fault(folder, doing, failure) from failure


def fault(folder: Path, doing: str, failure: BaseException) -> LibraryFault:
    """The `LibraryFault` for a failure of tantivy or of the operating system while `doing` "read", "open" or "write"."""
    said = str(failure)
    code = failure.errno if isinstance(failure, OSError) else None
    if code in _FULL or any(sign in said for sign in _FULL_SIGNS) or (doing == "write" and _room(folder) < 1_000_000):
        return LibraryFault(
            f"The disk that holds the library {folder} is full; the library is as it was before.",
            hint="Make room, then run the same command again.",
        )
    if code in (errno.EACCES, errno.EPERM, errno.EROFS) or "ermission denied" in said:
        return LibraryFault(f"Access to the library {folder} is denied.", hint="Check the folder's permissions.")
    short = said.splitlines()[0][:200] if said else type(failure).__name__
    if doing == "write":
        return LibraryFault(
            f"The library {folder} could not be written ({short}); it is as it was before.",
            hint=f"Check its disk ({_room(folder) // 1_000_000} MB are free), then run the same command again. {rebuild(folder)}",
        )
    return LibraryFault(f"The library {folder} is damaged ({short}).", hint=rebuild(folder))


def _room(folder: Path) -> int:
    import shutil

    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 1 << 62


def _index(folder: Path, *, create: bool) -> tantivy.Index:
    import tantivy

    index = tantivy.Index(schema(), str(folder)) if create else tantivy.Index.open(str(folder))
    index.register_tokenizer("sleuth_english", english())
    index.register_tokenizer("sleuth_grams", grams())
    return index


class Snapshot:
    """A library as of its last commit. Later commits, and files removed by them, do not touch it."""

    def __init__(self, folder: Path, index: tantivy.Index) -> None:
        self.folder = folder
        self.schema = index.schema
        index.config_reader("manual")
        index.reload()
        self.searcher = index.searcher()
        self._english, self._lock = english(), threading.Lock()

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """Raises `NoLibrary` if there is none, `LibraryFault` if it is damaged or of another version."""
        if not (folder / "meta.json").is_file():
            if (folder / ABOUT).is_file() and any(folder.glob("*.store")):
                raise LibraryFault(f"The library {folder} is damaged (meta.json is missing).", hint=rebuild(folder))
            raise NoLibrary(f"There is no library in {folder}.", hint="Make one with `sleuth index PATH...`.")
        check_format(folder)
        with faults(folder, "read"):
            return cls(folder, _index(folder, create=False))

    def has(self, field: str, value: str) -> bool:
        """Whether a term occurs in a field."""
        return bool(self.searcher.doc_freq(field, value))

    def rows(self, query: tantivy.Query, limit: int) -> list[Row]:
        """The rows a query finds, best first, at most `limit`."""
        hits = self.searcher.search(query, max(1, limit), count=False).hits
        return [self.row(address) for _, address in hits]

    def row(self, address: tantivy.DocAddress) -> Row:
        """The row at an address."""
        return to_row(self.searcher.doc(address))

    def states(self) -> dict[str, FileState]:
        """The state of every indexed file, by its path."""
        found = (json.loads(document.get_first("state") or "null") for document in self.all("first", "file"))
        return {state.path: state for state in (FileState(*values) for values in found if values)}

    def all(self, field: str, value: str) -> Iterator[Any]:
        """Every stored document that has this term."""
        import tantivy

        query = tantivy.Query.term_query(self.schema, field, value, "basic")
        hits = self.searcher.search(query, max(1, self.searcher.num_docs), count=False).hits
        return (self.searcher.doc(address) for _, address in hits)

    def everything(self) -> Iterator[Any]:
        """Every stored document."""
        import tantivy

        hits = self.searcher.search(tantivy.Query.all_query(), max(1, self.searcher.num_docs), count=False).hits
        return (self.searcher.doc(address) for _, address in hits)

    def phrase(self, text: str) -> Iterator[Any]:
        """Every stored document whose text has these words side by side."""
        import tantivy

        stems = self.stems(text)
        if not stems:
            return iter(())
        if len(stems) == 1:
            return self.all("text", stems[0])
        query = tantivy.Query.phrase_query(self.schema, "text", list(stems))
        hits = self.searcher.search(query, max(1, self.searcher.num_docs), count=False).hits
        return (self.searcher.doc(address) for _, address in hits)

    def stems(self, text: str) -> list[str]:
        """The terms a text is indexed by."""
        with self._lock:
            return self._english.analyze(text)

    def names(self) -> list[str]:
        """The keys of all titles."""
        import tantivy

        present = tantivy.Query.all_query()  # without it, titles of removed documents are told too
        return [name for name, _ in self.searcher.terms_with_prefix("lead", "", present)]

    def count(self, field: str, value: str) -> int:
        """How many passages have this term."""
        import tantivy

        query = tantivy.Query.term_query(self.schema, field, value, "basic")
        found: Any = self.searcher.search(query, 1, count=True)
        return int(found.count or 0)


def check_format(folder: Path) -> None:
    """Raises `LibraryFault` when the library was made by another version of this format."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        version = about["format"]
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise LibraryFault(
            f"The library {folder} is damaged ({ABOUT} cannot be read).", hint=rebuild(folder)
        ) from failure
    if version != FORMAT:
        raise LibraryFault(
            f"The library {folder} has format {version}; this version reads format {FORMAT}.", hint=rebuild(folder)
        )


def to_row(document: Any) -> Row:
    """A stored document as a row."""
    id_, source, begin, end, ordinal, ends, links = json.loads(document.get_first("kept"))
    title, text = document.get_first("title") or "", document.get_first("text") or ""
    return Row(id_, source, title, text, (begin, end), ordinal, tuple(ends), tuple(links))


class Writer:
    """The one writer of a library; nothing it does is seen before `commit`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with faults(folder, "open"):
            self.index = _index(folder, create=True)
            self._writer = self.index.writer(HEAP, 1)
            self._sweep()

    def add(self, row: Row, path: str, state: FileState | None = None) -> None:
        """Add a passage of a file; the file's first passage carries the file's state."""
        import tantivy

        document = tantivy.Document()
        document.add_text("id", row.id)
        document.add_text("document", row.document)
        document.add_text("path", path)
        document.add_text("title", row.title)
        document.add_text("text", row.text)
        names = keys(row.title)
        for name in names:
            document.add_text("name", name)
        if row.ordinal == 0:
            document.add_text("first", "document")
            for name in names:
                document.add_text("lead", name)
                document.add_text("grams", f" {name} ")
        kept = [row.id, row.document, *row.span, row.ordinal, row.ends, row.links]
        document.add_text("kept", json.dumps(kept, ensure_ascii=False, separators=(",", ":")))
        if state is not None:
            document.add_text("first", "file")
            document.add_text("state", json.dumps([state.path, state.size, state.mtime, state.digest, state.read_at]))
        for name in row.links:
            document.add_text("mentions", name)
        document.add_unsigned("links", len(row.links))
        with faults(self.folder, "write"):
            self._writer.add_document(document)

    def remove(self, field: str, value: str) -> None:
        """Remove every committed or added passage that has this term."""
        with faults(self.folder, "write"):
            self._writer.delete_documents_by_term(field, value)

    def commit(self) -> None:
        """Make all changes seen, at once."""
        with faults(self.folder, "write"):
            self._writer.commit()

    def abandon(self) -> None:
        """Drop all changes since the last commit, and the room they took."""
        with suppress(Exception):  # what went wrong before is being told; the next writer sweeps again
            self._writer.rollback()
            self._sweep()

    def _sweep(self) -> None:
        """Delete what writers that were killed, or ran out of room, left behind."""
        for left in self.folder.glob(".tmp*"):
            left.unlink(missing_ok=True)
        self._writer.garbage_collect_files()

    def close(self) -> None:
        """Wait for the merging of segments; changes since the last commit are dropped."""
        with faults(self.folder, "write"):
            self._writer.wait_merging_threads()


@contextmanager
def writing(folder: Path, roots: Sequence[str]) -> Iterator[Writer]:
    """The library's writer, while the lock is held; makes the library if there is none.

    Raises `LibraryFault` when another process is writing, the disk is full, or the index is damaged.
    """
    with faults(folder, "write"):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        with faults(folder, "write"):
            _describe(folder, roots)
        writer = Writer(folder)
        try:
            yield writer
        except BaseException:  # whatever it is, it is raised again
            writer.abandon()
            raise
        writer.close()


def _describe(folder: Path, roots: Iterable[str]) -> None:
    """Write the format and the roots (for the hint how to rebuild) beside the index, if they are not there yet."""
    path = folder / ABOUT
    known: list[str] = []
    if path.is_file():
        check_format(folder)
        known = json.loads(path.read_text(encoding="utf-8")).get("roots", [])
    wanted = list(dict.fromkeys([*known, *roots]))
    if path.is_file() and wanted == known:
        return
    draft = path.with_suffix(".tmp")
    with draft.open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, "roots": wanted}, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the writer's lock. The operating system frees it when its holder dies, however it dies."""
    with faults(folder, "write"):
        file = (folder / "writer.lock").open("a+", encoding="utf-8")
    with file:
        if not try_lock(file.fileno()):
            file.seek(0)
            holder = file.read(20).strip()
            raise LibraryFault(
                f"Another process{f' ({holder})' if holder.isdigit() else ''} is writing to the library {folder}.",
                hint="Wait until it has finished, then run the command again; reading is possible meanwhile.",
            )
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
