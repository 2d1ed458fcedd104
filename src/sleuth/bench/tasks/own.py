"""A user's own questions: .jsonl, a .json list, .csv or .tsv, with every fault named by line and column."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from sleuth.bench.questions import Question
from sleuth.bench.tasks import uniform
from sleuth.bench.tasks.files import ENDINGS, Source, repaired, separator
from sleuth.bench.tasks.kinds import Card, Entry, Loader, Maker, Row, digest, has, text
from sleuth.errors import BadInput

MOST_BYTES = 64 << 20
SHOWN = 10
LISTS = ("answers", "supporting")
"""Columns of a table that hold several texts, parted by | (or written as a JSON list)."""
HINT = 'Give "question" and "answers" (or "answer"); "id", "supporting" and "type" where known.'

CARD = Card(
    name="own",
    title="Your own questions",
    addresses=(),
    files=("*",),
    licence="",
    source='Columns: "question", "answers" (or "answer"), and where known "id", "supporting" (titles), "type", "kind".',
    metrics=("em", "f1", "recall_hops", "all_found"),
)


def read_questions(path: Path) -> list[tuple[str, str]]:
    """The file's questions as (id, text), in order; it needs no answers. For asking, without gold. In a .txt, each line is one.

    A question without an id gets one from its text, so it stays the same when others are added. Raises `BadInput` that
    names every line that is no question (all of them in ``details["lines"]``, the first ten in words).
    """
    found, faults = [], []
    for number, row in _plain(path) or _rows(path):
        try:
            if isinstance(row, Exception):
                raise row
            found.append((number, _id(row), text(row, "question")))
        except ValueError as fault:
            faults.append((number, str(fault)))
    kept: dict[str, str] = {}
    for number, given, asked in found:
        name = given or _new(asked, kept)
        if name in kept:
            faults.append((number, f'the id "{name[:80]}" stands twice'))
        kept[name] = asked
    _raise(path, faults)
    if not kept:
        raise BadInput(f"There is no question in {path}.", hint=HINT)
    return list(kept.items())


def named(questions: Iterable[str]) -> list[tuple[str, str]]:
    """Questions as (id, text), with the ids that `read_questions` would give them. Raises `BadInput` for what is none."""
    kept: dict[str, str] = {}
    for number, asked in enumerate(questions, start=1):
        if not isinstance(asked, str) or not asked.strip():
            raise BadInput(f"Question {number} is no text.", hint="Give a list of questions.")
        kept[_new(asked.strip(), kept)] = asked.strip()
    return list(kept.items())


def entries(path: Path) -> list[Entry]:
    """The file's questions with gold. Raises `BadInput` that names every line that is none."""
    found: list[Entry] = []
    faults: list[tuple[int, str]] = []
    taken: dict[str, str] = {}
    for number, row in _rows(path):
        try:
            if isinstance(row, Exception):
                raise row
            entry = _entry(row, taken)
        except (ValueError, KeyError, TypeError) as fault:
            faults.append((number, str(fault)))
            continue
        taken[entry.question.id] = entry.question.text
        found.append(entry)
    _raise(path, sorted(faults))
    return found


def _entry(row: Row, taken: dict[str, str]) -> Entry:
    asked = text(row, "question")
    given = _id(row)
    if given in taken:
        raise ValueError(f'the id "{given[:80]}" stands twice')
    entry = uniform.entry({**row, "id": given or _new(asked, taken)})
    if not entry.question.answers:
        raise ValueError('"answers" (or "answer") is missing: the bench needs the right answer')
    return replace(entry, question=replace(entry.question, text=asked))


def _id(row: Row) -> str:
    return text(row, "id") if row.get("id") not in (None, "") and str(row["id"]).strip() else ""


def _new(asked: str, taken: dict[str, str]) -> str:
    """An id for a question without one; the same question again gets a number."""
    name, number = f"q-{digest(asked)[:10]}", 1
    while (name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return name if number == 1 else f"{name}-{number}"


def _raise(path: Path, faults: list[tuple[int, str]]) -> None:
    if not faults:
        return
    faults = sorted(faults)
    said = "; ".join(f"line {number}: {why}" for number, why in faults[:SHOWN])
    more = f"; and {len(faults) - SHOWN} more lines" if len(faults) > SHOWN else ""
    raise BadInput(f"{path} cannot be used. {said}{more}.", hint=HINT, lines=faults)


def _rows(path: Path) -> Iterator[tuple[int, Row | ValueError]]:
    """Each row with its line (in a .json list its number), or what is wrong with it."""
    body = _body(path)
    start = body.lstrip()[:1]
    if start == "[":
        yield from _list(path, body)
    elif start == "{" or path.suffix.lower() == ".jsonl":
        yield from _lines(body)
    else:
        yield from _table(path, body)


def _plain(path: Path) -> list[tuple[int, Row | ValueError]]:
    """The lines of a .txt, each a question; none of any other file, nor of one that holds JSON."""
    if path.suffix.lower() != ".txt" or (body := _body(path)).lstrip()[:1] == "{":
        return []
    return [(number, {"question": line.strip()}) for number, line in enumerate(body.splitlines(), 1) if line.strip()]


def _body(path: Path) -> str:
    """The file's text. Raises `BadInput`."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadInput(f"{path} is larger than {MOST_BYTES >> 20} MB.", hint="Split it into several files.")
        data = path.read_bytes()
    except (OSError, ValueError) as fault:
        raise BadInput(f"{path} cannot be read: {getattr(fault, 'strerror', '') or fault}.") from fault
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        body = data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeError as fault:
        raise BadInput(f"{path} is not text in UTF-8: {fault}.", hint="Save it as UTF-8.") from fault
    if "\0" in body:
        raise BadInput(f"{path} is no text.", hint=f"Give one of {', '.join(ENDINGS)}.")
    return body


def _object(value: object) -> Row | ValueError:
    return value if isinstance(value, dict) else ValueError("no JSON object")


def _list(path: Path, body: str) -> Iterator[tuple[int, Row | ValueError]]:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise BadInput(f"{path} is not JSON: {fault}.", hint="Is the file whole?") from fault
    for number, value in enumerate(values, 1):
        yield number, _object(value)


def _lines(body: str) -> Iterator[tuple[int, Row | ValueError]]:
    for number, line in enumerate(body.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, _object(json.loads(line))
        except (ValueError, RecursionError) as fault:
            yield number, ValueError(f"not JSON ({fault})")


def _table(path: Path, body: str) -> Iterator[tuple[int, Row | ValueError]]:
    mark = "\t" if path.suffix.lower() == ".tsv" else separator(body.split("\n", 1)[0])
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=mark)
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        if "question" not in names:
            shown = ", ".join(name[:30] for name in names[:8]) or "nothing"
            raise BadInput(f'The first line of {path} names no column "question" (it names: {shown}).', hint=HINT)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, _cells(names, cells)
    except csv.Error as fault:
        raise BadInput(f"Line {reader.line_num} of {path} is no row of a table: {fault}.") from fault


def _cells(names: list[str], cells: list[str]) -> Row | ValueError:
    if len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]):
        return ValueError(f"{len(cells)} columns, and the first line names {len(names)}: put quotes round commas")
    row: dict[str, object] = {name: repaired(cell).strip() for name, cell in zip(names, cells, strict=False) if cell}
    for name in LISTS:
        if isinstance(held := row.get(name), str):
            try:
                row[name] = _several(held)
            except (ValueError, RecursionError):
                return ValueError(f'"{name}" begins like a JSON list and is none')
    return row


def _several(held: str) -> list[str]:
    if held.startswith("["):
        values = json.loads(held)
        return [str(value) for value in values]
    return [part.strip() for part in held.split("|") if part.strip()]


def _opened(source: Source) -> Maker:
    taken: dict[str, str] = {}

    def entry(row: Row) -> Entry:
        made = _entry(row, taken)
        taken[made.question.id] = made.question.text
        return made

    return entry


def labels(questions: tuple[Question, ...]) -> tuple[str, ...]:
    """The labels of claims: their answers."""
    return tuple(dict.fromkeys(question.answers[0] for question in questions if question.answers))


LOADER = Loader(CARD, lambda row: has(row, "question"), _opened)
