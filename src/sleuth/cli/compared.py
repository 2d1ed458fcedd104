"""A comparison on stdout: a table where it fits, else a block for each strategy; then where their hops part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from sleuth.app.compare import Comparison, Difference, Row
from sleuth.cli.answers import ANSWERED, NO_ANSWER, as_json, many
from sleuth.cli.answers import exit_status as status_of
from sleuth.cli.board import STYLES
from sleuth.cli.screen import NARROWEST, put, put_json, stdout
from sleuth.cli.text import clean, one_line
from sleuth.errors import SleuthError
from sleuth.types import Answer, Hop, Usage

HEADS = (
    *("strategy", "answer", "status", "why ended", "grounded", "confidence", "hops", "cited", "calls"),
    *("read", "cached", "written", "seconds", "dollars"),
)
WORDS = 6
"""Columns from the left that hold words; those to their right hold numbers."""
UNBOUNDED = 10_000
"""Columns in which any table fits, to measure what it needs."""
SIDE = 36
"""Columns that one side of a difference needs at least."""


def exit_status(comparison: Comparison) -> int:
    """0 when any answered; else what all have in common (3: the surroundings), or 1."""
    codes = {_status(row) for row in comparison.rows}
    if ANSWERED in codes:
        return ANSWERED
    return codes.pop() if len(codes) == 1 else NO_ANSWER


def _status(row: Row) -> int:
    if row.error is not None:
        return row.error.exit_status if isinstance(row.error, SleuthError) else NO_ANSWER
    return status_of(row.answer) if row.answer is not None else NO_ANSWER


# --- for people -------------------------------------------------------------------------------------------------


def put_comparison(comparison: Comparison) -> None:
    """The rows, then the first hop where they part, then where each parts from the first."""
    console = stdout()
    table = _table(comparison)
    if Measurement.get(console, console.options.update(max_width=UNBOUNDED), table).maximum <= console.width:
        console.print(table, soft_wrap=False)
        for row in comparison.rows:
            if row.note:
                _put_wrapped(console, f"{row.name}: {row.note}")
    else:
        for row in comparison.rows:
            _put_block(console, row)
    if len(comparison.rows) > 1:
        put(console)
        _put_first_difference(console, comparison)
        _put_differences(console, comparison)


def _table(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, head in enumerate(HEADS):
        table.add_column(Text(head, style="bold"), justify="left" if number < WORDS else "right", no_wrap=True)
    for row in comparison.rows:
        table.add_row(*(Text(text, style=style) for text, style in _cells(row)))
    return table


def _cells(row: Row) -> Iterator[tuple[str, str]]:
    used = row.usage
    yield one_line(row.name, 32), "bold"
    yield one_line(row.text, 40) or "-", ""
    yield row.status, STYLES[row.status]
    yield row.ended.replace("_", " ") or "-", ""
    yield _grounded(row) or "-", ""
    yield _confidence(row) or "-", ""
    for number in (len(row.hops), row.verified, used.calls, used.read, used.cached, used.written):
        yield f"{number:,}", ""
    yield f"{row.seconds:.1f}", ""
    yield f"{used.usd:.4f}" if used.usd else "0", ""


def _put_block(console: Console, row: Row) -> None:
    put(console, (one_line(row.name), "bold"))
    _put_wrapped(console, row.text or "No answer.", "green" if row.status == "answered" else "yellow")
    grounded, sure = _grounded(row), _confidence(row)
    how = [
        f"{row.status}, {row.ended.replace('_', ' ')}" if row.ended else row.status,
        *([{"yes": "grounded", "no": "not grounded"}[grounded]] if grounded else []),
        *([f"confidence {sure}"] if sure else []),
    ]
    _put_wrapped(console, "; ".join(how), STYLES[row.status])
    if row.began is not None:
        used = row.usage
        cited = many(row.verified, "verified citation")
        _put_wrapped(
            console,
            f"{many(len(row.hops), 'hop')}, {cited}, {many(used.calls, 'call')}, {row.seconds:.1f} s{_paid(used)}",
        )
        _put_wrapped(console, f"read {used.read:,} new and {used.cached:,} cached tokens, wrote {used.written:,}")
    if row.note:
        _put_wrapped(console, row.note, "dim")


def _put_wrapped(console: Console, text: str, style: str = "", indent: int = 2) -> None:
    """Indented lines that fit."""
    for line in wrap(one_line(text), max(NARROWEST, console.width) - indent):
        put(console, " " * indent, (line, style))


def _put_first_difference(console: Console, comparison: Comparison) -> None:
    found = comparison.first_difference
    if found is None:
        looked = sum(bool(row.hops) for row in comparison.rows)
        if looked > 1:
            put(console, ("first difference  ", "bold"), "none: they looked up the same")
        return
    put(console, ("first difference  ", "bold"), f"hop {found.hop}: {_fields(found)}")
    sides = [(", ".join(comparison.rows[n].name for n in rows), hop) for rows, hop in found.groups()]
    if console.width // len(sides) >= SIDE:
        _put_side_by_side(console, sides)
        return
    for names, hop in sides:
        _put_wrapped(console, names, "bold")
        for head, text in _lines(hop):
            for number, line in enumerate(wrap(one_line(text), max(NARROWEST, console.width - 13))):
                put(console, (f"    {'' if number else head:<9}", "dim"), line)


def _put_side_by_side(console: Console, sides: Sequence[tuple[str, Hop | None]]) -> None:
    table = Table(box=None, pad_edge=False, width=console.width)
    table.add_column("")
    for names, _ in sides:
        table.add_column(Text(clean(names), style="bold"), ratio=1)
    columns = [dict(_lines(hop)) for _, hop in sides]
    for head in dict.fromkeys(head for column in columns for head in column):
        table.add_row(Text(head, style="dim"), *(Text(one_line(column.get(head, ""))) for column in columns))
    console.print(table, soft_wrap=False)


def _lines(hop: Hop | None) -> list[tuple[str, str]]:
    """What a run did at that hop."""
    if hop is None:
        return [("question", "(no such hop)")]
    passages = "; ".join(passage.title or passage.id for passage in hop.evidence)
    return [("question", hop.question), ("query", hop.query or hop.question), ("passages", passages or "(none)")]


def _put_differences(console: Console, comparison: Comparison) -> None:
    first, *others = comparison.rows
    put(console, (f"against {one_line(first.name)}", "bold"))
    wide = max(len(one_line(row.name)) for row in others) + 2
    for row, found in zip(others, comparison.differences, strict=True):
        text = _against(first, row, found)
        put(console, f"  {one_line(row.name):<{wide}}", text)


def _against(first: Row, row: Row, found: Difference | None) -> str:
    if found is None:
        return "the same hops" if row.hops else "no look-up, either"
    if not row.hops:
        return "no look-up"
    if None in found.hops:
        return f"hop {found.hop}: only {one_line(row.name if found.hops[0] is None else first.name)} makes it"
    return f"hop {found.hop}: {_fields(found)}"


def _fields(found: Difference) -> str:
    some = ", ".join(found.fields)
    ended = "not every run came so far" if None in found.hops else ""
    return "; ".join(part for part in (some, ended) if part)


def _grounded(row: Row) -> str:
    told = row.answer.grounded if row.answer else None
    return "" if told is None else "yes" if told else "no"


def _confidence(row: Row) -> str:
    answer = row.answer
    if answer is None or answer.confidence is None:
        return ""
    return f"{answer.confidence:.2f}" + (f" ({answer.confidence_by})" if answer.confidence_by else "")


def _paid(used: Usage) -> str:
    return f", ${used.usd:.4f}" if used.usd else ""


# --- for machines -----------------------------------------------------------------------------------------------


def put_comparison_json(comparison: Comparison) -> None:
    """The same as one JSON object."""
    first = comparison.first_difference
    put_json(
        {
            "question": comparison.question,
            "rows": [_row(row) for row in comparison.rows],
            "first_difference": _difference(comparison, first) if first else None,
            "differences": [_difference(comparison, each) if each else None for each in comparison.differences],
        }
    )


def _row(row: Row) -> dict[str, Any]:
    answer = row.answer or Answer("", "failed", "cancelled", hops=row.hops)
    return {
        "strategy": row.name,
        **as_json(answer),
        "status": row.status,
        "ended": row.ended or None,
        "note": row.note,
        "grounded": answer.grounded,
        "confidence_by": answer.confidence_by,
        "verified": row.verified,
        "usage": {name: getattr(row.usage, name) for name in Usage.__slots__},
        "seconds": row.seconds,
        "run": row.run,
        "trace": str(row.trace) if row.trace else None,
    }


def _difference(comparison: Comparison, found: Difference) -> dict[str, Any]:
    sides = zip(found.rows, found.hops, strict=True)
    return {
        "hop": found.hop,
        "fields": list(found.fields),
        "sides": [{"row": row, "strategy": comparison.rows[row].name, **_side(hop)} for row, hop in sides],
    }


def _side(hop: Hop | None) -> dict[str, Any]:
    if hop is None:
        return {"question": None, "query": None, "passages": None}
    passages = [{"id": passage.id, "title": passage.title} for passage in hop.evidence]
    return {"question": hop.question, "query": hop.query or hop.question, "passages": passages}
