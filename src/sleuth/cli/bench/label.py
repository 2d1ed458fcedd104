"""``sleuth bench label``: a person says what kind of trajectory each is, blind to the method and to what the rules say."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from sleuth.cli.answers import many
from sleuth.cli.bench.errors import cells_of
from sleuth.cli.screen import Output, put, stdout, whole
from sleuth.cli.text import clean, one_line
from sleuth.errors import BadInput

if TYPE_CHECKING:
    from sleuth.bench.errors import Kind
    from sleuth.bench.folder import BenchFolder, Run

SHOWN = 6
"""Passages that are shown of a trajectory."""


def add_to(app: App) -> None:
    """Make `label` a command of `sleuth bench`."""
    app.command(label, help_epilogue="Example: sleuth bench label bench-questions --by ada")


def label(
    folder: Annotated[Path, Parameter(help="The bench's folder.")],
    *,
    by: Annotated[str, Parameter(help="Who labels; your user name, unless said.")] = "",
    method: Annotated[list[str] | None, Parameter(help="This method alone; may be repeated.", negative="")] = None,
    right: Annotated[int, Parameter(help="Right runs of each method.", converter=whole)] = 50,
    wrong: Annotated[int, Parameter(help="Wrong runs of each method.", converter=whole)] = 50,
    seed: Annotated[int, Parameter(help="Which ones, and in which order.", converter=whole)] = 0,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> None:
    """Label trajectories one by one; what is labelled is kept at once, and the same command goes on."""
    from sleuth.bench.errors import labels
    from sleuth.bench.folder import BenchFolder

    if output.json:
        raise BadInput("Labelling is a talk with a person.", hint="Read the labels: sleuth bench errors --json")
    bench, who = BenchFolder(folder), by or _user()
    runs = waiting(bench, cells_of(bench, method), right, wrong, seed)
    done = labels(bench).get(who, {})
    left = [run for run in runs if (run.cell, run.question.id) not in done]
    put(
        stdout(),
        f"{many(len(left), 'trajectory', 'trajectories')} to label as {who}, {len(done)} done. Ctrl-C or q ends at any time.",
    )
    kept = talk(bench, left, who, input)
    put(stdout(), f"{many(kept, 'label')} kept in {bench.folder / 'labels.jsonl'}.")


def waiting(bench: BenchFolder, cells: Sequence[object], right: int, wrong: int, seed: int) -> list[Run]:
    """The chosen runs of all cells, mixed by the seed so that no method shows by its place."""
    import random

    from sleuth.bench.errors import chosen
    from sleuth.bench.folder import Cell

    runs = [
        run
        for cell in cells
        if isinstance(cell, Cell)
        for each in [chosen(bench.runs(cell), right=right, wrong=wrong, seed=seed)]
        for run in (*each.right, *each.wrong)
    ]
    random.Random(seed).shuffle(runs)  # noqa: S311 - an order, not a secret
    return runs


def talk(bench: BenchFolder, left: Sequence[Run], who: str, ask: Callable[[str], str]) -> int:
    """Show each run and take its label; how many were kept. `ask` is told the prompt and gives a line."""
    from sleuth.bench.errors import Label, put_label, take_back

    at, kept = 0, 0
    while at < len(left):
        run = left[at]
        kinds = _put_run(run, at, len(left))
        try:
            said = ask("kind (a letter; s skips, u takes the last back, q ends): ").strip().lower()
        except (EOFError, KeyboardInterrupt):
            break
        if said == "q":
            break
        if said == "u" and at:
            at -= 1
            take_back(bench, left[at], who)
            kept = max(0, kept - 1)
        elif said == "s":
            at += 1
        elif said in kinds:
            cell = run.cell
            put_label(bench, Label(cell.task, cell.model, cell.method, run.question.id, kinds[said], who))
            at, kept = at + 1, kept + 1
        else:
            put(stdout(), ("Say one of the letters.", "yellow"))
    return kept


def _put_run(run: Run, at: int, of: int) -> dict[str, Kind]:
    """A trajectory in one form for every method: what was looked up, what came back, what was said. Its kinds by letter."""
    from sleuth.bench.errors import MEANING
    from sleuth.bench.errors.facts import Facts
    from sleuth.bench.errors.sample import RIGHT_KINDS, WRONG_KINDS

    if run.record is None:
        return {}
    facts = Facts(run, run.record)
    put(stdout(), "")
    put(stdout(), (f"{at + 1} of {of}  ", "dim"), (run.question.text, "bold"))
    put(stdout(), "gold      ", one_line(" | ".join(facts.gold), 200))
    put(stdout(), "answer    ", one_line(facts.answer or "none", 200))
    for look in run.record.lookups:
        titles = ", ".join(dict.fromkeys(p.title for p in look.passages)) or "nothing"
        put(stdout(), ("looked up ", "dim"), one_line(look.asked, 160), (f"  found: {one_line(titles, 160)}", "dim"))
    for passage in facts.read[:SHOWN]:
        put(stdout(), ("passage   ", "dim"), one_line(f"{passage.title}: {passage.text}", 500))
    said = [note.text for note in run.record.notes if note.kind in ("thought", "sub_answer", "plan")]
    said += [reply.completion.text for reply in run.record.replies if reply.completion and not facts.looked][:1]
    for text in said:
        put(stdout(), ("said      ", "dim"), one_line(clean(text), 500))
    kinds = dict(zip("abcdefg", RIGHT_KINDS if facts.is_right else WRONG_KINDS, strict=False))
    for letter, kind in kinds.items():
        put(stdout(), (f"  {letter}  ", "bold"), f"{kind.replace('_', ' ')}: {MEANING[kind]}")
    return kinds


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise BadInput("Who labels is not known.", hint="Say it: --by NAME") from None
