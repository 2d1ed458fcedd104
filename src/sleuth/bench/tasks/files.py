"""Files of questions row by row, whatever they are packed in: .json, .jsonl, .csv, .tsv, in a folder, .gz or .zip.

What a file is, is told by its content. Nothing is unpacked onto the disk, so no name in an archive becomes a path.
"""

from __future__ import annotations

import codecs
import csv
import fnmatch
import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any

from sleuth.errors import BadInput

BLOCK = 1 << 18
MOST_BYTES = 16 << 30
"""Of one file when it is unpacked."""
FREE_BYTES = 64 << 20
"""So much may come out of any archive; beyond it, at most RATIO times what went in."""
RATIO = 200
ROW_CHARACTERS = 256 << 20
MOST_FILES = 10_000
ENDINGS = (".jsonl", ".json", ".csv", ".tsv")
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_UNPACKING = (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def repaired(text: str) -> str:
    """The text without half characters (lone surrogates), which no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Source:
    """A file of questions: a path, and the name in it where that is a folder or a .zip ("" otherwise)."""

    path: Path
    member: str = ""

    @property
    def name(self) -> str:
        """The file's name, without folders."""
        return PurePosixPath(self.member).name if self.member else self.path.name

    def __str__(self) -> str:
        return f"{self.path} ({self.member})" if self.member else str(self.path)

    def members(self) -> list[Source]:
        """The data files in a folder or .zip, by name; of a plain file, itself. Raises `BadInput`."""
        if self.member:
            return [self]
        if self.path.is_dir():
            found = sorted(p for p in islice(self.path.rglob("*"), MOST_FILES) if p.is_file())
            names = [p.relative_to(self.path).as_posix() for p in found]
        elif is_zip(self.path):
            with _unpacked(self.path), zipfile.ZipFile(self.path) as archive:
                names = sorted(info.filename for info in archive.infolist()[:MOST_FILES] if not info.is_dir())
        else:
            return [self]
        names = [n for n in names if not n.startswith("__MACOSX/") and not PurePosixPath(n).name.startswith(".")]
        return [Source(self.path, n) for n in names if n.lower().removesuffix(".gz").endswith(ENDINGS)]

    def beside(self, *patterns: str) -> Source | None:
        """The first file with such a name in the same folder or .zip."""
        home = Source(self.path) if self.member else Source(self.path.parent)
        members = home.members() if self.member else _listed(home.path)
        for pattern in patterns:
            for one in members:
                if fnmatch.fnmatch(one.name, pattern) and one != self:
                    return one
        return None

    @contextmanager
    def opened(self) -> Iterator[io.BufferedReader[Any]]:
        """Its bytes, unpacked; more than is sensible is an error. Raises `BadInput`."""
        if self.member and self.path.is_dir():
            with Source(self.path / self.member).opened() as stream:
                yield stream
            return
        with _unpacked(self.path):
            if self.member:
                with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as inner:
                    packed = archive.getinfo(self.member).compress_size
                    with _plain(inner, packed, str(self)) as stream:
                        yield stream
            else:
                with self.path.open("rb") as inner, _plain(inner, self.path.stat().st_size, str(self)) as stream:
                    yield stream

    def rows(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Each row, with the place where it stands in words. Raises `BadInput`, naming it."""
        with self.opened() as stream, _text(stream, self) as lines:
            start = lines.first()
            if start == "[":
                yield from _array(lines, self)
            elif start == "{":
                yield from _objects(lines, self)
            else:
                yield from _table(lines, self)

    def whole(self) -> Any:
        """A JSON file as one value. Raises `BadInput`."""
        with self.opened() as stream, _text(stream, self) as lines:
            try:
                return json.loads(lines.read())
            except (ValueError, RecursionError) as fault:
                raise BadInput(f"{self} is not JSON: {_short(fault)}.") from fault

    def head(self) -> Mapping[str, Any]:
        """Its first row, {} where it has none. Raises `BadInput`."""
        for _, row in self.rows():
            return row
        return {}


def is_zip(path: Path) -> bool:
    """Does the file begin like a .zip?"""
    try:
        with path.open("rb") as stream:
            return stream.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False


def _listed(folder: Path) -> list[Source]:
    """The files in a folder, by name. Those in folders under it are not looked at."""
    try:
        return [Source(path) for path in sorted(islice(folder.iterdir(), MOST_FILES)) if path.is_file()]
    except OSError:
        return []


@contextmanager
def _unpacked(path: Path) -> Iterator[None]:
    """What can go wrong with a file on the disk, said in words."""
    try:
        yield
    except _UNPACKING as fault:
        raise BadInput(f"{path} is damaged: {_short(fault)}.", hint="Download it again.") from fault
    except KeyError as fault:
        raise BadInput(f"{path} holds no such file: {_short(fault)}.") from fault
    except UnicodeError as fault:
        raise BadInput(f"{path} is not text in UTF-8: {_short(fault)}.", hint="Save it as UTF-8.") from fault
    except OSError as fault:
        raise BadInput(f"{path} cannot be read: {fault.strerror or fault}.", hint="Check the path.") from fault


class _Bounded(io.RawIOBase):
    """A stream that ends with an error after so many bytes."""

    def __init__(self, inner: IO[bytes] | gzip.GzipFile, most: int, name: str) -> None:
        self._inner, self._left, self._name = inner, most, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._inner.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise BadInput(f"{self._name} unpacks to far more than it should.", hint="It is damaged, or no data set.")
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def _plain(inner: IO[bytes], packed: int, name: str) -> Iterator[io.BufferedReader[Any]]:
    """The stream's bytes, un-gzipped where they are .gz, and bounded."""
    most = min(MOST_BYTES, max(FREE_BYTES, RATIO * packed))
    stream = io.BufferedReader(_Bounded(inner, most, name), BLOCK)
    if stream.peek(2)[:2] != b"\x1f\x8b":
        yield stream
        return
    with gzip.GzipFile(fileobj=stream) as loose:
        yield io.BufferedReader(_Bounded(loose, most, name), BLOCK)


@contextmanager
def _text(stream: io.BufferedReader[Any], source: Source) -> Iterator[_Rewound]:
    head = stream.peek(4)[:4]
    encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
    lines = io.TextIOWrapper(stream, encoding=encoding, newline="")
    try:
        yield _Rewound(lines)
    except UnicodeError as fault:
        raise BadInput(f"{source} is not text in UTF-8: {_short(fault)}.", hint="Save it as UTF-8.") from fault
    finally:
        lines.detach()


class _Rewound:
    """Text whose beginning can be looked at before it is read."""

    def __init__(self, inner: io.TextIOWrapper) -> None:
        self._inner, self._held = inner, ""

    def first(self) -> str:
        """The first character that is no space, "" where there is none."""
        for _ in range(64):
            if self._held.strip():
                break
            more = self._inner.read(4096)
            self._held += more
            if not more:
                break
        return self._held.lstrip()[:1]

    def read(self, size: int = -1) -> str:
        held, self._held = self._held, ""
        if size < 0:
            return held + self._inner.read()
        return held if held else self._inner.read(size)

    def readline(self, most: int) -> str:
        end = self._held.find("\n")
        if end >= 0:
            line, self._held = self._held[: end + 1], self._held[end + 1 :]
            return line
        held, self._held = self._held, ""
        return held + self._inner.readline(most)

    def __iter__(self) -> Iterator[str]:
        while line := self.readline(ROW_CHARACTERS):
            yield line


def _array(lines: _Rewound, source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a JSON list, one after the other: the list may be larger than memory."""
    decoder, held, number, step = json.JSONDecoder(), lines.read(BLOCK).lstrip()[1:], 0, BLOCK
    while True:
        held = held.lstrip().removeprefix(",").lstrip() if number else held.lstrip()
        if held.startswith("]"):
            return
        try:
            value, end = decoder.raw_decode(held)
            if end == len(held) and not isinstance(value, dict):
                raise ValueError("it may go on")
        except (ValueError, RecursionError) as fault:
            more = lines.read(step) if len(held) < ROW_CHARACTERS else ""
            if not more:
                where = f"Record {number + 1} of {source}"
                raise BadInput(f"{where} is not JSON: {_short(fault)}.", hint="Is the file whole?") from fault
            held, step = held + more, min(step * 2, ROW_CHARACTERS)
            continue
        number, held, step = number + 1, held[end:], BLOCK
        yield f"Record {number} of {source}", _row(value, f"Record {number} of {source}")


def _objects(lines: _Rewound, source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """JSON lines; or, where the first line is no object of its own, one JSON object."""
    number = 0
    for line in lines:
        number += 1
        if not line.strip():
            continue
        where = f"Line {number} of {source}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as fault:
            if line.strip() == "{":
                yield _pretty(line + lines.read(ROW_CHARACTERS) + lines.read(ROW_CHARACTERS), source)
                return
            raise BadInput(f"{where} is not JSON: {_short(fault)}.", hint="Is the file whole?") from fault
        yield where, _row(value, where)


def _pretty(text: str, source: Source) -> tuple[str, Mapping[str, Any]]:
    try:
        return f"Record 1 of {source}", _row(json.loads(text), f"Record 1 of {source}")
    except (ValueError, RecursionError) as fault:
        raise BadInput(f"{source} is not JSON: {_short(fault)}.", hint="Is the file whole?") from fault


def _table(lines: _Rewound, source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of a table with a header, as texts by column. Tabs, semicolons or commas part the columns."""
    header = lines.readline(ROW_CHARACTERS)
    mark = separator(header)
    reader = csv.reader(_chain(header, lines), delimiter=mark)
    try:
        names = [name.strip() for name in next(reader, [])]
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield f"Line {reader.line_num} of {source}", dict(zip(names, cells, strict=False))
    except csv.Error as fault:
        raise BadInput(f"Line {reader.line_num} of {source} is no row of a table: {_short(fault)}.") from fault


def separator(header: str) -> str:
    """What parts the columns of a table, by its first line."""
    return max(",\t;", key=lambda mark: (header.count(mark), mark == ","))


def _chain(first: str, rest: _Rewound) -> Iterator[str]:
    yield first
    yield from rest


def _row(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{where} is no JSON object.", hint="Each question is one object.")
    return value


def _short(fault: BaseException) -> str:
    return " ".join(str(fault).split())[:200] or type(fault).__name__
