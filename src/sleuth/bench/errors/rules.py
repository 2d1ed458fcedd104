"""Why a trajectory is right or wrong, by evidence: the ReAct paper's table 2 (Yao et al. 2023, section 3.3) as rules.

The rules are asked in the order of `RIGHT` or `WRONG`; the first that fires decides. A rule says whether it is sure: where
only a reader of the trajectory could tell, it is not, and a judging call or a person may decide otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sleuth.bench.errors.facts import Facts, standing, stands, telling
from sleuth.bench.folder import Run
from sleuth.bench.metrics.amounts import amount
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
    "not_run": "it says nothing of the method: model or source was gone, the run was stopped, or no gold answer is known",
}
"""What each kind means; the paper counts a loop among the reasoning errors."""

OUTSIDE = ("model_error", "source_error", "cancelled", "deadline")
"""Ends that are the surroundings' doing."""
STUCK = ("repeated", "step_limit", "follow_up_limit", "unparsable")
"""Ends that say the run did not find its way out by itself."""


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


# --- right: correct reasoning and facts (true positive), or a hallucinated one (false positive) ------------------------


def right_from_memory(facts: Facts) -> Verdict | None:
    """Nothing was looked up: whether its facts are true, only a reader can tell."""
    if facts.looked or facts.seen:
        return None
    return Verdict(
        "true_positive", "right_from_memory", "Nothing was looked up; the facts were not checked.", sure=False
    )


def right_with_a_false_step(facts: Facts) -> Verdict | None:
    """An intermediate answer stands in nothing that was found. It may still be true, or not have mattered."""
    if not facts.unsupported:
        return None
    told = f"The intermediate answer {facts.unsupported[:80]!r} stands in nothing that was found."
    return Verdict("false_positive", "right_with_a_false_step", told, sure=False)


def right_with_all_gold(facts: Facts) -> Verdict | None:
    """All gold was found, and the answer stands in it (or is a yes, a no, a label, named by the question, or reckoned)."""
    if not facts.knows_gold or facts.missing:
        return None
    title = standing(facts.answer, facts.gold_seen)
    if not title and not facts.is_chosen and not facts.is_amount:
        return None
    stood = f"; it stands in {title}" if title and not facts.is_closed else ""
    return Verdict("true_positive", "right_with_all_gold", f"Every gold page was found{stood}.", sure=True)


def right_and_standing(facts: Facts) -> Verdict | None:
    """The answer stands in what was found, though not all gold was (or none is known)."""
    if not facts.answer_stands:
        return None
    lacking = f"; never found: {facts.told(facts.missing)}" if facts.missing else ""
    return Verdict("true_positive", "right_and_standing", f"It stands in {facts.answer_stands}{lacking}.", sure=False)


def right_without_gold(facts: Facts) -> Verdict | None:
    """One of the question's own choices where no gold pages are known: it need not stand anywhere."""
    if not facts.is_chosen or facts.knows_gold:
        return None
    return Verdict("true_positive", "right_without_gold", "No gold pages are known for this question.", sure=False)


def right_without_evidence(facts: Facts) -> Verdict | None:
    """What the answer needs was not found: a lucky guess, or the model's own knowledge."""
    lacking = f"never found: {facts.told(facts.missing)}" if facts.missing else ""
    told = lacking if facts.is_chosen else "; ".join(filter(None, ("it stands in nothing that was found", lacking)))
    sure = not (facts.is_chosen or facts.is_amount or facts.answer_told)
    return Verdict("false_positive", "right_without_evidence", f"Right, but {told}.", sure=sure)


# --- wrong: reasoning error, search error, hallucination, label ambiguity -----------------------------------------------


def says_nothing(facts: Facts) -> Verdict | None:
    """The surroundings failed, or no gold answer is known."""
    answer = facts.record.answer
    if not facts.gold:
        return Verdict("not_run", "no_gold_answer", "No gold answer is known.", sure=True)
    if answer is None or answer.status != "failed" or answer.ended not in OUTSIDE:
        return None
    return Verdict("not_run", "never_ran", answer.note or answer.ended, sure=True)


def same_in_other_words(facts: Facts) -> Verdict | None:
    """The answer and the gold answer say the same: aliases, dates, numbers, or one holds the other."""
    if not facts.same:
        return None
    told = f"{facts.answer!r} for {facts.gold[0]!r}: {facts.same}."
    return Verdict("label_ambiguity", "same_in_other_words", told, sure=facts.same == "the same in other signs")


def label_not_borne_out(facts: Facts) -> Verdict | None:
    """All gold pages were found; the answer stands in them and the gold answer in none, nor in the question."""
    if facts.is_closed or facts.gold_is_closed or not facts.knows_gold or facts.missing:
        return None
    ours = standing(facts.answer, facts.gold_seen)
    if not ours or any(telling(gold, facts.gold_seen) or stands(gold, facts.run.question.text) for gold in facts.gold):
        return None
    told = f"{facts.answer!r} stands in {ours}; {facts.gold[0]!r} stands in no gold page."
    reckoned = any(amount(gold) is not None for gold in facts.gold)
    return Verdict("label_ambiguity", "label_not_borne_out", told, sure=not reckoned and not facts.in_question)


def looped(facts: Facts) -> Verdict | None:
    """The same was asked for again, the run did not get out of it, and what is needed was not found (or nothing was answered)."""
    answer = facts.record.answer
    if answer is None or not facts.repeated:
        return None
    if facts.answer and (answer.ended not in STUCK or (facts.knows_gold and not facts.missing)):
        return None
    return Verdict("loop", "looped", f"Again: {facts.repeated[:120]}", sure=answer.ended in STUCK)


def gold_never_found(facts: Facts) -> Verdict | None:
    """Of a gold page nothing was seen."""
    if not facts.looked or not facts.missing:
        return None
    told = f"Never found: {facts.told(facts.missing)}"
    told += f"; {facts.empty} look-ups brought nothing" if facts.empty else ""
    if facts.gold_stands:
        told += f"; but the gold answer stands in {facts.gold_stands}"
    if facts.is_invented:
        told += f"; and {facts.answer!r} stands in nothing that was found"
    return Verdict("search_error", "gold_never_found", f"{told}.", sure=not facts.gold_stands and not facts.is_invented)


def wrong_from_memory(facts: Facts) -> Verdict | None:
    """Nothing was looked up: a false fact or a wrong step, which only a reader can tell apart."""
    if facts.looked or facts.seen:
        return None
    if not facts.answer:
        return Verdict("reasoning_error", "no_answer", "It came to no answer, and looked nothing up.", sure=True)
    told = "Nothing was looked up; whether a fact or a step is wrong, only a reader can tell."
    return Verdict("hallucination", "wrong_from_memory", told, sure=False)


def invented(facts: Facts) -> Verdict | None:
    """The answer stands neither in what was found nor in the question. An amount may be reckoned, a sentence put in other words."""
    if not facts.is_invented:
        return None
    told = f"{facts.answer!r} stands in nothing that was found."
    searched = facts.knows_gold or facts.gold_stands
    return Verdict("hallucination", "invented", told, sure=bool(searched) and not facts.is_amount)


def gold_answer_never_found(facts: Facts) -> Verdict | None:
    """No gold pages are known, and the gold answer stands in nothing that was found."""
    if not facts.looked or facts.knows_gold or facts.gold_is_closed:
        return None
    if facts.gold_stands or any(stands(gold, facts.run.question.text) for gold in facts.gold):
        return None
    told = f"{facts.gold[0]!r} stands in nothing that was found."
    return Verdict("search_error", "gold_answer_never_found", told, sure=not facts.answer)


def found_and_not_read(facts: Facts) -> Verdict | None:
    """A gold page was found, and the call that answered did not have it before it."""
    if not facts.knows_gold or not facts.unread or facts.missing:
        return None
    told = f"Found, but not before the call that answered: {facts.told(facts.unread)}."
    return Verdict("reasoning_error", "found_and_not_read", told, sure=not facts.both_stand)


def found_and_wrong(facts: Facts) -> Verdict | None:
    """What was needed was found, and the answer is wrong all the same.

    Where both answers stand in the gold pages and the question names neither, the question may allow both.
    """
    all_gold = facts.knows_gold and not facts.missing
    if facts.gold_stands:
        where = f"{facts.gold[0]!r} stands in {facts.gold_stands}"
    else:
        where = "every gold page was found" if all_gold else "whether what is needed was found is not known"
    if not facts.answer:
        ended = facts.record.answer.ended if facts.record.answer else ""
        told = f"It came to no answer ({ended}), though {where}."
        return Verdict("reasoning_error", "no_answer", told, sure=all_gold or bool(facts.gold_stands))
    told = f"Answered {facts.answer!r}, though {where}."
    return Verdict("reasoning_error", "found_and_wrong", told, sure=all_gold and not facts.both_stand)


RIGHT: tuple[Rule, ...] = (
    right_from_memory,
    right_with_a_false_step,
    right_with_all_gold,
    right_and_standing,
    right_without_gold,
    right_without_evidence,
)
WRONG: tuple[Rule, ...] = (
    says_nothing,
    same_in_other_words,
    label_not_borne_out,
    looped,
    gold_never_found,
    wrong_from_memory,
    invented,
    gold_answer_never_found,
    found_and_not_read,
    found_and_wrong,
)
