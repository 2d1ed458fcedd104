"""What a data set's loader is made of, and small readers of untrusted rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sleuth.bench.questions import Question
from sleuth.bench.tasks.files import Source, repaired

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Card:
    """What there is to know of a data set.

    `addresses` are where its authors publish it; `files` say how the official files are named (shell patterns), the
    one that is read first where several are there. `metrics` are names, the deciding one first. `labels` are the
    answers of a closed task. `source` is the paper and section that describe the data and how it is scored.
    """

    name: str
    title: str
    addresses: tuple[str, ...]
    files: tuple[str, ...]
    licence: str
    source: str
    metrics: tuple[str, ...]
    labels: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A passage of a set's corpus. `id` comes from its content, or from the corpus where that names its own."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A question as its file gives it, the passages that came with it, and the split its row names ("": none)."""

    question: Question
    passages: tuple[Paragraph, ...] = ()
    split: str = ""


Maker: TypeAlias = Callable[[Row], Entry]
"""A row to its entry. Raises KeyError, TypeError or ValueError for a row that is none, saying what is wrong."""


@dataclass(frozen=True, slots=True)
class Loader:
    """A data set's reader: `is_row` recognises a row of its official file, `opened` gives the `Maker` of an opened one.

    `pages` gives passages that stand in a file of their own, where the set has one; `companions` are such files' names.
    """

    card: Card
    is_row: Callable[[Row], bool]
    opened: Callable[[Source], Maker]
    pages: Callable[[Source], Iterator[Paragraph]] | None = None
    companions: tuple[str, ...] = ()


def paragraph(prefix: str, title: str, text: str) -> Paragraph:
    """A passage named by its content: the same title and text have the same id in every file of a set."""
    title, text = repaired(title).strip(), repaired(text).strip()
    return Paragraph(f"{prefix}-{digest(title, text)}", title, text)


def digest(*texts: str) -> str:
    """16 hexadecimal digits for these texts in this order."""
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()


def has(row: Row, *names: str) -> bool:
    """Has the row all of these columns?"""
    return all(name in row for name in names)


def text(row: Row, name: str) -> str:
    """A column that must hold text that is not blank (or a number, taken as text). Raises ValueError."""
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        raise ValueError(f'"{name}" {"holds no text" if name in row else "is missing"}')
    return repaired(str(value)).strip()


def maybe(row: Row, name: str) -> str:
    """A column's text, "" where there is none."""
    return text(row, name) if row.get(name) not in (None, "") else ""


def texts(row: Row, name: str) -> tuple[str, ...]:
    """A column that holds a list of texts, () where there is none; blank ones are left out. Raises ValueError."""
    value = row.get(name)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or any(isinstance(one, dict | list | bool) for one in value):
        raise ValueError(f'"{name}" is not a list of texts')
    return tuple(repaired(str(one)).strip() for one in value if one is not None and str(one).strip())


def rows(row: Row, name: str) -> tuple[Any, ...]:
    """A column that holds a list, () where there is none. Raises ValueError."""
    value = row.get(name)
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise ValueError(f'"{name}" is not a list')
    return tuple(value)


def once(names: Iterator[str] | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Each name once, in order, without blank ones."""
    return tuple(dict.fromkeys(name for name in names if name))


def sentences(value: Any, name: str) -> tuple[tuple[str, int], ...]:
    """[[title, number], ...] as supporting sentences. Raises ValueError."""
    found = []
    for one in value or ():
        if not isinstance(one, list | tuple) or len(one) < 2 or isinstance(one[1], bool) or not isinstance(one[1], int):
            raise ValueError(f'"{name}" is not a list of [title, sentence number]')
        found.append((repaired(str(one[0])), one[1]))
    return tuple(found)


def joined(parts: Any) -> str:
    """A paragraph's sentences as one text; a space comes between where none is."""
    if not isinstance(parts, list | tuple):
        return str(parts)
    return "".join(s if s[:1].isspace() or not i else " " + s for i, s in enumerate(map(str, parts)))
