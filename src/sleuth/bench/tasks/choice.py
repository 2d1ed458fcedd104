"""Which questions of a set are asked: a committed list of ids, a split, or a sample that the ids and a seed decide.

A sample does not depend on the order of the file, and a smaller one (not stratified) is part of every larger one.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from sleuth.bench.questions import Question
from sleuth.errors import BadInput

SHOWN = 5


def listed(questions: Sequence[Question], file: Path) -> tuple[Question, ...]:
    """The questions whose ids stand in the file, one a line, in its order; lines that begin with # say something else.

    Raises `BadInput` for ids that are not there or stand twice.
    """
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as fault:
        raise BadInput(
            f"The list of ids {file} cannot be read: {getattr(fault, 'strerror', '') or fault}.",
            hint="Give a text file, one id a line.",
        ) from fault
    wanted = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not wanted:
        raise BadInput(f"There is no id in {file}.", hint="Give a text file, one id a line.")
    known = {question.id: question for question in questions}
    lost = [name for name in wanted if name not in known]
    if lost:
        raise BadInput(
            f"{len(lost)} of the {len(wanted)} ids in {file} are not in this set: {_some(lost)}.",
            hint="Was the list made for another file of the set?",
        )
    if len(set(wanted)) < len(wanted):
        twice = [name for name in dict.fromkeys(wanted) if wanted.count(name) > 1]
        raise BadInput(f"{file} names these ids twice: {_some(twice)}.", hint="Remove one of each.")
    return tuple(known[name] for name in wanted)


def sampled(questions: Sequence[Question], n: int, *, seed: int = 0, stratify: bool = False) -> tuple[Question, ...]:
    """`n` of the questions, those whose hashed ids come first; stratified: from each stratum its share of `n`.

    Shares are rounded by the largest remainder, so they add up to `n`. Raises `BadInput` where there are not so many.
    """
    if n < 1:
        raise BadInput(f"A sample of {n} questions is none.", hint="Give a number from 1 up.")
    if n > len(questions):
        raise BadInput(
            f"A sample of {n} was asked for, and there are {len(questions)} questions.", hint="Ask for fewer."
        )
    ordered = sorted(questions, key=lambda question: (_draw(question.id, seed), question.id))
    if not stratify:
        return tuple(ordered[:n])
    strata = defaultdict(list)
    for question in ordered:
        strata[stratum(question)].append(question)
    share = shares({name: len(members) for name, members in strata.items()}, n)
    chosen = {question.id for name, members in strata.items() for question in members[: share[name]]}
    return tuple(question for question in ordered if question.id in chosen)


def stratum(question: Question) -> str:
    """A claim's label, a question's type."""
    if question.kind == "claim":
        return question.answers[0] if question.answers else ""
    return question.type


def shares(sizes: dict[str, int], n: int) -> dict[str, int]:
    """`n` shared out in proportion to the sizes, by the largest remainder (Hamilton's method); ties by name."""
    whole = sum(sizes.values())
    share = {name: size * n // whole for name, size in sizes.items()}
    rest = sorted(sizes, key=lambda name: (-(sizes[name] * n % whole), name))
    for name in rest[: n - sum(share.values())]:
        share[name] += 1
    return share


def _draw(name: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=16).digest()


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
