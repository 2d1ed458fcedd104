"""Bring a library up to date with files on disk: only what changed is read; a reader sees all of it or nothing."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, TypeAlias

from sleuth.errors import BadInput, NoLibrary
from sleuth.library.links import TitleTable
from sleuth.library.read import Document, Input, Unreadable, documents, listing
from sleuth.library.split import pieces
from sleuth.library.store import FileState, Row, Snapshot, Writer, faults, to_row, writing
from sleuth.library.words import keys

if TYPE_CHECKING:
    import tantivy

Progress: TypeAlias = Callable[[int, int, str], None]
"""Told how far it is: ``progress(bytes done, bytes in all, the file being read)``."""

_RACY = 2_000_000_000  # ns: a file changed so shortly before it was read may change again within its time stamp's grain
_FEW = 0.1  # new titles per old passage, below which looking each title up is cheaper than reading every passage again


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not indexed, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class IndexSummary:
    """What `index` did. The first four count files; `documents`, `passages` and `links` are what the library now holds."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: tuple[Skipped, ...] = ()
    documents: int = 0
    passages: int = 0
    links: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Plan:
    fresh: dict[Path, FileState] = field(default_factory=dict)
    sources: list[Input] = field(default_factory=list)
    touched: list[FileState] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    unchanged: int = 0


def index(paths: Iterable[str | Path], folder: Path, *, progress: Progress | None = None) -> IndexSummary:
    """Read .txt, .md and .jsonl files under `paths` into the library in `folder`, which is made if there is none.

    Files that are as they were are not read again; changed ones replace what they held; those that vanished from a
    folder given are removed. Other files of the library stay. Everything is seen at once, when it is complete; killed
    at any moment, the library is as it was before.

    Raises `BadInput` (a path is missing, or nothing can be read: the library stays as it was), `LibraryFault`
    (disk full, damaged, or another process is writing).
    """
    began = time.monotonic()
    roots = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not roots:
        raise BadInput("No file or folder was given.", hint="Say which: `sleuth index PATH...`.")
    inputs = listing(roots)
    known = _known(folder)
    plan = _compare(inputs, roots, known)
    if not plan.sources and not plan.unchanged:
        raise BadInput(f"There is nothing to read in {', '.join(map(str, roots))}.", hint=_reasons(plan.skipped))
    if plan.sources or plan.touched or plan.gone or not known:
        with writing(folder, [str(root.resolve()) for root in roots]) as writer:
            held = _known(folder)  # again, now that nobody else writes
            if held != known:
                known, plan = held, _compare(inputs, roots, held)
            _Update(writer, known, plan, progress).run()
    added = sum(str(path) not in known for path in plan.fresh)
    documents_, passages, links = counts(Snapshot.open(folder))
    return IndexSummary(
        added,
        len(plan.fresh) - added,
        plan.unchanged,
        len(plan.gone),
        tuple(plan.skipped),
        documents_,
        passages,
        links,
        time.monotonic() - began,
    )


def counts(snapshot: Snapshot) -> tuple[int, int, int]:
    """Documents, passages and links of a library."""
    import tantivy

    with faults(snapshot.folder, "read"):
        total = snapshot.searcher.aggregate(tantivy.Query.all_query(), {"links": {"sum": {"field": "links"}}})
        links = int(total["links"]["value"] or 0)
        return snapshot.count("first", "document"), snapshot.searcher.num_docs, links


def _known(folder: Path) -> dict[str, FileState]:
    try:
        snapshot = Snapshot.open(folder)
    except NoLibrary:
        return {}
    with faults(folder, "read"):
        return snapshot.states()


def _reasons(skipped: list[Skipped]) -> str:
    if not skipped:
        return "Give .txt, .md or .jsonl files, or folders that hold some."
    told = "; ".join(f"{Path(one.path).name}: {one.reason}" for one in skipped[:5])
    return f"Skipped {told}{f', and {len(skipped) - 5} more' if len(skipped) > 5 else ''}."


def _compare(inputs: list[Input], roots: list[Path], known: dict[str, FileState]) -> _Plan:
    """What is new, changed, the same, gone, or cannot be read. Reads only files whose size or time changed."""
    plan = _Plan()
    for source in inputs:
        name = str(source.path)
        if (
            shown := name.encode("utf-8", "replace").decode()
        ) != name:  # bytes of another encoding; no index holds them
            plan.skipped.append(Skipped(shown, "the name of the file or of a folder is not UTF-8; rename it"))
            continue
        old = known.get(name)
        try:
            state = _state(source, old)
            if state is old or (old and state.digest == old.digest):
                plan.unchanged += 1
                if state is not old and (state.size, state.mtime) != (old.size, old.mtime):
                    plan.touched.append(state)
                continue
            for document in documents(source):
                plan.names.update(keys(document.title))
        except Unreadable as failure:
            plan.skipped.append(Skipped(str(source.path), str(failure)))
            if old:
                plan.gone.append(old.path)
            continue
        plan.fresh[source.path] = state
        plan.sources.append(source)
    present = {str(source.path) for source in inputs}
    folders = [root.resolve() for root in roots if root.is_dir()]
    gone = (path for path in known if path not in present and any(Path(path).is_relative_to(root) for root in folders))
    plan.gone.extend(gone)
    return plan


def _state(source: Input, old: FileState | None) -> FileState:
    now = time.time_ns()
    try:
        stat = source.path.stat()
        if not S_ISREG(stat.st_mode):
            raise Unreadable("it is not a regular file")
        if old and (stat.st_size, stat.st_mtime_ns) == (old.size, old.mtime) and old.mtime < old.read_at - _RACY:
            return old
        with source.path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as failure:
        raise Unreadable(f"it cannot be read ({failure.strerror or failure})") from failure
    return FileState(str(source.path), stat.st_size, stat.st_mtime_ns, digest, now)


class _Update:
    """One update: removes, adds, links anew, commits once."""

    def __init__(self, writer: Writer, known: dict[str, FileState], plan: _Plan, progress: Progress | None) -> None:
        self.writer, self.plan, self.progress = writer, plan, progress
        self.before = Snapshot(writer.folder, writer.index) if known else None
        self.replaced = {str(path) for path in plan.fresh} | set(plan.gone)
        old = set(self.before.names()) if self.before else set()
        self.lost = self._lost() - plan.names
        self.new = plan.names - old
        self.titles = TitleTable((old | plan.names) - self.lost)
        self.ids: set[str] = set()
        self.done, self.total = 0, sum(state.size for state in plan.fresh.values())

    def _lost(self) -> set[str]:
        """Keys of titles that only files which go, or are replaced, have."""
        if not self.before:
            return set()
        held = Counter(
            name
            for path in self.replaced
            for stored in self.before.all("path", path)
            if to_row(stored).ordinal == 0
            for name in keys(stored.get_first("title") or "")
        )
        return {name for name, times in held.items() if self.before.count("lead", name) <= times}

    def run(self) -> None:
        for path in sorted(self.replaced):
            self.writer.remove("path", path)
        for source in self.plan.sources:
            self._add(source)
            self.done += self.plan.fresh[source.path].size
        self._rewrite()
        self.writer.commit()
        self._tell(0, "")

    def _tell(self, read: int, name: str) -> None:
        if self.progress:
            self.progress(min(self.done + read, self.total), self.total, name)

    def _add(self, source: Input) -> None:
        state: FileState | None = self.plan.fresh[source.path]
        read = 0
        try:
            for number, document in enumerate(documents(source)):
                if number % 200 == 0:
                    self._tell(read, source.name)
                read += len(document.text)
                for row in self._rows(document, str(source.path)):
                    self.writer.add(row, str(source.path), state)
                    state = None
        except Unreadable as failure:  # it changed since it was compared a moment ago
            raise BadInput(
                f"{source.path} changed while it was read: {failure}.", hint="Run the command again."
            ) from failure

    def _rows(self, document: Document, path: str) -> Iterator[Row]:
        name = self._unique(document.id, path)
        own = keys(document.title)
        for ordinal, piece in enumerate(pieces(document)):
            text = document.text[piece.begin : piece.end]
            id_ = f"{name}#{ordinal + 1}" if ordinal else name
            links = tuple(self.titles.find(text, but=own))
            yield Row(id_, name, document.title, text, (piece.begin, piece.end), ordinal, piece.ends, links)

    def _unique(self, name: str, path: str) -> str:
        """The document's id, marked when another file, or an earlier line, has the same."""
        wanted, number = name, 1
        while wanted in self.ids or self._held_elsewhere(wanted):
            mark = hashlib.blake2b(path.encode(), digest_size=3).hexdigest()
            wanted = f"{name}@{mark}" if number == 1 else f"{name}@{mark}.{number}"
            number += 1
        self.ids.add(wanted)
        return wanted

    def _held_elsewhere(self, name: str) -> bool:
        if not self.before or not self.before.has("document", name):
            return False
        return any(stored.get_first("path") not in self.replaced for stored in self.before.all("document", name))

    def _rewrite(self) -> None:
        """Write anew kept passages that name a new or a lost title, and first passages of files whose time stamp changed."""
        if not self.before:
            return
        states = {state.path: state for state in self.plan.touched}
        done: set[str] = set()
        touched = (one for path in states for one in self.before.all("path", path))
        for stored in chain(self._naming_new(), self._naming_lost(), touched):
            path, row = stored.get_first("path"), to_row(stored)
            kept = stored.get_first("state")
            if row.id in done or path in self.replaced or not (kept or self.new or self.lost):
                continue
            done.add(row.id)
            links = tuple(self.titles.find(row.text, but=keys(row.title)))
            if links == row.links and not (kept and path in states):
                continue
            state = states.get(path) or (FileState(*json.loads(kept)) if kept else None)
            self.writer.remove("id", row.id)
            anew = Row(row.id, row.document, row.title, row.text, row.span, row.ordinal, row.ends, links)
            self.writer.add(anew, path, state if kept else None)

    def _naming_lost(self) -> Iterator[tantivy.Document]:
        """Kept passages that link to a title which goes."""
        for name in sorted(self.lost):
            if self.before:
                yield from self.before.all("mentions", name)

    def _naming_new(self) -> Iterator[tantivy.Document]:
        """Kept passages that may name a new title."""
        before = self.before
        if before is None or not self.new:
            return
        if len(self.new) > _FEW * before.searcher.num_docs:
            yield from before.everything()
            return
        for name in sorted(self.new):
            yield from before.phrase(name)
