"""Self-Ask (Press et al. 2022, "Measuring and Narrowing the Compositionality Gap", section 3), with and without search.

Scaffold, stop sequence and stop rule follow the Self-Ask write-up to the letter. A second write-up, on retrieval
planning, lets the model write the intermediate answer from the search results (``intermediate="model"``); the
first is the default because a snippet cannot be made up. The default *setting* keeps the scaffold for planning
only: searches look for passages that go with the question, and a separate short-answer call writes the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sleuth.errors import BadReply, BudgetExceeded
from sleuth.guards.citations import defuse
from sleuth.guards.evidence import recorded, said, snippet
from sleuth.guards.guarded import PAPER, extra_calls, guarded, own_dropped
from sleuth.guards.outcome import answered, unanswered
from sleuth.guards.scaffold import cut_own, label, line
from sleuth.guards.searching import NOTHING, Looked, look_up
from sleuth.guards.searching.reformulate import reformulated as other_words
from sleuth.guards.stopping import most_calls
from sleuth.guards.timing import Clock, says_no_more
from sleuth.strategies.reader import Readings, pooled, read_answer
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Completion, Flow, Grammar, Guards, Hop, Message, Passage, Strategy, Why
from sleuth.verbs import generate, note

INSTRUCTIONS = (
    "Answer the question. If it needs facts you should look up first, ask\n"
    "follow-up questions, one per line, and wait for each intermediate answer."
)
EXAMPLE = """\
Question: Which of the two lighthouses is taller, Varrow Point or Kessel Head?
Are follow up questions needed here: Yes.
Follow up: How tall is the Varrow Point lighthouse?
Intermediate answer: The Varrow Point lighthouse is 31 metres tall.
Follow up: How tall is the Kessel Head lighthouse?
Intermediate answer: The Kessel Head lighthouse is 44 metres tall.
So the final answer is: Kessel Head
"""
MORE_EXAMPLES = """\
Question: Who was warden of Orsa Hall when the Tamsin footbridge was opened?
Are follow up questions needed here: Yes.
Follow up: When was the Tamsin footbridge opened?
Intermediate answer: The Tamsin footbridge was opened on 6 May 1912.
Follow up: Who was warden of Orsa Hall on 6 May 1912?
Intermediate answer: Edda Wroll was warden of Orsa Hall from 1907 to 1921.
So the final answer is: Edda Wroll

Question: What does the company that makes the Plinket kettle also sell?
Are follow up questions needed here: Yes.
Follow up: Which company makes the Plinket kettle?
Intermediate answer: The Plinket kettle is made by Hobb & Daughters.
Follow up: What else does Hobb & Daughters sell?
Intermediate answer: Hobb & Daughters sells toasters and garden lamps.
So the final answer is: garden lamps
"""
"""What the default setting shows beside the first: a date and who held a role then; a chain through a company."""
OPENING = "Are follow up questions needed here:"
STOP = ("Intermediate answer:",)
ENOUGH = "So the final answer is:"
NEXT = f'root ::= "Follow up: " [^\\n]+ "\\n" | "{ENOUGH}"'
"""After an intermediate answer the scaffold knows two ways to go on."""
LABELS = ("Question:", OPENING, "Follow up:", "Intermediate answer:", "So the final answer is:")

_FOLLOW_UP = label("Follow up:")
_FOLLOW_UP_QUESTION = label("Follow up question:")
_INTERMEDIATE = label("Intermediate answer:")
_FINAL = label("So the final answer is:")
_QUESTION = label("Question:")


@dataclass(frozen=True, slots=True)
class Step:
    """What one reply says: a follow-up question, or a final answer; `kept` is the reply as far as it counts."""

    kind: Literal["follow_up", "final", "neither"]
    text: str
    kept: str


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked next: the follow-up ("": none), other words to search for it ("": its own), and why there is none."""

    follow_up: str
    wording: str = ""
    ended: Why = "final_answer"


@dataclass(frozen=True, slots=True)
class Way:
    """How a run goes: the most follow-ups, who writes the intermediate answer, and the guards."""

    follow_ups: int
    intermediate: str
    guards: Guards


def head(question: str, example: str = EXAMPLE, instructions: str = INSTRUCTIONS) -> str:
    """The scaffold up to where the model continues; the same with and without search."""
    return f"{instructions}\n\n{example.strip()}\n\nQuestion: {question}\n{OPENING}"


def own_part(reply: str) -> str:
    """The reply up to where the model goes on to invent a question of its own."""
    invented = _QUESTION.search(reply)
    return reply[: invented.start()] if invented else reply


def final_answer(reply: str) -> str | None:
    """The text after the last 'So the final answer is:', or None."""
    ends = list(_FINAL.finditer(reply))
    return line(reply[ends[-1].end() :]) if ends else None


def parse_step(reply: str) -> Step:
    """The question after the last 'Follow up:' (write-up, step 4), unless the reply gives a final answer."""
    reply = own_part(reply)
    final = final_answer(reply)
    if final is not None:
        return Step("final", final, reply)
    asked_at = [*_FOLLOW_UP.finditer(reply), *_FOLLOW_UP_QUESTION.finditer(reply)]
    found = max(asked_at, key=lambda match: match.end(), default=None)
    if found and (asked := line(reply[found.end() :])):
        rest = reply[found.end() :]
        end = found.end() + rest.index(asked) + len(asked) if asked in rest else len(reply)
        return Step("follow_up", asked, reply[:end])
    return Step("neither", "", reply)


def parse_hops(reply: str) -> tuple[Hop, ...]:
    """Every follow-up with the intermediate answer that the model gave itself ("" where it gave none)."""
    reply = own_part(reply)
    starts = [*_FOLLOW_UP.finditer(reply), *_FOLLOW_UP_QUESTION.finditer(reply)]
    hops = []
    for at, found in enumerate(starts := sorted(starts, key=lambda m: m.start())):
        part = reply[found.end() : starts[at + 1].start() if at + 1 < len(starts) else len(reply)]
        own = _INTERMEDIATE.search(part)
        said = line(part[own.end() :]) if own else ""
        hops.append(Hop(line(part[: own.start()] if own else part), answer=said, outcome="memory"))
    return tuple(hops)


def self_ask(
    question: str,
    *,
    search: bool = True,
    reader: bool = True,
    follow_ups: int = 4,
    intermediate: Literal["snippet", "model"] = "snippet",
    k: int = 3,
    example: str | None = None,
    instructions: str = INSTRUCTIONS,
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """Self-Ask. `search` False: one call, the model answers its own follow-ups. `reader`: the default setting's way.

    `follow_ups` is the most that are asked; `k` how many passages the default setting's reader sees; `example` and
    `instructions` replace the worked example and the instructions.
    """
    own = f"{MORE_EXAMPLES}\n{EXAMPLE}" if search and reader else EXAMPLE
    t = Transcript(head(question, example or own, instructions))
    way = Way(follow_ups, intermediate, guards)
    if not search:
        flow = _from_memory(t)
    elif reader:
        flow = _planning_hops(question, t, way, k)
    else:
        flow = _to_the_letter(t, way)
    return (yield from guarded(question, t, flow, guards))


def _from_memory(t: Transcript) -> Flow[Answer]:
    """One call, no stop sequence: follow-ups and their answers come from the model alone."""
    reply: Completion = yield from generate(t.messages(), max_tokens=320, closing=True)
    t.wrote(reply.text)
    for hop in parse_hops(reply.text):
        yield from recorded(t, hop)
    final = final_answer(own_part(reply.text))
    if not final:
        raise BadReply("The reply has no 'So the final answer is:' line.", reply=reply.text)
    return answered(t, final)


def _to_the_letter(t: Transcript, way: Way) -> Flow[Answer]:
    """The write-up's loop: stop at 'Intermediate answer:', search, paste one snippet, call again."""
    while True:
        last = len(t.hops) == way.follow_ups
        yield from t.compress(way.guards.compress)
        reply: Completion = yield from generate(t.messages(), stop=STOP, max_tokens=96, closing=last)
        step = parse_step((yield from _own_cut(reply.text, way.guards)))
        t.wrote(step.kept)
        if step.kind == "final":
            return answered(t, step.text)
        if step.kind == "neither":
            raise BadReply("The reply has neither a follow-up nor 'So the final answer is:'.", reply=reply.text)
        if t.repeated("follow_up", step.text, way.guards.repeats):
            return unanswered(t, "repeated", note=f"The follow-up was asked twice: {step.text}")
        if last:
            return unanswered(
                t, "follow_up_limit", note=f"{way.follow_ups} follow-ups were asked without a final answer."
            )
        looked = yield from look_up(step.text, 1)
        yield from _answered_hop(t, step.text, step.text, looked, looked.passages, way.intermediate)


def _own_cut(reply: str, guards: Guards) -> Flow[str]:
    """The reply up to an intermediate answer that the model writes itself; that, and all behind it, is dropped and told."""
    kept, dropped = cut_own(reply, "Intermediate answer:") if guards.own else (reply, "")
    yield from own_dropped(dropped)
    return kept


def _answered_hop(
    t: Transcript,
    follow_up: str,
    query: str,
    looked: Looked,
    seen: Sequence[Passage],
    intermediate: str,
    when: str = "",
) -> Flow[None]:
    """Give the follow-up its intermediate answer: one snippet of what is `seen`, or what the model writes from it."""
    quote = snippet(follow_up, seen, when)
    text = said(quote) if quote else NOTHING
    if intermediate == "model" and seen:
        reading = yield from read_answer(follow_up, seen[:2], closing=False)
        text, quote = reading.text, reading.citation
    gap = "\n" if t.turns and not t.turns[-1].content.endswith("\n") else ""
    t.observed(f"{gap}Intermediate answer: {defuse(text, LABELS)}\n")
    hop = Hop(follow_up, query, text, looked.outcome, looked.passages, quote, grounded=bool(quote and quote.verified))
    yield from recorded(t, hop)


def _planning_hops(question: str, t: Transcript, way: Way, k: int) -> Flow[Answer]:
    """The default setting: hops plan the retrieval, one short-answer call over the pooled passages answers.

    Where the budget does not reach for another hop, the answer is read from what was found: its price was held back.
    """
    clock = Clock(question)
    readings = Readings(question, t, clock, k, way.guards)
    try:
        ended = yield from _hops(question, t, clock, readings, way)
    except BudgetExceeded as short:
        yield from note("budget", str(short))
        ended = "budget"
    return (yield from readings.answer(ended))


def _hops(question: str, t: Transcript, clock: Clock, readings: Readings, way: Way) -> Flow[Why]:
    """Ask, search, answer, until the model has no follow-up, repeats itself, the answer is sure, or as many were asked."""
    while len(t.hops) < way.follow_ups:
        yield from t.compress(way.guards.compress)
        ask = yield from _next_follow_up(question, t, clock, way.guards)
        if not ask.follow_up:
            return ask.ended
        query = ask.wording or clock.query(f"{question} {ask.follow_up}")
        looked = yield from look_up(query, 2, together=True, exclude=t.pool, when=clock.when)
        seen = clock.narrowed(pooled(looked.passages, t.pool.values()))
        t.shown(looked.passages)
        yield from _answered_hop(t, ask.follow_up, query, looked, seen, way.intermediate, clock.when)
        yield from clock.heard(looked.passages)
        if len(t.hops) < way.follow_ups and (yield from readings.confident()):
            return "confident"
    return "follow_up_limit"


def _next_follow_up(question: str, t: Transcript, clock: Clock, guards: Guards) -> Flow[Ask]:
    """The next follow-up, none when the model has none.

    One that says no more than the question, or was asked before, is refused: the rules for dates ask in its place
    where they can, else the model is asked once more with what is known. Asked again all the same, it is searched for
    in other words, once in a run; after that the model repeats itself.
    """
    for refused in (False, True):
        opening = "" if t.turns else " Yes.\n"
        prefix = f"{opening}Follow up:"
        free = bool(t.turns) and not refused
        given = () if free else (Message("assistant", prefix),)
        shape, stop = (Grammar(NEXT), (*STOP, "\n", ENOUGH)) if free else (None, (*STOP, "\n"))
        reply: Completion = yield from generate(t.messages(*given), stop=stop, max_tokens=40, shape=shape)
        step = parse_step(("" if free else prefix) + (yield from _own_cut(reply.text, guards)))
        if step.kind != "follow_up":
            return Ask("")
        vague = says_no_more(step.text, question) or clock.refuses(step.text)
        new = not vague and not t.repeated("follow_up", step.text, guards.repeats)
        follow_up = step.text if new else clock.follow_up()
        if not new:
            yield from note("refused", step.text, by_rule=follow_up)
        if follow_up and (new or not t.repeated("follow_up", follow_up, guards.repeats)):
            t.wrote(f"{prefix} {follow_up}\n")
            return Ask(follow_up)
        t.wrote(f"{prefix} {step.text}\n")
        if refused and not vague and (wording := _other_words(step.text, question, t, guards)):
            yield from note("reformulated", wording, instead=step.text)
            return Ask(step.text, wording)
        known = "; ".join(hop.answer for hop in t.hops) or "nothing yet"
        told = f"(That asks no more than before. Known: {defuse(known, LABELS)}. Ask for one missing fact.)"
        t.observed(f"Intermediate answer: {told}\n")
    return Ask("", ended="repeated")


def _other_words(follow_up: str, question: str, t: Transcript, guards: Guards) -> str:
    """Other words to search for a follow-up that was asked before; "" when that was done once, or none are left."""
    if guards.repeats == "off" or t.asked("wording"):
        return ""
    wording = other_words(follow_up, question, t.asked("follow_up"))
    return "" if not wording or t.repeated("wording", wording, "exact") else wording


def _most_calls(params: Mapping[str, Any]) -> int:
    follow_ups, writes = int(params.get("follow_ups", 4)), params.get("intermediate") == "model"
    if not params.get("search", True):
        return 1 + extra_calls(params, searches=0)
    extra = extra_calls(params, searches=follow_ups + 2)
    if not params.get("reader", True):
        return follow_ups + follow_ups * writes + 1 + extra
    stopping = most_calls(params.get("guards", Guards()), follow_ups)
    return 2 * follow_ups + follow_ups * writes + 4 + stopping + extra


STRATEGY = Strategy(
    Card(
        name="self-ask",
        summary="The model asks itself follow-up questions one at a time; each is looked up before the next is asked.",
        paper="Press et al. 2022, Measuring and Narrowing the Compositionality Gap in Language Models, section 3",
        when=(
            "multi-hop factual questions: a date, then who held a role at that date",
            "single facts are easy to look up, but their combination is not written down",
            "each hop should be visible, so that a wrong answer can be traced to it",
        ),
        avoid=(
            "several kinds of tool, or real actions: use react",
            "a single fact: use retrieve-then-read",
            "parts that are known in advance and do not depend on each other",
        ),
        loop=True,
        parallel=False,
        branch=True,
        person_in_the_loop=False,
        autonomy="medium",
        cost="medium",
        latency="medium",
        calls="one a follow-up (at most 4), one for the answer, and at most one between hops to see whether it is sure already",
        aliases=("selfask", "self-ask-with-search", "follow-up-questioning"),
    ),
    self_ask,
    settings={
        "default": {},
        "paper": {"reader": False, "guards": PAPER},
        "memory": {"search": False, "guards": PAPER},
    },
    most_calls=_most_calls,
)
