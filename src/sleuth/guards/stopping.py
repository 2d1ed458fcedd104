"""When to stop looking up, and how sure an answer is: by votes, by its tokens' probability, or by asking the model."""

from __future__ import annotations

import math
import re

from sleuth.errors import BadReply
from sleuth.types import Completion, Flow, Grammar, Guards, Message, Why
from sleuth.verbs import generate

MOST_STEPS = 7
"""Steps after which a loop ends (retrieval-planning write-up, "MAX_STEPS"; ReAct, section 3.2)."""
THRESHOLD = 0.8
"""The confidence over which a loop ends (retrieval-planning write-up, "CONFIDENCE_THRESHOLD")."""

ASKED = "\nHow likely is it that this answer is right, in percent:"
PERCENTAGE = Grammar('root ::= " "? ("100" | [1-9]? [0-9]) "%"')
_NUMBER = re.compile(r"(?<![\w.,-])(\d{1,3}(?:\.\d+)?)(?![\d.,]*\d)")


def should_stop(
    step: int,
    most: int = MOST_STEPS,
    confidence: float | None = None,
    threshold: float | None = THRESHOLD,
    *,
    final: bool = False,
) -> Why | None:
    """Why a loop stops after its step number `step` (from 1), or None: it goes on.

    A final answer, a confidence over the threshold, or as many steps as it may make; where several hold, the first of
    these is told. An unknown `confidence`, one that is no number, and a `threshold` of None never stop a loop.
    """
    if final:
        return "final_answer"
    if confidence is not None and threshold is not None and confidence > threshold:
        return "confident"
    return "step_limit" if step >= most else None


def by_logprob(logprob: float | None) -> float | None:
    """The answer's probability from its tokens' summed natural log-probability; None where that is not known."""
    return None if logprob is None or math.isnan(logprob) else math.exp(min(0.0, logprob))


def ask_confidence(messages: tuple[Message, ...], answer: str) -> Flow[float]:
    """One short call of the role judge: how likely is the answer right, which these messages led to?

    Models that were tuned to follow instructions can say so in words (Tian et al. 2023, "Just Ask for Calibration").
    Raises `BadReply` when the reply holds no percentage.
    """
    said = Message("assistant", f" {answer}")
    reply: Completion = yield from generate(
        (*messages, said, Message("user", ASKED)), role="judge", stop=("\n",), max_tokens=8, shape=PERCENTAGE
    )
    return parse_percentage(reply.text)


def parse_percentage(reply: str) -> float:
    """The probability that a reply's first number says: "85%", "about 85 percent", "85". `BadReply` without one up to 100."""
    found = _NUMBER.search(reply)
    value = float(found.group(1)) if found else math.inf
    if value > 100:
        raise BadReply("The reply holds no percentage.", reply=reply)
    return value / 100


def most_calls(guards: Guards, steps: int) -> int:
    """The most model calls that stopping adds to a loop of so many steps: a reading a step, and asking how sure each is.

    The last reading is the answer's, which is asked about, too, where confidence is asked for.
    """
    readings = steps if guards.confidence is not None else 0
    return readings + (readings + 1 if guards.confidence_by == "asked" else 0)
