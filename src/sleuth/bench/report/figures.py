"""Figures as SVG for a page: series differ by mark and line style as well as by colour, and the page says the colours.

The same numbers give the same bytes: ids are salted with a fixed word, no date is written, and no settings of the user's are read.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sleuth.bench.report.words import clean
from sleuth.bench.statistics import extra

INK = "#010203"
"""Stands for the page's own ink until the page says what that is; `SERIES` likewise for its colours."""
SERIES = tuple(f"#0a0b{number:02x}" for number in range(1, 8))
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1.5)), (0, (8, 2, 1, 2, 1, 2)))
WIDE = 4.7
"""Inches: the size at which letters are read on a phone, too."""
MOST_SERIES = 24


@dataclass(frozen=True, slots=True)
class Series:
    """A line or a set of points, with 95% intervals where they are known: (x, y, low, high, least x, most x)."""

    label: str
    points: tuple[tuple[float, float, float, float, float, float], ...]
    place: int = 0
    """Which mark, line and colour: that of its row in the tables."""


def lines(series: Sequence[Series], x: str, y: str, *, whole: bool = False, step: bool = False) -> str:
    """Lines with their intervals, each a little aside of the others so that all are seen."""

    def draw(axes: Any) -> None:
        for number, each in enumerate(series):
            aside = (number - (len(series) - 1) / 2) * 0.06 if whole else 0.0
            xs, ys = [point[0] + aside for point in each.points], [point[1] for point in each.points]
            how = "steps-post" if step else "default"
            axes.plot(xs, ys, **_style(each), linestyle=LINES[each.place % len(LINES)], linewidth=1.4, drawstyle=how)
            if not step:
                axes.vlines(
                    xs, [p[2] for p in each.points], [p[3] for p in each.points], color=_colour(each), linewidth=0.8
                )
        if whole:
            axes.locator_params(axis="x", integer=True)

    return _svg(draw, series, x, y)


def scatter(series: Sequence[Series], frontier: Sequence[tuple[float, float]], x: str, y: str) -> str:
    """A mark with both intervals for each series, and the line of those that no other beats."""

    def draw(axes: Any) -> None:
        if len(frontier) > 1:
            axes.plot(*zip(*frontier, strict=True), color=INK, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1)
        for each in series:
            for at, value, low, high, least, most in each.points:
                axes.hlines(value, least, most, color=_colour(each), linewidth=0.9)
                axes.vlines(at, low, high, color=_colour(each), linewidth=0.9)
                axes.plot([at], [value], **_style(each), linestyle="none")
                axes.annotate(
                    each.label.split(" ")[0], (at, value), (5, 4), textcoords="offset points", color=INK, fontsize=9
                )
        axes.set_xlim(left=0)

    return _svg(draw, series, x, y)


def _style(each: Series) -> dict[str, Any]:
    return {
        "color": _colour(each),
        "marker": MARKS[each.place % len(MARKS)],
        "markersize": 5,
        "label": clean(each.label, 60),
    }


def _colour(each: Series) -> str:
    return SERIES[each.place % len(SERIES)]


def _svg(draw: Callable[[Any], None], series: Sequence[Series], x: str, y: str) -> str:
    matplotlib = extra("matplotlib")
    rows = -(-len(series) // 2)
    high = 2.7 + 0.2 * rows
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name in letters that the measuring font lacks; the page has its own fonts
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        figure = extra("matplotlib.figure").Figure(figsize=(WIDE, high))
        axes = figure.add_axes((0.12, (0.55 + 0.2 * rows) / high, 0.85, 2.05 / high))
        draw(axes)
        axes.locator_params(axis="x", nbins=6)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.grid(visible=True, axis="y", linewidth=0.4, alpha=0.35)
        axes.spines[["top", "right"]].set_visible(False)
        handles = {
            handle.get_label(): handle for handle in axes.get_lines() if handle.get_marker() not in ("None", None)
        }
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="lower left",
            ncols=2,
            frameon=False,
            bbox_to_anchor=(0.02, 0),
            handlelength=3.2,
        )
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _fitted(out.getvalue())


_SETTINGS = {
    "svg.hashsalt": "sleuth",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "legend.fontsize": 8.5,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color"), INK
    ),
}


def _fitted(svg: str) -> str:
    """The drawing alone, in the page's own ink and colours, as wide as there is room."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace(INK, "currentColor")
    for number, colour in enumerate(SERIES, 1):
        svg = svg.replace(colour, f"var(--s{number})")
    return svg


def apart_ids(svg: str, prefix: str) -> str:
    """The same drawing with ids that are its own, for a page with several."""
    svg = re.sub(r'(\sid=")', rf"\1{prefix}", svg)
    return re.sub(r"(xlink:href=\"#|url\(#)", rf"\1{prefix}", svg)
