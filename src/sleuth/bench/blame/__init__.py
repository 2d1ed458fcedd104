"""Blame: a failed question is run again from its trace with one thing made right at a time; the part whose repair makes the answer right is to blame.

    pages = await gold_of(run.question, true_source)        # or GoldPassages((GoldPage(title, document, passages), ...))
    blamed = await blame(run, model=model, source=source, gold=pages, flow=lambda: strategy.flow(text, **params),
                         right=lambda answer: exact_match(answer.text, run.question.answers) == 1.0, calls=12)
    blamed.part, blamed.evidence, blamed.repairs, blamed.calls

`run.record.trace` is read and answers up to the repaired place; `source` is what the run looked things up in (it may lack
or garble gold), `gold` may come from elsewhere. `flow` makes the run's flow anew, as it was. At most `calls` live model calls
are made. Raises `EnvironmentFault` when the model or the source is down; everything else ends in a verdict.
"""

from sleuth.bench.blame.gold import GoldPage, GoldPassages, gold_of
from sleuth.bench.blame.judge import PARTS, Blamed, Part, Repair, blame
from sleuth.bench.blame.rows import Share, as_row, read_rows, shares

__all__ = [
    "PARTS",
    "Blamed",
    "GoldPage",
    "GoldPassages",
    "Part",
    "Repair",
    "Share",
    "as_row",
    "blame",
    "gold_of",
    "read_rows",
    "shares",
]
