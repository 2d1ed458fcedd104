"""Error analysis: right and wrong trajectories by kind (Yao et al. 2023, table 2), by rules, a judging call, and people.

verdict = classify(run)          # by evidence alone; asks nothing
verdict = yield from judge(run)  # one model call, where no rule is sure
"""

from sleuth.bench.errors.agreement import Agreement, agreement, kappa
from sleuth.bench.errors.judge import judge
from sleuth.bench.errors.labels import SEEN, Label, labels, put_label, take_back
from sleuth.bench.errors.rules import MEANING, Kind, Verdict, classify
from sleuth.bench.errors.sample import Chosen, chosen, table

__all__ = [
    "MEANING",
    "SEEN",
    "Agreement",
    "Chosen",
    "Kind",
    "Label",
    "Verdict",
    "agreement",
    "chosen",
    "classify",
    "judge",
    "kappa",
    "labels",
    "put_label",
    "table",
    "take_back",
]
