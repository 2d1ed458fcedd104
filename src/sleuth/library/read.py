"""Files to documents: .txt, .md and .jsonl, in UTF-8 (a byte order mark, or UTF-16 with one, is understood)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from sleuth.errors import BadInput
from sleuth.library.words import sound

Kind: TypeAlias = Literal["plain", "markdown", "record"]
KINDS: dict[str, Kind] = {".txt": "plain", ".md": "markdown", ".jsonl": "record"}

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_FRONT = re.compile(r"\A---\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """One article. `text` is the file's text as Python reads it (newlines are ``\\n``), or a record's text.

    `id` is the record's own id, else the place: "notes/tower.md", "pages.jsonl:12". `begin` is where the body begins
    (after front matter).
    """

    id: str
    title: str
    text: str
    kind: Kind = "plain"
    begin: int = 0


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read: its real path, and the name its documents go by."""

    path: Path
    name: str


class Unreadable(Exception):
    """Why a file cannot be read; becomes the reason it was skipped."""


def listing(paths: Iterable[Path]) -> list[Input]:
    """All files to read under these paths, sorted, each once.

    Folders are walked to the bottom; in them hidden files, files of other kinds, and links that lead out of the
    folder are passed over. Raises `BadInput` for a path that does not exist.
    """
    found: dict[Path, Input] = {}
    for path in paths:
        if not path.exists():
            raise BadInput(f"There is no file or folder {path}.", hint="Check the spelling, or give another path.")
        root = path.resolve()
        inputs = _walk(root) if root.is_dir() else [Input(root, root.name)]
        for one in inputs:
            found.setdefault(one.path, one)
    return sorted(found.values(), key=lambda one: str(one.path))


def _walk(root: Path) -> Iterator[Input]:
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in names:
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() not in KINDS or not path.is_file():
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                continue
            yield Input(path.resolve(), str(Path(root.name, path.relative_to(root)).as_posix()))


def documents(source: Input) -> Iterator[Document]:
    """The documents of a file, in order; files are read piece by piece where their kind allows.

    Raises `Unreadable` (with the reason) at the first byte that cannot be read.
    """
    kind = KINDS.get(source.path.suffix.lower())
    if kind is None:
        raise Unreadable("not a .txt, .md or .jsonl file")
    encoding = _encoding(source.path)
    try:
        if kind == "record":
            yield from _records(source, encoding)
        else:
            yield from _text(source, encoding, kind)
    except UnicodeError as failure:
        raise Unreadable(f"its text is not {encoding.upper()} ({failure}); save it as UTF-8") from failure
    except OSError as failure:
        raise Unreadable(f"it cannot be read ({failure.strerror or failure})") from failure


def _encoding(path: Path) -> str:
    try:
        with path.open("rb") as file:
            head = file.read(8192)
    except OSError as failure:
        raise Unreadable(f"it cannot be read ({failure.strerror or failure})") from failure
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        raise Unreadable("it is a binary file, not text")
    return "utf-8"


def _text(source: Input, encoding: str, kind: Kind) -> Iterator[Document]:
    text = source.path.read_text(encoding=encoding)
    if "\0" in text:
        raise Unreadable("it is a binary file, not text")
    if not text.strip():
        raise Unreadable("it is empty")
    front = _FRONT.match(text) if kind == "markdown" else None
    begin = front.end() if front else 0
    if not text[begin:].strip():
        raise Unreadable("it is empty")
    title = source.path.stem.replace("_", " ")
    if kind == "markdown":
        heading = _HEADING.search(text, begin)
        named = _FRONT_TITLE.search(front[0]) if front else None
        title = (heading[1] if heading else "") or (named[1].strip("\"'") if named else "") or title
    yield Document(source.name, _line(title) or _line(source.path.stem), text, kind, begin)


def _line(title: str) -> str:
    """A title stands in one line, wherever it is shown."""
    return " ".join(title.split())


def _records(source: Input, encoding: str) -> Iterator[Document]:
    """Good lines are read and bad ones passed over; a file of bad lines only is unreadable, with the first one's reason."""
    fault, good = "", False
    with source.path.open(encoding=encoding) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                document = record(line, f"{source.name}:{number}")
            except ValueError as failure:
                fault = fault or f"line {number}: {failure}"
                continue
            good = True
            yield document
    if not good:
        raise Unreadable(fault or "it is empty")


def record(line: str, place: str) -> Document:
    """A line of .jsonl as a document: ``{"title", "text"}``, with ``"id"`` if it has one. Raises ValueError if it is not one."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as failure:
        raise ValueError("not JSON") from failure
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    text, title, name = row.get("text"), row.get("title"), row.get("id")
    if text is None and isinstance(row.get("sentences"), list):
        text = " ".join(str(sentence).strip() for sentence in row["sentences"])
    if not isinstance(text, str) or not text.strip():
        raise ValueError('no "text"')
    named = str(name) if isinstance(name, str | int) and str(name) else place
    return Document(sound(named), sound(_line(title) if isinstance(title, str) else ""), sound(text), "record")
