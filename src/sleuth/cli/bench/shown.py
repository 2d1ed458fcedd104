"""A bench's numbers for the terminal: a table a task, and what to type next."""

from __future__ import annotations

import math
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sleuth.cli.screen import put, put_json, stdout
from sleuth.cli.text import one_line

if TYPE_CHECKING:
    from sleuth.bench.folder import BenchFolder
    from sleuth.bench.statistics import Difference
    from sleuth.bench.summary import Row, Score, Summary

NAMES = {"em": "EM", "f1": "F1", "label": "accuracy"}


def put_summary(folder: BenchFolder, *, as_json: bool) -> None:
    """Every task's table, or all of it as one JSON object."""
    from sleuth.bench.summary import summary

    found = summary(folder)
    if as_json:
        put_json({"folder": str(folder.folder), "tasks": [_as_json(each) for each in found]})
        return
    for each in found:
        _put_task(each, len(folder.plan().models) > 1)
    put(stdout(), ("next  ", "bold"), f"sleuth bench report {shlex.quote(str(folder.folder))}")


def duration(seconds: float) -> str:
    """ "40 s", "12 min", "3.2 h"; "unknown" for what is infinite."""
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _put_task(each: Summary, models: bool) -> None:
    metrics = [NAMES.get(name, name) for name in each.task.metrics[:2]]
    first = each.rows[0].cell if each.rows else None
    heads = ["method", "n", *(f"{name} (95%)" for name in metrics)]
    heads += [f"less {first.method if first else ''}", "calls", "tokens", "seconds", "$"]
    rows = [_cells(row, each.task.metrics[:2], models) for row in each.rows]
    if each.majority is not None:
        top = each.majority
        rows.append(
            [
                f"majority label ({top.label})",
                str(top.n),
                _interval(top.share, top.low, top.high),
                *[""] * (len(metrics) - 1),
                "",
                "0",
                "0",
                "0",
                "0",
            ]
        )
    put(stdout(), (f"{each.task.name}", "bold"))
    _put_aligned([heads, *rows])


def _put_aligned(lines: list[list[str]]) -> None:
    """Columns as wide as their widest cell; words from the left, numbers from the right."""
    console = stdout()
    wide = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = [line[0].ljust(wide[0]), *(cell.rjust(width) for cell, width in zip(line[1:], wide[1:], strict=True))]
        put(console, ("  ".join(cells), "" if number else "bold"))


def _cells(row: Row, metrics: tuple[str, ...], models: bool) -> list[str]:
    scores = {score.metric: score for score in row.scores}
    name = f"{row.cell.method} ({row.cell.model})" if models else row.cell.method
    tokens = sum(row.costs.get(key, 0.0) for key in ("tokens_read", "tokens_cached", "tokens_written"))
    return [
        one_line(name),
        str(row.done) if row.done == row.asked else f"{row.done} of {row.asked}",
        *(_shown(scores.get(name)) for name in metrics),
        _against(row.against),
        f"{row.costs.get('calls', 0):.1f}",
        f"{tokens:,.0f}",
        f"{row.costs.get('seconds', 0):.1f}",
        f"{row.costs.get('usd', 0):.4f}" if row.costs.get("usd") else "0",
    ]


def _shown(score: Score | None) -> str:
    return "-" if score is None else _interval(score.value, score.low, score.high)


def _interval(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} ({100 * low:.0f} to {100 * high:.0f})"


def _against(difference: Difference | None) -> str:
    if difference is None:
        return ""
    told = f"{100 * difference.difference:+.1f}"
    return told if difference.shown else f"{told}: no difference shown"


def _as_json(each: Summary) -> dict[str, Any]:
    return {
        "task": each.task.name,
        "rows": [
            {
                **asdict(row.cell),
                "done": row.done,
                "asked": row.asked,
                "scores": {score.metric: asdict(score) for score in row.scores},
                "costs": dict(row.costs),
                "against_first": asdict(row.against) if row.against else None,
            }
            for row in each.rows
        ],
        "majority": {**asdict(each.majority), "share": each.majority.share} if each.majority else None,
    }
