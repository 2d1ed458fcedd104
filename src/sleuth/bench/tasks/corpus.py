"""A set's passages as one file that `sleuth index` reads: each once by its content, kept by a digest of where they came from."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

from sleuth.bench.tasks import fetch
from sleuth.bench.tasks.files import Source, repaired
from sleuth.bench.tasks.kinds import Paragraph, Row, digest, joined
from sleuth.errors import BadInput, EnvironmentFault

VERSION = "1"
"""Of what is written. A change makes kept files be written anew."""
PAGES = ("corpus.jsonl.gz", "corpus.jsonl", "wiki-pages.zip", "wiki-*.jsonl", "*.jsonl", "*.jsonl.gz")
_MARKS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "-COLON-": ":"}


def place(cache: Path, name: str, sources: Iterable[Source]) -> Path:
    """Where the passages of that set from these files are kept, by the files' content. Raises `BadInput`."""
    found = hashlib.blake2b(VERSION.encode(), digest_size=8)
    for source in sources:
        for file in _on_disk(source):
            try:
                found.update(f"\0{source.member}\0{fetch.sha256(file)}".encode())
            except OSError as fault:
                raise BadInput(f"{file} cannot be read: {fault.strerror or fault}.", hint="Check the path.") from fault
    return cache / f"{name}-{found.hexdigest()}.jsonl"


def _on_disk(source: Source) -> list[Path]:
    if not source.path.is_dir():
        return [source.path]
    return [one.path / one.member for one in source.members()]


def kept(passages: Iterable[Paragraph], file: Path) -> Mapping[str, str]:
    """Write the passages, each content once, all or nothing. Gives id -> kept id of those that were there already.

    Raises `BadInput` for two passages of one id that differ, `EnvironmentFault` where the file cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=file.parent, prefix=f".{file.name}.", delete=False
        ) as half:
            try:
                same = _write(passages, half)
            except BaseException:  # whatever it is, it is raised again
                half.close()
                Path(half.name).unlink(missing_ok=True)
                raise
        _same(file).write_text(json.dumps(same), encoding="utf-8")
        Path(half.name).replace(file)
    except OSError as fault:
        raise EnvironmentFault(
            f"The passages cannot be written to {file}: {fault.strerror or fault}.",
            hint="Free some space, or name another folder.",
        ) from fault
    return same


def again(file: Path) -> Mapping[str, str] | None:
    """What `kept` gave when that file was written; None where it is not there (whole)."""
    if not file.is_file():
        return None
    try:
        found = json.loads(_same(file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _same(file: Path) -> Path:
    return file.with_suffix(".same.json")


def _write(passages: Iterable[Paragraph], half: IO[str]) -> Mapping[str, str]:
    first: dict[str, str] = {}
    content: dict[str, str] = {}
    same: dict[str, str] = {}
    for one in passages:
        mark = digest(one.title, one.text)
        if content.setdefault(one.id, mark) != mark:
            raise BadInput(f"Two different passages have the id '{one.id}'.", hint="Give each passage its own id.")
        if mark in first:
            if first[mark] != one.id:
                same[one.id] = first[mark]
        elif one.text:
            first[mark] = one.id
            line = {"id": one.id, "title": one.title, "text": one.text}
            half.write(json.dumps(line, ensure_ascii=False) + "\n")
    return same


def read(source: Source, prefix: str) -> Iterator[Paragraph]:
    """The passages of a corpus: our own lines, FEVER's wiki-pages, or any JSON lines with title and text.

    Raises `BadInput`, naming file and line.
    """
    for one in _parts(source):
        for where, row in one.rows():
            try:
                yield _passage(row, prefix)
            except ValueError as fault:
                raise BadInput(
                    f"{where} is no passage: {fault}.", hint='Give "title" and "text" (and "id").'
                ) from fault


def _parts(source: Source) -> list[Source]:
    members = source.members()
    for pattern in PAGES if len(members) > 1 else ():
        if found := [one for one in members if fnmatch.fnmatch(one.name, pattern)]:
            return found
    return members


def _passage(row: Row, prefix: str) -> Paragraph:
    body = row.get("text")
    if "lines" in row and "title" not in row:  # a page of FEVER's
        title = wiki_title(str(row.get("id", "")))
        return Paragraph(f"{prefix}-{digest(title)}", title, wiki_text(str(body or "")))
    if body is None and isinstance(row.get("sentences"), list):
        body = joined(row["sentences"])
    if not isinstance(body, str):
        raise ValueError('no "text"')
    title, body = repaired(str(row.get("title") or "")).strip(), repaired(body).strip()
    name = repaired(str(row["id"])) if row.get("id") not in (None, "") else f"{prefix}-{digest(title, body)}"
    return Paragraph(name, title, body)


def wiki_title(name: str) -> str:
    """A page's title as Wikipedia writes it, from FEVER's name of it: "Reign_Over_Me_-LRB-film-RRB-"."""
    for mark, sign in _MARKS.items():
        name = name.replace(mark, sign)
    return " ".join(repaired(name).replace("_", " ").split())


def wiki_text(body: str) -> str:
    """FEVER's page text with its brackets put back."""
    for mark, sign in _MARKS.items():
        body = body.replace(mark, sign)
    return repaired(body).strip()


def by_title(file: Path, wanted: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Title -> ids in a kept file, for these titles (compared without case and spacing)."""
    names = {plain(title) for title in wanted}
    found: dict[str, tuple[str, ...]] = {}
    for _, row in Source(file).rows():
        name = plain(str(row["title"]))
        if name in names:
            found[name] = (*found.get(name, ()), str(row["id"]))
    return found


def plain(title: str) -> str:
    """A title for comparing."""
    return " ".join(title.split()).casefold()
