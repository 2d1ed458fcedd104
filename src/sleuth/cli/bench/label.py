"""``sleuth bench label``: a person says what kind of trajectory each is, blind to the method and to what the rules say."""

from __future__ import annotations

import getpass
import re
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
    from sleuth.bench.record import Record

PROMPT = "kind (a letter; s skips, u goes back, r shows the rules' verdict on the last one, q ends): "
_LABEL = re.compile(
    r"\b(?:thought|action|observation)(?:\s*\d+)?\s*:|\bfollow[- ]?up(?: questions?)?\s*:|\bintermediate answer\s*:"
    r"|\bare follow[- ]up questions needed here\s*:(?:\s*(?:yes|no)\.?)?|\bso the (?:final )?answer is\s*:?"
    r"|\b(?:search|lookup|finish)\[|\]",
    re.IGNORECASE,
)
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
    """Show each run and take its label; how many runs are labelled at the end. `ask` is told the prompt and gives a line."""
    from sleuth.bench.errors import SEEN, Label, put_label, take_back

    at, kept, seen = 0, set[int](), set[int]()
    shown = -1
    kinds: dict[str, Kind] = {}
    while at < len(left):
        run = left[at]
        if at != shown:  # after a slip or the rules' verdict it is still on the screen
            shown, kinds = at, _put_run(run, at, len(left))
        try:
            said = ask(PROMPT).strip().lower()
        except (EOFError, KeyboardInterrupt):
            break
        if said == "q":
            break
        if said == "u" and at:
            at -= 1
            if at in kept and at not in seen:
                take_back(bench, left[at], who)
            kept.discard(at)
        elif said == "r" and at - 1 in kept:
            seen.add(at - 1)
            _put_rules(left[at - 1])
        elif said == "s":
            at += 1
        elif said in kinds:
            cell = run.cell
            note = SEEN if at in seen else ""
            put_label(bench, Label(cell.task, cell.model, cell.method, run.question.id, kinds[said], who, note))
            kept.add(at)
            at += 1
        else:
            put(stdout(), ("That is none of the letters.", "yellow"))
    return len(kept)


def _put_rules(run: Run) -> None:
    """What the rules say of a run that has been labelled."""
    from sleuth.bench.errors import classify

    verdict = classify(run)
    sure = "" if verdict.sure else " (not sure)"
    told = f"{verdict.kind.replace('_', ' ')} by {verdict.rule}{sure}: {verdict.evidence}"
    put(stdout(), ("the rules ", "dim"), one_line(told, 400))
    put(stdout(), ("u goes back to correct yours; the blind label stays the one that agreement counts.", "dim"))


def _put_run(run: Run, at: int, of: int) -> dict[str, Kind]:
    """A trajectory in one form for every method: what was looked up, what came back, what was said. Its kinds by letter."""
    from sleuth.bench.errors import MEANING
    from sleuth.bench.errors.facts import Facts
    from sleuth.bench.errors.sample import RIGHT_KINDS, WRONG_KINDS

    if run.record is None:
        return {}
    facts = Facts(run, run.record)
    put(stdout(), "")
    put(stdout(), (f"{at + 1} of {of}  ", "dim"), (one_line(run.question.text, 500), "bold"))
    put(stdout(), "gold      ", one_line(" | ".join(facts.gold), 200))
    if run.question.supporting:
        put(stdout(), "its pages ", one_line(" | ".join(run.question.supporting), 300))
    put(stdout(), "answer    ", one_line(facts.record.text or "none", 200))
    for look in run.record.lookups:
        titles = ", ".join(dict.fromkeys(p.title or p.id for p in look.passages)) or "nothing"
        put(stdout(), ("looked up ", "dim"), one_line(look.asked, 160), (f"  found: {one_line(titles, 160)}", "dim"))
    for passage in dict.fromkeys((*facts.gold_seen, *facts.read)[: SHOWN + len(facts.gold_seen)]):
        put(stdout(), ("passage   ", "dim"), one_line(f"{passage.title or passage.id}: {passage.text}", 500))
    for text in _said(run.record, looked=facts.looked):
        put(stdout(), ("said      ", "dim"), one_line(neutral(clean(text)), 500))
    kinds = dict(zip("abcdefg", RIGHT_KINDS if facts.is_right else WRONG_KINDS, strict=False))
    for letter, kind in kinds.items():
        put(stdout(), (f"  {letter}  ", "bold"), f"{kind.replace('_', ' ')}: {MEANING[kind]}")
    return kinds


def neutral(text: str) -> str:
    """The text without the labels by which a method would show."""
    return " ".join(_LABEL.sub(" ", text).split())


def _said(record: Record, *, looked: bool) -> list[str]:
    """What the run put in words on its way: thoughts, then intermediate answers; without look-ups, its first reply."""
    hops = record.answer.hops if record.answer else ()
    said = [note.text for note in record.notes if note.kind in ("thought", "finding")]
    said += [f"{hop.question} {hop.answer}" for hop in hops if hop.answer]
    if not said and not looked:
        said = [reply.completion.text for reply in record.replies if reply.completion][:1]
    return list(dict.fromkeys(said))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise BadInput("Who labels is not known.", hint="Say it: --by NAME") from None
