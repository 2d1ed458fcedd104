"""A report as one HTML page that fetches nothing: text is escaped, and only the page's own script may run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape

from sleuth.bench.report.blocks import Block, Card, Cards, Figure, Heading, Items, Para, Side, Table
from sleuth.bench.report.figures import apart_ids
from sleuth.bench.report.page import SCRIPT, STYLE
from sleuth.bench.report.questions import STATES
from sleuth.bench.report.words import clean, counted


def html(blocks: Sequence[Block]) -> str:
    """The whole page."""
    title = next((block.text for block in blocks if isinstance(block, Heading) and block.level == 1), "Bench")
    allowed = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    head = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{said(title)}</title><style>{STYLE}</style></head><body>",
        '<a class="skip" href="#report">To the report</a>',
        _contents(blocks),
        '<main id="report">',
    ]
    body = [part for number, block in enumerate(blocks) for part in _block(block, number)]
    return "\n".join([*head, *body, f"</main><script>{SCRIPT}</script></body></html>", ""])


def said(text: str) -> str:
    """The text as it reads, in an element or an attribute."""
    return escape(clean(text), quote=True)


def _contents(blocks: Sequence[Block]) -> str:
    links = [
        f'<li><a href="#part{number}">{said(block.text)}</a></li>'
        for number, block in enumerate(blocks)
        if isinstance(block, Heading) and block.level == 2
    ]
    return f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>'


def _block(block: Block, number: int) -> Iterator[str]:
    match block:
        case Heading(level, text):
            yield f'<h{level} id="part{number}">{said(text)}</h{level}>'
        case Para(text, strong):
            yield f'<p class="finding">{said(text)}</p>' if strong else f"<p>{said(text)}</p>"
        case Items(items):
            yield f"<ul>{''.join(f'<li>{said(item)}</li>' for item in items)}</ul>"
        case Table():
            yield _table(block)
        case Figure():
            svg = apart_ids(block.draw(), f"f{number}-").replace(
                "<svg", f'<svg role="img" aria-label="{said(block.alt)}"', 1
            )
            yield f"<figure>{svg}<figcaption>{said(block.caption)}</figcaption></figure>"
        case Cards():
            yield from _cards(block, number)


def _table(table: Table) -> str:
    heads = "".join(f'<th scope="col">{said(head)}</th>' for head in table.heads) if any(table.heads) else ""
    rows = "".join(
        f'<tr><th scope="row">{said(row[0])}</th>{"".join(f"<td>{said(cell)}</td>" for cell in row[1:])}</tr>'
        for row in table.rows
    )
    kind = ' class="facts"' if not heads else ""
    caption = "" if table.folded else f"<caption>{said(table.caption)}</caption>"
    inside = (
        f"<table{kind}>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        if heads
        else f"<table{kind}>{caption}<tbody>{rows}</tbody></table>"
    )
    box = f'<div class="wide" role="region" tabindex="0" aria-label="{said(table.caption)}">{inside}</div>'
    return f"<details><summary>{said(table.caption)}</summary>{box}</details>" if table.folded else box


def _cards(cards: Cards, number: int) -> Iterator[str]:
    counts = {state: sum(card.state == state for card in cards.cards) for state in STATES}
    options = "".join(
        f'<option value="{state}">{name} ({counts[state]})</option>' for state, name in STATES.items() if counts[state]
    )
    yield f'<section class="cards" aria-label="{said(f"Questions of {cards.task}")}">'
    if cards.left_out:
        yield f"<p>{said(cards.left_out)}</p>"
    yield (
        f'<div class="filter" hidden><label for="show{number}">Show</label> <select id="show{number}">'
        f'<option value="">all ({len(cards.cards)})</option>{options}</select> '
        f'<label for="find{number}">with the words</label> <input id="find{number}" type="search">'
        f'<span class="count" role="status">{counted(len(cards.cards), "question")}</span></div>'
    )
    for card in cards.cards:
        yield _card(card)
    yield "</section>"


def _card(card: Card) -> str:
    right = sum(bool(side.right) for side in card.sides)
    ended = sum(side.right is not None for side in card.sides)
    score = f"{right} of {ended} right" if ended else "not run"
    parts = f"<p>{said(card.parts)}</p>" if card.parts else ""
    about = f"; {said(card.about)}" if card.about else ""
    return (
        f'<details class="card" data-state="{card.state}"><summary><span class="score">{score}</span> {said(card.question)}</summary>'
        f'<p class="gold">Gold: <strong>{said(card.gold)}</strong> <span class="dim">({said(card.id)}{about})</span></p>{parts}'
        f'<div class="sides">{"".join(map(_side, card.sides))}</div></details>'
    )


def _side(side: Side) -> str:
    verdict = (
        ""
        if side.right is None
        else '<span class="yes">✓ right</span>'
        if side.right
        else '<span class="no">✗ wrong</span>'
    )
    hops = "".join(f"<li>{said(hop)}</li>" for hop in side.hops)
    trace = f'<p class="dim">{said(side.trace)}</p>' if side.trace else ""
    return (
        f'<div class="side"><h4>{said(side.head)} {verdict}</h4><p class="answer">{said(side.answer)}</p>'
        f'{f"<ul>{hops}</ul>" if hops else ""}<p class="dim">{said(side.facts)}</p>{trace}</div>'
    )
