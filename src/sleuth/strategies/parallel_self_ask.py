"""Parallel Self-Ask: all follow-up questions first, those that need no other's answer looked up at the same time.

From the retrieval-planning write-up ("ParallelSelfAsk": decompose with Self-Ask, execute independent questions in
parallel); scaffold and labels are Self-Ask's (Press et al. 2022, section 3). A follow-up refers to the answer of an
earlier one as {1}, {2}, ... In the paper's form the model reads all intermediate answers and ends the scaffold
itself; in the default *setting* the follow-ups plan the retrieval and a short-answer call writes the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sleuth.errors import BadReply, BudgetExceeded
from sleuth.guards.citations import defuse
from sleuth.guards.evidence import noted, said, snippet
from sleuth.guards.guarded import PAPER, extra_calls, guarded, own_dropped
from sleuth.guards.outcome import answered
from sleuth.guards.plans import ANSWER, Plan, PlanStep, groups, is_anaphoric, references, resolved
from sleuth.guards.scaffold import cut_own, line
from sleuth.guards.searching import NOTHING, look_up
from sleuth.guards.stopping import most_calls
from sleuth.guards.text import same
from sleuth.guards.timing import Clock, says_no_more
from sleuth.strategies.reader import answered_from_hops, further, harmless, pooled, read_answer
from sleuth.strategies.self_ask import (
    ENOUGH,
    EXAMPLE,
    LABELS,
    MORE_EXAMPLES,
    OPENING,
    STOP,
    final_answer,
    head,
    own_part,
    parse_hops,
)
from sleuth.transcript import Transcript, plain_words
from sleuth.transcript.wording import gist
from sleuth.types import Answer, Card, Completion, Flow, Grammar, Guards, Hop, Message, Passage, Strategy, Task, Why
from sleuth.verbs import fork, generate, join, note

Intermediate: TypeAlias = Literal["snippet", "referred", "model"]

INSTRUCTIONS = (
    "Answer the question. If it needs facts you should look up first, ask all\n"
    "follow-up questions before the first intermediate answer, one per line.\n"
    "Write {1} where a follow-up needs the answer to the first, {2} to the second."
)
CHAINS = """\
Question: Whose founder was born earlier, Plinket Glass or Dorran Tiles?
Are follow up questions needed here: Yes.
Follow up: Who founded Plinket Glass?
Intermediate answer: Jorun Hobb
Follow up: Who founded Dorran Tiles?
Intermediate answer: Ansel Wroll
Follow up: When was Jorun Hobb born?
Intermediate answer: Jorun Hobb was born in 1871.
Follow up: When was Ansel Wroll born?
Intermediate answer: Ansel Wroll was born in 1864.
So the final answer is: Dorran Tiles
"""
"""Two chains side by side: what Self-Ask's own worked examples have not."""
KNOWN: Mapping[str, str] = {"6 May 1912": "{1}", "Hobb & Daughters": "{1}", "Jorun Hobb": "{1}", "Ansel Wroll": "{2}"}
"""What the worked examples' follow-ups have from an earlier answer, and how they say so before it is there."""
LINES = 'root ::= " "? [^\\n]+ "\\n" ("Follow up: " [^\\n]+ "\\n"){0,%d} "Intermediate answer:"'
"""The rest of the first follow-up, at most so many more, and the label that ends them: small models go on for ever."""

_NUMBERED = re.compile(r"^(\W*follow[\s_-]*up(?:[\s_-]*question)?)[\s*_]*#?\d+[\s*_]*:", re.IGNORECASE | re.MULTILINE)
_REFERENCE = re.compile(r"\{\W{0,3}[a-z]{0,9}[\s_]{0,3}(\d{1,3})(?:\.\w+)?\W{0,3}\}", re.IGNORECASE)
_NAMED = re.compile(r"(?<=[^\s.?!])\s+[\"'“(]*[A-Z]|\d|[\"“]")


def written_first(example: str, known: Mapping[str, str] = KNOWN) -> str:
    """Self-Ask's worked example with its follow-ups before the intermediate answers, referring to them."""
    opening, _, rest = example.strip().partition(f"\n{OPENING}")
    hops = parse_hops(rest)
    asked = "".join(f"Follow up: {hop.question}\n" for hop in hops)
    for answer, reference in known.items():
        asked = asked.replace(answer, reference)
    told = "".join(f"Intermediate answer: {hop.answer}\n" for hop in hops)
    return f"{opening}\n{OPENING} Yes.\n{asked}{told}{ENOUGH} {final_answer(rest)}\n"


EXAMPLES = "\n".join(map(written_first, [EXAMPLE, CHAINS, *MORE_EXAMPLES.split("\n\n")]))
"""Chains last: behind the comparison, small models plan comparisons only, and more follow-ups than are needed."""


@dataclass(frozen=True, slots=True)
class Found:
    """A follow-up's hop, and all passages that it and those it depends on have seen."""

    hop: Hop
    seen: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """How a follow-up is looked up: what its answer is, and whether the search is for the question too."""

    question: str
    intermediate: Intermediate
    wide: bool

    def writes(self, step: PlanStep, plan: Plan) -> bool:
        """Whether a short answer is written, for others to refer to; else the snippet is the answer."""
        needed = any(step.id in other.depends_on for other in plan.steps)
        return self.intermediate == "model" or (self.intermediate == "referred" and needed)


def parse_follow_ups(reply: str) -> tuple[str, ...]:
    """Every follow-up of the reply, in order, up to the first intermediate answer or final answer."""
    numbered = _NUMBERED.sub(r"\1:", own_part(reply))
    asked: list[str] = []
    for hop in parse_hops(numbered):
        if hop.question:
            asked.append(hop.question)
        if hop.answer:
            break
    return tuple(asked)


def analysed(
    asked: Sequence[str], question: str, most: int, repeats: str = "near"
) -> tuple[Plan, tuple[tuple[str, str], ...]]:
    """The follow-ups as steps "1", "2", ... with what they depend on; and those that are left out, each with why.

    A repeat (`repeats`: off, exact, near) is left out, and who refers to it gets the first one's answer; so is one that
    says no more than the question, unless it says it in fewer words and another needs its answer. A reference to itself
    or to a later one is taken away. Without a reference, a follow-up that points back depends on the one before.
    """
    needed = {number for at, text in enumerate(asked, 1) for number in _needs(text, at, question)}
    stands: dict[int, str] = {}
    keys: dict[tuple[str, ...], str] = {}
    steps: list[PlanStep] = []
    out: list[tuple[str, str]] = []
    for at, text in enumerate(asked, 1):
        query = _tidy(_REFERENCE.sub(lambda found: stands.get(int(found[1]), ""), text))
        key = _key(query, repeats)
        if key in keys:
            stands[at] = f"{{{keys[key]}}}"
            out.append((text, "asked before"))
        elif not plain_words(query) or (says_no_more(query, question) and (at not in needed or same(query, question))):
            out.append((text, "says no more than the question"))
        elif len(steps) == most:
            out.append((text, f"more than {most}"))
        else:
            depends = tuple(other for other, _ in references(query))
            depends = depends or tuple(step.id for step in steps[-1:] if points_back(query, question))
            steps.append(PlanStep(str(len(steps) + 1), query, depends))
            stands[at] = f"{{{steps[-1].id}}}"
            keys |= {key: steps[-1].id} if key else {}
    return Plan(tuple(steps)), tuple(out)


def _needs(text: str, at: int, question: str) -> set[int]:
    """The numbers of the follow-ups whose answers this one, as it was written, asks for."""
    named = {int(found[1]) for found in _REFERENCE.finditer(text)}
    return named or ({at - 1} if points_back(text, question) else set())


def _key(query: str, repeats: str) -> tuple[str, ...]:
    """What two follow-ups have in common that ask the same; () where every follow-up counts ("off")."""
    if repeats == "near":
        return gist(query)
    return (plain_words(query),) if repeats == "exact" else ()


def points_back(query: str, question: str) -> bool:
    """Whether a follow-up without a reference does not stand alone: it points, or names nothing though the question does."""
    return is_anaphoric(query) or (bool(_NAMED.search(question)) and not _NAMED.search(query))


def filled(step: PlanStep, answers: Mapping[str, str]) -> str:
    """The follow-up with earlier answers in the places of its references, behind it where it has none; empty ones left out."""
    return _tidy(resolved(step, {each: {ANSWER: answer} for each, answer in answers.items()}))


def _tidy(text: str) -> str:
    return re.sub(r"\s+(?=[?.,;!])", "", " ".join(text.split()))


def parallel_self_ask(
    question: str,
    *,
    reader: bool = True,
    follow_ups: int = 4,
    intermediate: Intermediate = "referred",
    k: int = 3,
    examples: str = EXAMPLES,
    instructions: str = INSTRUCTIONS,
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """Ask at most `follow_ups` at once, look each up when those it refers to are answered, then answer.

    `intermediate`: a follow-up's answer is a ``snippet``, a short answer read from what was found (``model``), or that
    only where another refers to it (``referred``). `reader`: a short-answer call over at most `k` passages answers.
    """
    t = Transcript(head(question, examples, instructions))
    if reader:
        return (
            yield from guarded(question, t, _planning_hops(question, t, follow_ups, intermediate, k, guards), guards)
        )
    return (yield from guarded(question, t, _to_the_letter(question, t, follow_ups, intermediate, guards), guards))


def _planning_hops(
    question: str, t: Transcript, most: int, intermediate: Intermediate, k: int, guards: Guards
) -> Flow[Answer]:
    """The default setting. Without a follow-up worth asking, the answer is read from the question's own search."""
    ended: Why = "final_answer"
    try:
        reply = yield from _follow_ups(t, " Yes.\nFollow up:", most, guards)
        plan = yield from _planned(reply, question, t, most, guards)
        yield from _answers(plan, t, Lookup(question, intermediate, wide=True))
    except BudgetExceeded as short:
        yield from note("budget", str(short))
        ended = "budget"
    clock = Clock(question)
    yield from clock.heard(t.pool.values())
    return (yield from answered_from_hops(question, t, clock, k, ended, guards=guards))


def _to_the_letter(question: str, t: Transcript, most: int, intermediate: Intermediate, guards: Guards) -> Flow[Answer]:
    """The write-up's form: all follow-ups, their answers, and 'So the final answer is:' for the model to end."""
    reply = yield from _follow_ups(t, "", most, guards)
    final = final_answer(reply)
    if final and not parse_follow_ups(reply):
        t.wrote(reply)
        return answered(t, final)
    plan = yield from _planned(reply, question, t, most, guards)
    if not plan.steps:
        raise BadReply("The reply has no follow-up that says more than the question.", reply=reply)
    yield from _answers(plan, t, Lookup(question, intermediate, wide=False))
    prefix = Message("assistant", ENOUGH)
    end: Completion = yield from generate(t.messages(prefix), stop=("\n",), max_tokens=48, closing=True)
    final = line(own_part(final_answer(end.text) or end.text))
    t.wrote(f"{ENOUGH} {final}")
    return answered(t, final)


def _follow_ups(t: Transcript, prefix: str, most: int, guards: Guards) -> Flow[str]:
    """What the call that asks all follow-ups says, with the `prefix` that was written for it; no answers of its own."""
    given = (Message("assistant", prefix),) if prefix else ()
    stop = (*STOP, ENOUGH, "Question:") if prefix else (*STOP, "Question:")
    shape = Grammar(LINES % max(0, most - 1)) if prefix else None
    tokens = 32 * max(2, most)
    reply: Completion = yield from generate(t.messages(*given), stop=stop, max_tokens=tokens, shape=shape)
    kept = own_part(prefix + reply.text)
    if guards.own:
        kept, dropped = cut_own(kept, "Intermediate answer:")
        yield from own_dropped(dropped)
    return kept


def _planned(reply: str, question: str, t: Transcript, most: int, guards: Guards) -> Flow[Plan]:
    """The plan in the reply, written into the transcript; it and what was refused are noted."""
    plan, out = analysed(parse_follow_ups(reply), question, most, guards.repeats)
    for text, reason in out:
        yield from note("refused", text, by_rule="", reason=reason)
    t.wrote(" Yes.\n" + "".join(f"Follow up: {step.query}\n" for step in plan.steps))
    order = groups(plan)
    steps = [{"id": step.id, "query": step.query, "depends_on": list(step.depends_on)} for step in plan.steps]
    told = "; then ".join(" and ".join(group) for group in order) or "no follow-up"
    yield from note("follow_ups", told, steps=steps, groups=[list(group) for group in order])
    return plan


def _answers(plan: Plan, t: Transcript, how: Lookup) -> Flow[None]:
    """Look every follow-up up beside the others; each waits for those it depends on alone."""
    tasks: dict[str, Task[Found]] = {}
    for step in plan.steps:
        before = {each: tasks[each] for each in step.depends_on}
        tasks[step.id] = yield from fork(_answer(step, before, how, writes=how.writes(step, plan)))
    for task in tasks.values():
        found = yield from join(task)
        t.hops.append(found.hop)
        t.shown(found.hop.evidence)
        t.observed(f"Intermediate answer: {defuse(found.hop.answer, LABELS)}\n")


def _answer(step: PlanStep, before: Mapping[str, Task[Found]], how: Lookup, *, writes: bool) -> Flow[Found]:
    """One follow-up's answer: a snippet of what is found, or a short answer read from it.

    What is searched and excluded follows from the answers it depends on alone, never from what else has ended yet.
    """
    found: dict[str, Found] = {}
    for each, task in before.items():
        found[each] = yield from join(task)
    seen = pooled(*(each.seen for each in found.values()))
    follow_up = filled(step, {each: "" if f.hop.answer == NOTHING else f.hop.answer for each, f in found.items()})
    clock = Clock(how.question if how.wide else "")
    yield from clock.heard(seen)
    query = clock.query(f"{how.question} {follow_up}") if how.wide else follow_up
    shown = [passage.id for passage in seen] if how.wide else ()
    looked = yield from look_up(query, 2, together=how.wide, exclude=shown, when=clock.when)
    near = clock.narrowed(pooled(looked.passages, seen if how.wide else ()))
    quote = snippet(follow_up, near, clock.when)
    text = said(quote) if quote else NOTHING
    if writes and near:
        reading = yield from further(read_answer(harmless(follow_up), near[:2], closing=False))
        text, quote = (reading.text, reading.citation) if reading else (text, quote)
    hop = Hop(follow_up, query, text, looked.outcome, looked.passages, quote, grounded=bool(quote and quote.verified))
    yield from noted(hop)
    return Found(hop, tuple(pooled(looked.passages, seen)))


def _most_calls(params: Mapping[str, Any]) -> int:
    follow_ups, reader = int(params.get("follow_ups", 4)), bool(params.get("reader", True))
    writes = {"snippet": 0, "referred": max(0, follow_ups - 1), "model": follow_ups}
    answers = 4 + most_calls(params.get("guards", Guards()), 0) if reader else 1
    return 1 + writes[str(params.get("intermediate", "referred"))] + answers + extra_calls(params, follow_ups + reader)


STRATEGY = Strategy(
    Card(
        name="parallel-self-ask",
        summary="Asks all follow-up questions at once, looks independent ones up at the same time, then answers.",
        paper="Retrieval-planning write-up, ParallelSelfAsk; scaffold of Press et al. 2022, section 3",
        when=(
            "several things to look up that do not depend on each other: comparisons, lists, two chains side by side",
            "searches or model calls are slow, and several can run at the same time",
        ),
        avoid=(
            "what to ask next depends on what was found, beyond its name: use self-ask or react",
            "a single fact: use retrieve-then-read",
        ),
        loop=False,
        parallel=True,
        branch=True,
        person_in_the_loop=False,
        autonomy="medium",
        cost="medium",
        latency="low",
        calls="one for all follow-ups (at most 4), one for each that another refers to, and one for the answer",
        aliases=("parallel-follow-ups",),
    ),
    parallel_self_ask,
    settings={"default": {}, "paper": {"reader": False, "intermediate": "model", "guards": PAPER}},
    most_calls=_most_calls,
)
