"""Auto: chooses a strategy by the type of the question, and says why.

The decision tree is the retrieval-planning write-up's ("Assess question type": unpredictable, a clear chain, parallel
parts), with single facts and linked things beside them. The published relative is Adaptive-RAG (Jeong et al. 2024,
"Adaptive-RAG: Learning to Adapt Retrieval-Augmented Large Language Models through Question Complexity", section 3),
whose classifier is a trained model; here it is rules, which cost nothing, or one short call. The rules are the default:
the embedded model calls nearly everything linked things (docs/decisions/routing.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from sleuth.errors import BadReply, BudgetExceeded
from sleuth.guards.outcome import concluded
from sleuth.guards.question_type import MEANING, Kind, QuestionType, question_type
from sleuth.strategies import link_then_read, plan_and_solve, react, retrieve_then_read, self_ask
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Choice, Completion, Flow, Guards, Message, Strategy
from sleuth.verbs import generate, note

ROUTES: Mapping[Kind, Strategy] = {
    "open": react.STRATEGY,
    "chain": self_ask.STRATEGY,
    "parallel": plan_and_solve.STRATEGY,
    "pair": link_then_read.STRATEGY,
    "single": retrieve_then_read.STRATEGY,
    "linked": link_then_read.STRATEGY,
}
"""What answers a question of each type. A pair is two parallel parts, but one search finds both (docs/quality.md)."""
EXAMPLES: tuple[tuple[str, Kind], ...] = (
    ("When was the Varn Weir completed?", "single"),
    ("Which stream runs past the village where Ilse Vornhalt was born?", "linked"),
    ("Who was warden of Orsa Hall when the Varn Weir was completed?", "chain"),
    ("Which is longer, the Varn Weir or the Osk Weir?", "pair"),
    ("How high are the Varn Weir, the Osk Weir and the Tamsin Weir?", "parallel"),
    ("Why did the wardens of Orsa Hall fall out, and what came of it?", "open"),
)
KINDS: tuple[Kind, ...] = get_args(Kind)


def prompt(question: str) -> tuple[Message, ...]:
    """What the types mean, a worked example of each, and the question."""
    meanings = "".join(f"{kind}: {meaning}\n" for kind, meaning in MEANING.items())
    examples = "".join(f"Question: {asked}\nType: {kind}\n\n" for asked, kind in EXAMPLES)
    head = f"Say of which type a question is.\n{meanings}\n{examples}"
    return (Message("user", head), Message("user", f"Question: {' '.join(question.split())}\nType:"))


def parse(reply: str) -> Kind:
    """The first type that the reply names. Raises `BadReply` where it names none."""
    for word in re.findall(r"[a-z]+", reply.casefold()):
        for kind in KINDS:
            if word == kind:
                return kind
    raise BadReply("The reply names no type of question.", reply=reply)


def auto(question: str, *, by: Literal["rules", "model"] = "rules", guards: Guards = Guards()) -> Flow[Answer]:
    """Tell the question's type `by` rules or by one model call, and answer with the strategy for it in its default setting.

    Where the model names no type, or the budget does not reach for asking it, the rules tell it.
    """
    return (yield from concluded(Transcript(""), _flow(question, by, guards)))


def _flow(question: str, by: str, guards: Guards) -> Flow[Answer]:
    told = question_type(question)
    if by == "model":
        kind = yield from asked_type(question)
        by, told = ("model", QuestionType(kind, MEANING[kind])) if kind else ("rules", told)
    chosen = ROUTES[told.kind]
    yield from note("route", chosen.card.name, strategy=chosen.card.name, type=told.kind, reason=told.reason, by=by)
    return (yield from chosen.flow(question, **{**chosen.settings["default"], "guards": guards}))


def asked_type(question: str) -> Flow[Kind | None]:
    """The type as the model tells it, in one short call; None, and a note, where it does not."""
    try:
        reply: Completion = yield from generate(prompt(question), stop=("\n",), max_tokens=4, shape=Choice(KINDS))
        return parse(reply.text)
    except (BadReply, BudgetExceeded) as error:
        yield from note("budget" if isinstance(error, BudgetExceeded) else "unparsable", str(error))
        return None


def _most_calls(params: Mapping[str, Any]) -> int:
    inner = {"guards": params.get("guards", Guards())}
    most = max(each.most_calls({**each.settings["default"], **inner}) for each in ROUTES.values())
    return most + (params.get("by") == "model")


STRATEGY = Strategy(
    Card(
        name="auto",
        summary="Tells the type of the question, by rules or by one call, and runs the strategy that suits it.",
        paper="retrieval-planning write-up, decision tree; compare Jeong et al. 2024, Adaptive-RAG, section 3",
        when=(
            "questions of many kinds, and nobody to choose",
            "plain lookups among hard questions: they stay cheap",
        ),
        avoid=("questions of one known kind: name its strategy", "questions not in English, unless the model chooses"),
        loop=True,
        parallel=True,
        branch=True,
        person_in_the_loop=False,
        autonomy="medium",
        cost="medium",
        latency="medium",
        calls="those of the chosen strategy, and one more where the model chooses",
        aliases=("router", "adaptive"),
    ),
    auto,
    settings={"default": {}, "paper": {"by": "model"}},
    most_calls=_most_calls,
)
