"""A report as Markdown: figures are given as their words and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sleuth.bench.report.blocks import Block, Card, Cards, Figure, Heading, Items, Para, Table
from sleuth.bench.report.questions import STATES
from sleuth.bench.report.words import clean, counted

MOST_CARDS = 30
"""Questions of a task that are written out."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&@]|:(?=//)|(?<=www)\.)")
_BEGINS = re.compile(r"^(\d*)([-+=.)])")
"""What would make a list, a rule or a heading of a line that begins with it."""


def markdown(blocks: Sequence[Block]) -> str:
    """The whole report."""
    return "\n\n".join(filter(None, map(_block, blocks))) + "\n"


def escaped(text: str) -> str:
    """One line that reads as it is in Markdown, in a table or outside: no markup, link, HTML or mention of it is left."""
    return _BEGINS.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", clean(text)))


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {escaped(text)}"
        case Para(text, strong):
            return f"**{escaped(text)}**" if strong else escaped(text)
        case Items(items):
            return "\n".join(f"- {escaped(item)}" for item in items)
        case Table():
            return _table(block)
        case Figure(_, alt, caption):
            return f"*{escaped(alt)}* {escaped(caption)}"
        case Cards():
            return _cards(block)


def _table(table: Table) -> str:
    lines = [
        f"*{escaped(table.caption)}*",
        "",
        _row(table.heads),
        "|".join(["", "---", *["---:"] * (len(table.heads) - 1), ""]),
    ]
    return "\n".join([*lines, *map(_row, table.rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def _cards(cards: Cards) -> str:
    kept = [card for card in cards.cards if card.state == "differ"][:MOST_CARDS]
    left = len(cards.cards) - len(kept)
    said = (
        f"{counted(len(kept), 'question')} on which methods disagree; {left} more are in the HTML report."
        if left
        else ""
    )
    return "\n\n".join(filter(None, [escaped(cards.left_out), escaped(said), *map(_card, kept)]))


def _card(card: Card) -> str:
    lines = [
        f"### {escaped(card.question)}",
        "",
        f"Gold: {escaped(card.gold)} ({escaped(card.id)}; {STATES[card.state]})",
    ]
    if card.parts:
        lines += ["", escaped(card.parts)]
    lines.append("")
    for side in card.sides:
        right = "" if side.right is None else " (right)" if side.right else " (wrong)"
        lines.append(f"- {escaped(side.head)}: {escaped(side.answer)}{right}. {escaped(side.facts)}".rstrip())
        lines += [f"  - {escaped(hop)}" for hop in side.hops]
    return "\n".join(lines)
