"""The judging call of the error analysis, performed: the model that judges (``judge_model``), else the settings' model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sleuth.app import compose, settings
from sleuth.app.keep import Keep
from sleuth.app.portal import portal
from sleuth.bench.errors import Verdict, judge
from sleuth.bench.folder import Cell, Run
from sleuth.engine import Engine


def judged(runs: Mapping[Cell, Sequence[Run]]) -> dict[Cell, list[tuple[Run, Verdict]]]:
    """Every run with its verdict: the rules' where they are sure, else that of one call. Raises `ModelError` and its kin."""
    chosen = settings.load()
    name = chosen.judge_model or chosen.model
    compose.check_models([name], chosen)
    return portal().submit(partial(_judged, runs, name, chosen)).result()


async def _judged(
    runs: Mapping[Cell, Sequence[Run]], name: str, chosen: settings.Settings, keep: Keep
) -> dict[Cell, list[tuple[Run, Verdict]]]:
    engine = Engine(compose.opened(name, chosen, keep))
    found: dict[Cell, list[tuple[Run, Verdict]]] = {}
    for cell, each in runs.items():
        found[cell] = [(run, await engine.run(judge(run), question=run.question.text)) for run in each]
    return found
