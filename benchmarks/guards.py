"""What each guard helps and harms: the same questions asked with it and without it, where it acted.

    python benchmarks/guards.py run    --set hotpotqa-report-100
    python benchmarks/guards.py report --set hotpotqa-report-100

It reads the rows that ``benchmarks/quality.py run`` has kept. Where a guard did nothing, the run without it makes the
same calls and needs no repeating; where it acted, the question is asked once more without it (rows in
``benchmarks/results/SET/without-GUARD``). `report` prints the Markdown tables of docs/guards.md. The check of the
citations changes no answer by itself: it is measured by how often the answers it lets pass and those it marks are right.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import quality
from sleuth.bench.statistics import mean, paired, wilson
from sleuth.library import Library
from sleuth.ports import Model
from sleuth.sources.library import LibrarySource
from sleuth.types import Guards

Row = Mapping[str, Any]

TIGHT, KEPT = "compress at 400", 3
"""The other way round: compression hardly ever acts at its limit of 2,000 tokens, so it is turned on at 400, where there are more hops than it keeps."""
STRATEGIES = ("link-then-read", "self-ask", "react", "plan-and-solve", "hybrid", "ircot", "act", "parallel-self-ask")


def noted(*kinds: str) -> Callable[[Row], bool]:
    """Does the run hold a note of one of these kinds?"""
    return lambda row: any(row.get("noted", {}).get(kind) for kind in kinds)


GUARDS: Mapping[str, tuple[Mapping[str, Any], Callable[[Row], bool]]] = {
    "confidence": ({"confidence": None}, noted("confidence")),
    "fallback": ({"fallback": "off"}, noted("fallback")),
    "compress": ({"compress": 0}, noted("compressed")),
    "repeats": ({"repeats": "off"}, noted("repeat_told", "reformulated", "refused")),
    "own": ({"own": False}, noted("own_observation")),
    TIGHT: ({"compress": 400}, lambda row: row["hops"] > KEPT),
}
"""How each guard is turned off, and how a run shows that it acted (or, for `TIGHT`, could act)."""


def acted(set_name: str, strategy: str, guard: str) -> dict[str, Row]:
    """The kept rows of the runs in which the guard acted, by question id."""
    return {row["id"]: row for row in quality.rows(set_name, strategy) if GUARDS[guard][1](row)}


def file_of(set_name: str, guard: str, strategy: str) -> Path:
    """Where the runs without that guard are kept."""
    return quality.RUNS / set_name / f"without-{guard.replace(' ', '-')}" / f"{strategy}.jsonl"


def without(set_name: str, guard: str, strategy: str) -> dict[str, Row]:
    """The kept rows of the runs without that guard, by question id."""
    file = file_of(set_name, guard, strategy)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {row["id"]: row for row in map(json.loads, lines)}


async def run(sets: Sequence[quality.QuestionSet], model: Model, most: int) -> None:
    """Ask again, without the guard, every question on which it acted and that has not been asked so yet."""
    asking = quality.Remembering(model, quality.RUNS / "calls.jsonl")
    for questions in sets:
        source = LibrarySource(Library.open(questions.library))
        by_id = {question["id"]: question for question in questions.questions[:most]}
        for guard, (off, _) in GUARDS.items():
            for name in STRATEGIES:
                file = file_of(questions.name, guard, name)
                done = without(questions.name, guard, name)
                for id_ in (acted(questions.name, name, guard).keys() & by_id.keys()) - done.keys():
                    strategy, params = quality.CONFIGURATIONS[name]
                    given = {**params, "guards": replace(params.get("guards", Guards()), **off)}
                    asking.cpu = asking.seconds = 0.0
                    row = await quality.ask(asking, source, by_id[id_], strategy, given)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    with file.open("a", encoding="utf-8") as lines:
                        row |= {"cpu": asking.cpu, "seconds": asking.seconds}
                        lines.write(json.dumps(row, ensure_ascii=False) + "\n")
                    print(f"{questions.name} {name} without {guard}: {row['f1']:.2f} {row['answer']!r}", flush=True)
    await asking.aclose()


HEADER = "| guard | strategy | acted | asked again | F1 with | without | difference (95% interval) | helped | harmed | calls saved | CPU s saved |"


def report(set_name: str) -> str:
    """The Markdown table of help and harm, and that of the citations."""
    lines = [_line(set_name, guard, name) for guard in GUARDS for name in STRATEGIES]
    table = [HEADER, "|---" * (HEADER.count("|") - 1) + "|", *filter(None, lines)]
    idle = [guard for guard in GUARDS if not any(acted(set_name, name, guard) for name in STRATEGIES)]
    never = [f"Never acted in these runs: {', '.join(idle)}.", ""] if idle else []
    return "\n".join([f"**{set_name}**", "", *table, "", *never, *citations(set_name)])


def _line(set_name: str, guard: str, name: str) -> str:
    every, base, other = quality.rows(set_name, name), acted(set_name, name, guard), without(set_name, guard, name)
    both = sorted(base.keys() & other.keys())
    if not base:
        return ""
    if not both:
        return f"| {guard} | {name} | {len(base)} of {len(every)} | | | | | | | | |"
    number = len(base)
    if guard == TIGHT:
        base, other = other, base
    ours, theirs = [100 * base[i]["f1"] for i in both], [100 * other[i]["f1"] for i in both]
    gain, least, most = paired(ours, theirs)
    shown = "" if least > 0 or most < 0 else ": no difference shown"
    helped, harmed = (sum(sign * (a - b) > 0 for a, b in zip(ours, theirs, strict=True)) for sign in (1, -1))

    def saved(key: str) -> float:
        return mean([float(other[i][key]) - float(base[i][key]) for i in both])

    return (
        f"| {guard} | {name} | {number} of {len(every)} | {len(both)} | {mean(ours):.1f} | {mean(theirs):.1f} "
        f"| {gain:+.1f} ({least:+.1f} to {most:+.1f}){shown} | {helped} | {harmed} | {saved('calls'):.1f} | {saved('cpu'):.1f} |"
    )


def citations(set_name: str) -> list[str]:
    """How often an answer is right that follows from cited hops, and one that does not."""
    header = "| strategy | answers that follow from cited hops | of these right (EM, 95% interval) | marked | of these right |"
    lines = [header, "|---" * (header.count("|") - 1) + "|"]
    for name in STRATEGIES:
        answers = [row for row in quality.rows(set_name, name) if row["status"] == "answered"]
        groups = [[row["em"] for row in answers if row.get("grounded") is kind] for kind in (True, False)]
        if any(groups):
            lines.append(f"| {name} | {' | '.join(f'{len(group)} | {_share(group)}' for group in groups)} |")
    return lines


def _share(right: Sequence[float]) -> str:
    if not right:
        return ""
    low, high = wilson(round(sum(right)), len(right))
    return f"{100 * mean(list(right)):.0f} ({100 * low:.0f} to {100 * high:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--set", action="append", dest="sets", required=True)
    parser.add_argument("--model", default="local", help="as for `sleuth ask`")
    parser.add_argument("--most", type=int, default=10_000, help="the first N questions of each set")
    given = parser.parse_args()
    if given.what == "report":
        print("\n\n".join(report(name) for name in given.sets))
        return
    with tempfile.TemporaryDirectory() as scratch:
        sets = [quality.question_set(name, Path(scratch)) for name in given.sets]
        asyncio.run(run(sets, quality.opened(given.model), given.most))


if __name__ == "__main__":
    main()
