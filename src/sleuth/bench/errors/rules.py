"""Why a trajectory is right or wrong, by evidence: the ReAct paper's table 2 (Yao et al. 2023, section 3.3) as rules.

The rules are asked in the order of `RIGHT` or `WRONG`; the first that fires decides. A rule says whether it is sure: where
only a reader of the trajectory could tell, it is not, and a judging call or a person may decide otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sleuth.bench.errors.facts import Facts, standing, stands
from sleuth.bench.folder import Run
from sleuth.errors import BadInput

Kind: TypeAlias = Literal[
    "true_positive",
    "false_positive",
    "reasoning_error",
    "loop",
    "search_error",
    "hallucination",
    "label_ambiguity",
    "not_run",
]

MEANING: dict[Kind, str] = {
    "true_positive": "right, and what was found bears it out",
    "false_positive": "right, with reasoning or facts that nothing found bears out",
    "reasoning_error": "wrong, although what is needed was found",
    "loop": "wrong, and the same was looked up again and again",
    "search_error": "wrong, and what is needed was never found",
    "hallucination": "wrong, and the answer stands in nothing that was found",
    "label_ambiguity": "the answer is right in other words, or the gold answer is not borne out by the gold passages",
    "not_run": "the model or the source was gone, or the run was stopped: it says nothing of the method",
}
"""What each kind means; the paper counts a loop among the reasoning errors."""

OUTSIDE = ("model_error", "source_error", "cancelled", "deadline")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The kind, the rule that fired, the evidence in words, and whether the rule is sure. `by`: rule, judge or a person's name."""

    kind: Kind
    rule: str
    evidence: str
    sure: bool
    by: str = "rule"


Rule: TypeAlias = Callable[[Facts], Verdict | None]


def classify(run: Run) -> Verdict:
    """The verdict on a run that has ended. Raises `BadInput` for one that is not there or did not end."""
    if run.record is None or run.record.answer is None:
        raise BadInput(
            f"The run of question {run.question.id} did not end, so nothing can be said of it.",
            hint="Finish the bench: sleuth bench run, as before.",
        )
    facts = Facts(run, run.record)
    return next(found for rule in (RIGHT if facts.is_right else WRONG) if (found := rule(facts)) is not None)


# --- right ------------------------------------------------------------------------------------------------------


def right_from_memory(facts: Facts) -> Verdict | None:
    """Nothing was looked up: whether its facts are true, only a reader can tell."""
    if facts.looked or facts.seen:
        return None
    return Verdict(
        "true_positive", "right_from_memory", "Nothing was looked up; the facts were not checked.", sure=False
    )


def right_with_all_gold(facts: Facts) -> Verdict | None:
    """All gold was found, and the answer stands in it (or is a yes, a no, a label)."""
    if not facts.knows_gold or facts.missing:
        return None
    if facts.is_closed:
        return Verdict("true_positive", "right_with_all_gold", "Every gold page was found.", sure=True)
    if title := standing(facts.answer, facts.gold_seen):
        return Verdict(
            "true_positive", "right_with_all_gold", f"Every gold page was found; it stands in {title}.", sure=True
        )
    return None


def right_and_standing(facts: Facts) -> Verdict | None:
    """The answer stands in what was found, though not all gold was (or none is known)."""
    if facts.is_closed or not facts.answer_stands:
        return None
    lacking = f"; {len(facts.missing)} gold pages were not found" if facts.missing else ""
    return Verdict("true_positive", "right_and_standing", f"It stands in {facts.answer_stands}{lacking}.", sure=False)


def right_without_evidence(facts: Facts) -> Verdict | None:
    """What the answer needs was not found: a lucky guess, or the model's own knowledge."""
    what = f"{len(facts.missing)} gold pages were not found" if facts.missing else "it stands in nothing that was found"
    if facts.is_closed and not facts.knows_gold:
        return Verdict("true_positive", "right_without_gold", "No gold pages are known for this question.", sure=False)
    return Verdict("false_positive", "right_without_evidence", f"Right, but {what}.", sure=not facts.answer_stands)


# --- wrong ------------------------------------------------------------------------------------------------------


def never_ran(facts: Facts) -> Verdict | None:
    """The surroundings failed."""
    answer = facts.record.answer
    if answer is None or answer.status != "failed" or answer.ended not in OUTSIDE:
        return None
    return Verdict("not_run", "never_ran", answer.note or answer.ended, sure=True)


def same_in_other_words(facts: Facts) -> Verdict | None:
    """The answer and the gold answer say the same: aliases, dates, numbers, or one holds the other."""
    if not facts.same or facts.is_closed:
        return None
    told = f"{facts.answer!r} for {facts.gold[0]!r}: {facts.same}."
    return Verdict("label_ambiguity", "same_in_other_words", told, sure=facts.same != "one holds the other")


def label_not_borne_out(facts: Facts) -> Verdict | None:
    """All gold pages were found; the answer stands in them and the gold answer in none."""
    if facts.is_closed or not facts.knows_gold or facts.missing:
        return None
    ours = standing(facts.answer, facts.gold_seen)
    theirs = next((title for gold in facts.gold if (title := standing(gold, facts.gold_seen))), "")
    if not ours or theirs or (facts.in_question and any(stands(gold, facts.run.question.text) for gold in facts.gold)):
        return None
    told = f"{facts.answer!r} stands in {ours}; {facts.gold[0]!r} stands in no gold page."
    return Verdict("label_ambiguity", "label_not_borne_out", told, sure=True)


def looped(facts: Facts) -> Verdict | None:
    """The same was looked up again, and no answer came of it."""
    answer = facts.record.answer
    stuck = answer is not None and (answer.ended in ("repeated", "step_limit", "follow_up_limit"))
    if not facts.repeated or not (stuck or not facts.answer):
        return None
    return Verdict("loop", "looped", f"Again: {facts.repeated[:120]}", sure=True)


def gold_never_found(facts: Facts) -> Verdict | None:
    """Of a gold page nothing was seen."""
    if not facts.looked or not facts.missing:
        return None
    nothing = f"; {facts.empty} look-ups brought nothing" if facts.empty else ""
    return Verdict("search_error", "gold_never_found", f"Never found: {', '.join(facts.missing)}{nothing}.", sure=True)


def invented(facts: Facts) -> Verdict | None:
    """The answer stands neither in what was found nor in the question."""
    if not facts.answer or facts.is_closed or facts.answer_stands or facts.in_question:
        return None
    if not facts.looked:
        told = "Nothing was looked up; whether a fact or a step is wrong, only a reader can tell."
        return Verdict("hallucination", "wrong_from_memory", told, sure=False)
    return Verdict("hallucination", "invented", f"{facts.answer!r} stands in nothing that was found.", sure=True)


def gold_unknown(facts: Facts) -> Verdict | None:
    """No gold pages are known, and the gold answer stands in nothing that was found."""
    if not facts.looked or facts.knows_gold or facts.is_closed or facts.gold_stands:
        return None
    told = f"{facts.gold[0]!r} stands in nothing that was found." if facts.gold else "Nothing is known of the gold."
    return Verdict("search_error", "gold_answer_never_found", told, sure=False)


def wrong_from_memory(facts: Facts) -> Verdict | None:
    """Nothing was looked up: a false fact or a wrong step, which only a reader can tell apart."""
    if facts.looked or facts.seen:
        return None
    if not facts.answer:
        return Verdict("reasoning_error", "no_answer", "It came to no answer.", sure=True)
    return Verdict("hallucination", "wrong_from_memory", "Nothing was looked up.", sure=False)


def found_and_wrong(facts: Facts) -> Verdict | None:
    """What was needed was found, and the answer is wrong all the same."""
    if not facts.answer:
        answer = facts.record.answer
        told = f"It came to no answer ({answer.ended if answer else ''})."
        return Verdict("reasoning_error", "no_answer", told, sure=facts.knows_gold or bool(facts.gold_stands))
    where = f"{facts.gold[0]!r} stands in {facts.gold_stands}" if facts.gold_stands else "every gold page was found"
    if facts.missing or not (facts.knows_gold or facts.gold_stands):
        where = "whether what is needed was found is not known"
    sure = bool(facts.gold_stands) or (facts.knows_gold and not facts.missing)
    return Verdict("reasoning_error", "found_and_wrong", f"Answered {facts.answer!r}, though {where}.", sure=sure)


RIGHT: tuple[Rule, ...] = (right_from_memory, right_with_all_gold, right_and_standing, right_without_evidence)
WRONG: tuple[Rule, ...] = (
    never_ran,
    same_in_other_words,
    label_not_borne_out,
    looped,
    gold_never_found,
    invented,
    gold_unknown,
    wrong_from_memory,
    found_and_wrong,
)
