"""The score against the number of samples, from stored draws alone (ReAct, figure 2): CoT-SC and both back-offs.

The point of k is what the method would have answered with k samples: draws are numbered, and draw i of a prompt is the same
whatever their number. So the first k draws of each question vote, by the rule that the strategy itself uses.

Sampling ends early once the majority cannot change, so late draws are missing just where early ones agreed. The first k
draws still settle the points: what no missing draw could change for the whole cannot be changed for fewer. Random subsets of
what is stored would not do: questions whose draws are all there are those that disagreed, and averaging over theirs alone
favours the majority (of the draws A, A, B in any order, one draw would seem right in 7 of 9 cases and is in 2 of 3). Where
the stored draws do not settle a point, the question counts as not known there, and the point is given as a range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sleuth.bench.folder import Cell
from sleuth.bench.metrics import TABLE
from sleuth.bench.metrics.answers import METRICS as ON_TEXT
from sleuth.bench.questions import Question
from sleuth.bench.record import Record
from sleuth.bench.report.reading import Reading, Told
from sleuth.bench.statistics import wilson
from sleuth.errors import BadReply
from sleuth.guards.votes import Votes
from sleuth.strategies.backoff import OVER
from sleuth.strategies.cot import parse
from sleuth.strategies.cot_sc_then_react import HALF
from sleuth.types import Answer

SAMPLED, UNSURE, STUCK, ACTING = "cot-sc", "cot-sc-then-react", "react-then-cot-sc", "react"
NAMES = {SAMPLED: "CoT-SC", UNSURE: "CoT-SC -> ReAct", STUCK: "ReAct -> CoT-SC"}


@dataclass(frozen=True, slots=True)
class Point:
    """With k samples: `right` of n questions, `unknown` that the stored draws do not settle; the interval is Wilson's, of the
    range from none to all of the unknown being right.
    """

    k: int
    n: int
    right: int
    unknown: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """The share right; None where any is unknown."""
        return self.right / self.n if not self.unknown else None


@dataclass(frozen=True, slots=True)
class Curve:
    """A method's points from 1 sample to all; `missing` says why there is none, "" when there is."""

    name: str
    points: tuple[Point, ...]
    missing: str = ""
    other: int = 0
    """Questions that the stored runs themselves answered otherwise at the last point: 0 where the curve is theirs."""


def curves(reading: Reading, task: str, model: str) -> tuple[str, tuple[Curve, ...]]:
    """(metric, curves) of a task and a model. () where no run there samples."""
    cells = {_strategy(reading, cell): cell for cell in reversed(reading.cells(task)) if cell.model == model}
    metric = next((name for name in reading.metrics[task] if _on_text(name)), "em")
    if not {SAMPLED, UNSURE, STUCK} & cells.keys():
        return metric, ()
    return metric, tuple(_curve(reading, kind, cells, metric) for kind in NAMES)


def polled(draws: Mapping[int, str], k: int, share: float = 0.0) -> Votes | None:
    """The votes that decide with k samples: in order, until they are settled, as `cot_sc` counts. None: a draw is not stored."""
    votes = Votes(k)
    for number in range(k):
        if votes.is_settled(share):
            break
        if number not in draws:
            return None
        votes.cast(number, draws[number])
    return votes


def majority(draws: Mapping[int, str], k: int, share: float = 0.0) -> str | None:
    """The majority answer with k samples, "" for none; None where the stored draws do not tell."""
    votes = polled(draws, k, share)
    if votes is None:
        return None
    winner = votes.winner()
    return votes.answers[winner] if winner is not None else ""


def backs_off(draws: Mapping[int, str], k: int) -> bool | None:
    """Has the majority less than half of k samples (ReAct, section 3.2)? None where the stored draws do not tell."""
    votes = polled(draws, k, HALF)
    if votes is None:
        return None
    share = votes.share()
    return share is None or share < HALF


def unsure_answer(draws: Mapping[int, str], k: int, acted: str) -> str | None:
    """What CoT-SC -> ReAct answers with k samples, given ReAct's own answer; a thin majority stands where ReAct has none."""
    off = backs_off(draws, k)
    return None if off is None else (acted if off else "") or majority(draws, k, HALF)


def _curve(reading: Reading, kind: str, cells: Mapping[str, Cell], metric: str) -> Curve:
    if why := _lacking(reading, kind, cells):
        return Curve(NAMES[kind], (), f"not drawn: {why}")
    told = {name: reading.told[cell] for name, cell in cells.items()}
    questions = [
        question
        for question in reading.questions[cells[SAMPLED].task]
        if question.id in told[SAMPLED] and (kind == SAMPLED or question.id in told[ACTING])
    ]
    if not questions:
        return Curve(NAMES[kind], (), "not drawn: no question has the runs that it needs")
    outcomes: dict[int, list[bool | None]] = {}
    for question in questions:
        asked = told[SAMPLED][question.id]
        draws = drawn(asked, [told[each].get(question.id) for each in (UNSURE, STUCK) if each in told])
        acted = told.get(ACTING, {}).get(question.id)
        for k in range(1, _asked(asked) + 1):
            answer = _answer(kind, draws, k, acted)
            outcomes.setdefault(k, []).append(None if answer is None else is_right(answer, question, metric))
    most = max(outcomes)
    stored = reading.values(cells[kind], metric) if kind in cells else {}
    last = zip(questions, outcomes[most], strict=False)
    other = sum(right is not None and stored.get(each.id, right) != float(right) for each, right in last)
    return Curve(NAMES[kind], tuple(_point(k, each) for k, each in outcomes.items()), "", other)


def _answer(kind: str, draws: Mapping[int, str], k: int, acted: Told | None) -> str | None:
    """What the method answers with k samples; None: not known."""
    if kind == SAMPLED or acted is None:
        return majority(draws, k)
    if kind == UNSURE:
        return unsure_answer(draws, k, acted.answer)
    return acted.answer if acted.answer or acted.ended in OVER else majority(draws, k)


def is_right(text: str, question: Question, metric: str) -> bool:
    """Would this answer have the full score?"""
    record = Record(answer=Answer(text, "answered" if text else "abstained", "final_answer"))
    return TABLE[metric].score(record, question) == 1.0


def _point(k: int, outcomes: list[bool | None]) -> Point:
    n, right, unknown = len(outcomes), outcomes.count(True), outcomes.count(None)
    return Point(k, n, right, unknown, wilson(right, n)[0], wilson(right + unknown, n)[1])


def drawn(asked: Told, others: Iterable[Told | None] = ()) -> dict[int, str]:
    """The draws of a CoT-SC run by number, parsed ("" has no answer), with those that other runs made of the same prompt."""
    temperature, claim = asked.params.get("temperature", 0.7), asked.params.get("task") == "claim"
    prompts = [prompt for prompt, _, _ in asked.replies if prompt[1] == temperature]
    found: dict[int, str] = {}
    for told in [asked, *(other for other in others if other is not None)]:
        for prompt, number, text in told.replies:
            if prompts and prompt == prompts[0] and number not in found:
                found[number] = _parsed(text, claim)
    return found


def _parsed(text: str, claim: bool) -> str:
    try:
        return parse(text, "claim" if claim else "question")
    except BadReply:
        return ""


def _lacking(reading: Reading, kind: str, cells: Mapping[str, Cell]) -> str:
    """Why this curve cannot be made of the stored runs; "" when it can. Of a back-off that was not run, its halves do."""
    if SAMPLED not in cells:
        return "the bench has no runs of CoT-SC, whose draws it is made of"
    if kind != SAMPLED and ACTING not in cells:
        return "the bench has no runs of ReAct alone, whose answers it needs"
    if kind == SAMPLED or kind not in cells:
        return ""
    acted, both = reading.told[cells[ACTING]], reading.told[cells[kind]]
    if kind == STUCK and any(told.params.get("reader") is not False for told in both.values()):
        return "in this setting a reading's confidence decides, which the draws do not tell"
    if any(told.params.get("share", HALF) != HALF for told in both.values()):
        return "its back-off waits for another share than half of the samples"
    if any(_acts_otherwise(told, acted[key].first) for key, told in both.items() if key in acted):
        return "the bench's ReAct is set up otherwise than the one in the back-off"
    return ""


def _acts_otherwise(both: Told, first: str) -> bool:
    """Did the back-off's ReAct begin with another prompt than ReAct alone? Its calls are those that are no draws."""
    temperature = both.params.get("temperature")
    calls = {prompt[0] for prompt, _, _ in both.replies if prompt[1] != temperature}
    return bool(calls and first) and first not in calls


def _asked(told: Told) -> int:
    """How many samples it asked for; at most 1,000, as the number is from a trace."""
    return max(1, min(1_000, int(told.params.get("n", 1))))


def _strategy(reading: Reading, cell: Cell) -> str:
    return next((told.strategy for told in reading.told[cell].values()), "")


def _on_text(metric: str) -> bool:
    return TABLE[metric].kind == "share" and any(each.name == metric for each in ON_TEXT)
