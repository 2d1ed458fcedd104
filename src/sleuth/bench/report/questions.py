"""Questions one by one: every method's hops side by side, where they part first, and what became of each."""

from __future__ import annotations

from collections.abc import Sequence

from sleuth.bench.differences import difference
from sleuth.bench.folder import Cell
from sleuth.bench.questions import Question
from sleuth.bench.report.blocks import Card, Cards, Side
from sleuth.bench.report.reading import Reading, Told
from sleuth.bench.report.tables import lettered, mark, right_by
from sleuth.bench.report.words import clean, counted, listed, named, number

MOST_CHARACTERS = 3_000_000
"""Characters of all questions of a report together."""
MOST_HOPS = 12
"""Hops of a run that are shown."""
TEXT = 280
"""Characters of a text in a card."""
ORDER = {"differ": 0, "open": 1, "wrong": 2, "right": 3}
"""What is shown first where not all can be."""
STATES = {"differ": "methods disagree", "wrong": "all wrong", "right": "all right", "open": "not all have run"}


def cards(reading: Reading, task: str, most: int = MOST_CHARACTERS) -> Cards:
    """The task's questions in their order; where all would be too long, those that tell most, and a word of what is left out."""
    every = [_card(reading, task, question) for question in reading.questions[task]]
    kept: set[int] = set()
    room = most
    for at in sorted(range(len(every)), key=lambda at: (ORDER[every[at].state], at)):
        room -= _size(every[at])
        if room < 0 and kept:
            break
        kept.add(at)
    left = ""
    if len(kept) < len(every):
        left = (
            f"Shown here are {len(kept):,} of {len(every):,} questions, those on which methods disagree first, then those "
            "that none got right. The others are in the bench's folder: questions with gold under tasks/, and each run's "
            "trace under runs/, which sleuth runs show reads."
        )
    return Cards(task, tuple(card for at, card in enumerate(every) if at in kept), left)


def _size(card: Card) -> int:
    words = [card.question, card.gold, card.parts, card.about]
    for side in card.sides:
        words += [side.head, side.answer, side.facts, side.trace, *side.hops]
    return sum(map(len, words)) + 40 * len(words)


def _card(reading: Reading, task: str, question: Question) -> Card:
    cells = reading.cells(task)
    told = [reading.told[cell].get(question.id) for cell in cells]
    by = right_by(reading, task)
    right = [reading.values(cell, by).get(question.id) for cell in cells]
    sides = tuple(_side(reading, cell, question, each) for cell, each in zip(cells, told, strict=True))
    gold = " / ".join(clean(answer, TEXT) for answer in question.answers[:6]) or "none is given"
    about = "; ".join(
        filter(None, (question.type, question.level, f"gold pages: {_titles(question)}" if question.supporting else ""))
    )
    return Card(
        clean(question.id, 80), clean(question.text, 600), gold, clean(about, 400), _state(right), _parts(reading, cells, told), sides
    )  # fmt: skip


def _titles(question: Question) -> str:
    return listed([clean(title, 80) for title in dict.fromkeys(question.supporting)][:8])


def _state(right: Sequence[float | None]) -> str:
    ended = [value == 1.0 for value in right if value is not None]
    if True in ended and False in ended:
        return "differ"
    if len(ended) < len(right):
        return "open"
    return "right" if all(ended) else "wrong"


def _side(reading: Reading, cell: Cell, question: Question, told: Told | None) -> Side:
    trace = reading.folder.trace(cell, question.id).relative_to(reading.folder.folder).as_posix()
    head = lettered(reading, cell)
    if told is None:
        return Side(head, None, "has not ended", "", ())
    value = reading.values(cell, right_by(reading, cell.task)).get(question.id)
    answer = clean(told.answer, TEXT) or f"no answer ({told.status}; ended: {told.ended.replace('_', ' ')})"
    hops = [_hop(at, hop.question, hop.query, hop.answer, hop.outcome, [p.title for p in hop.evidence]) for at, hop in enumerate(told.hops[:MOST_HOPS], 1)]  # fmt: skip
    if len(told.hops) > MOST_HOPS:
        hops.append(f"and {len(told.hops) - MOST_HOPS} more hops, in the trace")
    return Side(
        head, None if value is None else value == 1.0, answer, _facts(reading, cell, question, told), tuple(hops), trace
    )


def _facts(reading: Reading, cell: Cell, question: Question, told: Told) -> str:
    scored = {name: reading.values(cell, name).get(question.id) for name in reading.metrics[cell.task][:4]}
    words = [f"{named(name)} {number(name, value)}" for name, value in scored.items() if value is not None]
    for name in ("calls", "tokens", "seconds"):
        value = reading.values(cell, name).get(question.id)
        if value is not None:
            words.append(counted(round(value), name[:-1]) if value >= 1 else f"{value:.2g} {name}")
    sure = reading.values(cell, "confidence").get(question.id)
    words += [f"confidence {sure:.2f}"] if sure is not None else []
    words.append(f"{told.verdict.kind.replace('_', ' ')} ({clean(told.verdict.rule, 120)})")
    words += [clean(told.note, TEXT)] if told.note else []
    return "; ".join(words)


def _hop(at: int, question: str, query: str, answer: str, outcome: str, titles: Sequence[str]) -> str:
    words = [f"{at}. {clean(question, TEXT)}"]
    if query and query != question:
        words.append(f"searched: {clean(query, TEXT)}")
    found = listed([clean(title, 60) for title in dict.fromkeys(titles)][:6])
    words.append(f"found: {found}" if found else f"found nothing ({outcome})")
    if answer:
        words.append(f"so: {clean(answer, TEXT)}")
    return " → ".join(words)


def _parts(reading: Reading, cells: Sequence[Cell], told: Sequence[Told | None]) -> str:
    """Where the runs that looked something up part first."""
    rows = [each for each in told if each is not None and each.hops]
    where = [cell for cell, each in zip(cells, told, strict=True) if each is not None and each.hops]
    if len(rows) < 2:
        return ""
    found = difference(rows, range(len(rows)))
    if found is None:
        return f"{listed([mark(reading, cell) for cell in where])} made the same hops."
    groups = []
    for places, hop in found.groups():
        letters = listed([mark(reading, where[place]) for place in places])
        groups.append(
            f"{letters}: {_did(hop.query or hop.question, [p.title for p in hop.evidence]) if hop else 'no such hop'}"
        )
    fields = f" in the {listed(found.fields)}" if found.fields else ""
    return f"They part at hop {found.hop}{fields}. " + "; ".join(groups) + "."


def _did(asked: str, titles: Sequence[str]) -> str:
    found = listed([clean(title, 50) for title in dict.fromkeys(titles)][:4]) or "nothing"
    return f"“{clean(asked, 120)}” found {found}"
