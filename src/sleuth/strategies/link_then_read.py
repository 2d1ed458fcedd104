"""Link-then-read: Sleuth's own. One search for passages that answer *together*, then one short-answer call.

Planning without a model: the search picks the pair of passages that covers the question best and whose pages name
each other (`sleuth.library`). The pair is read first; where the answer's log-probability says unsure, the next
pair is read too. A question about a moment ("who held X when Y happened") is searched again with Y's date.
"""

from __future__ import annotations

from collections.abc import Sequence

from sleuth.guards.evidence import recorded
from sleuth.guards.guarded import PAPER, extra_calls, guarded
from sleuth.guards.outcome import unanswered
from sleuth.guards.searching import Looked, look_up
from sleuth.guards.timing import Clock
from sleuth.strategies.reader import (
    EXAMPLES,
    INSTRUCTIONS,
    UNSURE,
    Form,
    concluded_by,
    further,
    pooled,
    settled,
    sureness,
)
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Flow, Guards, Hop, Strategy
from sleuth.verbs import note


def link_then_read(
    question: str,
    *,
    pairs: int = 2,
    unsure: float = UNSURE,
    examples: Sequence[tuple[str, str]] = EXAMPLES,
    instructions: str = INSTRUCTIONS,
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """Search for pairs of passages, read the best; up to `pairs` readings while the answer's log-probability is under `unsure`."""
    form = Form(examples, instructions)
    t = Transcript(form.head())
    return (yield from guarded(question, t, _flow(question, t, pairs, unsure, form), guards))


def _flow(question: str, t: Transcript, pairs: int, unsure: float, form: Form) -> Flow[Answer]:
    clock = Clock(question)
    looked = yield from _search(question, 2 * pairs, t, clock)
    if not looked.passages:
        return unanswered(t, looked.ended(), note=looked.told())
    passages = list(looked.passages)
    yield from clock.heard(passages)
    if clock.when:
        dated = yield from _search(clock.query(question), 2 * pairs, t, clock)
        passages = clock.narrowed(pooled(dated.passages, passages))
    first = 3 if clock.when else 2
    best = yield from settled(question, t, clock, passages[:first], form)
    for pair in range(pairs - 1):
        more = passages[first + 2 * pair : first + 2 * pair + 2]
        if best.logprob is None or best.logprob >= unsure or not more:
            break
        yield from note("unsure", f"{best.text}: log-probability {best.logprob:.2f}", threshold=unsure)
        reading = yield from further(settled(question, t, clock, more, form))
        if reading is None:
            return concluded_by(t, best, "budget")
        best = max(best, reading, key=sureness)
    return concluded_by(t, best, "confident" if sureness(best) >= unsure else "final_answer")


def _search(query: str, k: int, t: Transcript, clock: Clock) -> Flow[Looked]:
    looked = yield from look_up(query, k, together=True, when=clock.when)
    t.shown(looked.passages)
    yield from recorded(t, Hop(query, query, "", looked.outcome, looked.passages))
    return looked


STRATEGY = Strategy(
    Card(
        name="link-then-read",
        summary="Searches once for passages that answer together and name each other, and reads the best pair.",
        paper="Sleuth's own (docs/decisions/link-then-read.md)",
        when=(
            "two facts in pages that name each other, as in an encyclopaedia, a handbook or a wiki",
            "small models and small budgets: one or two calls",
        ),
        avoid=("chains of more than two hops", "questions that need reasoning over many passages"),
        loop=False,
        parallel=False,
        branch=True,
        person_in_the_loop=False,
        autonomy="low",
        cost="low",
        latency="low",
        calls="1, or 2 when unsure; up to as many again where dates contradict the answer",
        aliases=("link",),
    ),
    link_then_read,
    settings={"default": {}, "paper": {"guards": PAPER}},
    most_calls=lambda params: 3 * int(params.get("pairs", 2)) + extra_calls(params, searches=2),
)
