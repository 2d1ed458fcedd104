"""Data sets as tasks: in their official files, in one uniform form, or a user's own questions.

    load("hotpotqa:hotpot_dev_distractor_v1.json", sample=100, cache=folder)
    load("fever:https://fever.ai/download/fever/paper_dev.jsonl", corpus=pages, cache=folder)
    load("mine.csv")

A set costs one file here (card, recogniser, reader) and one line in `LOADERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from sleuth.bench.questions import Task
from sleuth.bench.tasks import (
    bamboogle,
    choice,
    fanoutqa,
    fever,
    frames,
    hotpotqa,
    hover,
    multihoprag,
    musique,
    parallelqa,
    strategyqa,
    twowiki,
    uniform,
)
from sleuth.bench.tasks.kinds import Card, Loader
from sleuth.bench.tasks.loading import Found, gathered, opened, whole
from sleuth.bench.tasks.own import named, read_questions

__all__ = ["CARDS", "TABLE", "Card", "Loader", "load", "named", "read_questions"]

LOADERS = (
    hotpotqa.LOADER,
    twowiki.LOADER,
    musique.LOADER,
    bamboogle.LOADER,
    strategyqa.LOADER,
    fever.LOADER,
    hover.LOADER,
    multihoprag.LOADER,
    fanoutqa.LOADER,
    frames.LOADER,
    parallelqa.LOADER,
)
TABLE: Mapping[str, Loader] = MappingProxyType({loader.card.name: loader for loader in LOADERS})
"""The data sets by name, each with its card."""
CARDS: Mapping[str, Card] = MappingProxyType(
    {
        name: card
        for card in (*(loader.card for loader in LOADERS), uniform.FOOL_ME_TWICE)
        for name in (card.name, *card.aliases)
    }
)
"""What is known of a set, by its name or another name of it."""


def load(
    where: str | Path,
    *,
    name: str = "",
    sample: int | None = None,
    ids: Path | None = None,
    seed: int = 0,
    stratify: bool = False,
    split: str = "",
    corpus: Path | None = None,
    cache: Path | None = None,
) -> Task:
    """The task in a file, folder, .gz, .zip or at a web address, recognised by its content.

    `where` may name the set before a colon ("hotpotqa:PATH_OR_ADDRESS"), and a file of a .zip or folder behind a "#".
    `split` and `ids` (a file, one id a line) choose questions, then `sample` of them by `seed`, from each label or type
    its share where `stratify`. `corpus` is a file or folder of passages, used in place of the set's own. In `cache` are
    kept downloads and the passages as one file (`Task.corpus`); without it the task has no corpus, and nothing can be
    downloaded. `name` is what the task is called, else the set's name. Raises `BadInput`, `DownloadError`,
    `EnvironmentFault`.
    """
    found = gathered(opened(where, TABLE, CARDS, split=split, cache=cache), corpus=corpus, cache=cache, split=split)
    questions = choice.listed(found.questions, ids) if ids is not None else found.questions
    if sample is not None:
        questions = choice.sampled(questions, sample, seed=seed, stratify=stratify)
    return Task(
        name=name or found.name,
        questions=questions,
        metrics=found.card.metrics,
        corpus=found.corpus,
        labels=found.labels,
        origin=_origin(found, len(questions), ids, sample, seed, stratify),
        licence=found.card.licence,
    )


def _origin(found: Found, n: int, ids: Path | None, sample: int | None, seed: int, stratify: bool) -> str:
    chosen = [f"{n} of {len(found.questions)} questions" if n < len(found.questions) else f"{n} questions"]
    if ids is not None:
        chosen.append(f"ids of {ids.name}")
    if sample is not None:
        chosen.append(f"seed {seed}" + (", stratified" if stratify else ""))
    return f"{whole(found)}: {', '.join(chosen)}"
