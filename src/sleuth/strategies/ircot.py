"""IRCoT (Trivedi et al. 2023, "Interleaving Retrieval with Chain-of-Thought Reasoning", section 3).

Retrieve with the question; then, in turn, the model writes the next sentence of its reasoning and that sentence is the
next query, until a sentence says "answer is:" or 8 sentences are written (section 3.1). What it collects, at most 15
paragraphs (section 4), is read by a reader apart (section 3.2). Only the first new sentence of a reply counts.

The paper's prompt has the paragraphs before the reasoning, so each retrieval changes its middle and all of it is read
anew. The default *setting* is a dialogue that only grows: what a sentence finds stands behind it. There a short-answer
call over few of the passages writes the answer; in the paper setting the paper's chain-of-thought reader does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sleuth.errors import BadReply, BudgetExceeded
from sleuth.guards.citations import cite, defuse
from sleuth.guards.evidence import recorded, said, snippet
from sleuth.guards.guarded import PAPER, extra_calls, guarded, own_dropped
from sleuth.guards.outcome import answered, unanswered, why
from sleuth.guards.scaffold import cut_own, label, unwrapped
from sleuth.guards.searching import NOTHING, look_up
from sleuth.guards.searching.reformulate import reformulated as reworded
from sleuth.guards.stopping import most_calls
from sleuth.guards.text import sentences
from sleuth.guards.timing import Clock
from sleuth.strategies.reader import Readings, clipped, parse
from sleuth.transcript import Transcript, Verdict
from sleuth.types import Answer, Card, Completion, Flow, Guards, Hop, Message, Passage, Strategy, Why
from sleuth.verbs import generate, note

INSTRUCTIONS = (
    "Answer the question by reasoning, one sentence at a time, from the passages found so far. Each sentence tells the\n"
    'next fact; more passages are looked up with it. When the facts suffice, end with "so the answer is:".'
)
EXAMPLES = """\
Question: Who founded the school at which the painter of Grey Mole Morning studied?
Passage: Grey Mole Morning: Grey Mole Morning is a painting of 1934 by Ilse Vornhalt.
Reasoning: Grey Mole Morning was painted by Ilse Vornhalt.
Passage: Ilse Vornhalt: Ilse Vornhalt was a painter who studied at the Kettrin Drawing School.
Reasoning: Ilse Vornhalt studied at the Kettrin Drawing School.
Passage: Kettrin Drawing School: The school was founded in 1873 by Orlo Paskwell in a former bakery.
Reasoning: The Kettrin Drawing School was founded by Orlo Paskwell, so the answer is: Orlo Paskwell

Question: Are the Varn Weir and the Osk Weir on the same stream?
Passage: Varn Weir: The Varn Weir is a weir on the Little Tamble.
Reasoning: The Varn Weir is on the Little Tamble.
Passage: Osk Weir: The Osk Weir dams the Broad Tamble, a stream to its north.
Reasoning: The Osk Weir is on the Broad Tamble, so the answer is: no
"""
PAPER_EXAMPLES = """\
Wikipedia Title: Grey Mole Morning
Grey Mole Morning is a painting of 1934 by Ilse Vornhalt. It hangs in the town hall of Kettrin.

Wikipedia Title: Osk Weir
The Osk Weir dams the Broad Tamble. It was built of oak and renewed twice.

Wikipedia Title: Kettrin Drawing School
The Kettrin Drawing School was founded in 1873 by Orlo Paskwell in a former bakery.

Wikipedia Title: Ilse Vornhalt
Ilse Vornhalt was a painter who studied at the Kettrin Drawing School.

Q: Who founded the school at which the painter of Grey Mole Morning studied?
A: Grey Mole Morning was painted by Ilse Vornhalt. Ilse Vornhalt studied at the Kettrin Drawing School. The Kettrin \
Drawing School was founded by Orlo Paskwell. So the answer is: Orlo Paskwell.

Wikipedia Title: Varn Weir
The Varn Weir is a weir on the Little Tamble. A mill stood beside it.

Wikipedia Title: Tamble Fair
The Tamble Fair is held each autumn.

Wikipedia Title: Osk Weir
The Osk Weir dams the Broad Tamble. It was built of oak and renewed twice.

Q: Are the Varn Weir and the Osk Weir on the same stream?
A: The Varn Weir is on the Little Tamble. The Osk Weir is on the Broad Tamble. So the answer is: no.
"""
"""Gold paragraphs and one that distracts, as the paper's demonstrations have them (section 4)."""
LABELS = ("Question:", "Passage:", "Reasoning:", "Wikipedia Title:", "Q:", "A:", "answer is:")
OWN = ("Question:", "Passage:", "Wikipedia Title:", "Q:")
"""What only questions and observations begin with."""
SAID_BEFORE = "(That was said before. Tell the next fact, or end with the answer.)"
STEPS = 4
"""Most sentences in the default setting."""
SHOWN = 60
"""Most words of a passage that the default setting's dialogue shows: reading is the cost."""

_REASONING = label("Reasoning:")
_ANSWER = re.compile(
    r"\b(?:so,?\s+the\s+(?:final\s+)?)?answer\s+is\s*\**\s*:\**|\bso,?\s+the\s+(?:final\s+)?answer\s+is\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run's question, transcript and clock, its limits (sentences, passages a search, passages in all) and guards.

    `dialogue` is the default setting's layout; without it, `head` holds the paper's worked examples.
    """

    question: str
    t: Transcript
    clock: Clock
    dialogue: bool
    steps: int
    width: int
    most: int
    guards: Guards


def first_sentence(reply: str) -> str:
    """The first sentence of the reply, in one line, without the label before it (section 3.1: the rest is dropped)."""
    own = _REASONING.sub("", reply.strip(), count=1)
    spans = sentences(own)
    return " ".join(unwrapped(own[slice(*spans[0])]).split()) if spans else ""


def final_answer(text: str) -> str | None:
    """What stands behind the last "answer is:" on its line; None where that does not stand."""
    ends = list(_ANSWER.finditer(text))
    return parse(text[ends[-1].end() :]) if ends else None


def head(question: str, examples: str = EXAMPLES, instructions: str = INSTRUCTIONS) -> str:
    """The dialogue up to the first passages."""
    return f"{instructions}\n\n{examples.strip()}\n\nQuestion: {question}\n"


def paper_prompt(question: str, examples: str, passages: Sequence[Passage], reasoning: str = "") -> tuple[Message, ...]:
    """The paper's layout: worked examples, all paragraphs so far, the question, the sentences so far (section 3.1)."""
    shown = (
        Message("observation", f"Wikipedia Title: {defuse(p.title, LABELS)}\n{defuse(p.text, LABELS)}\n\n")
        for p in passages
    )
    so_far = (Message("assistant", reasoning),) if reasoning else ()
    return (Message("user", examples), *shown, Message("user", f"Q: {question}\nA:"), *so_far)


def ircot(
    question: str,
    *,
    steps: int = STEPS,
    width: int = 2,
    most: int = 15,
    reader: bool = True,
    k: int = 3,
    examples: str | None = None,
    instructions: str = INSTRUCTIONS,
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """IRCoT: at most `steps` sentences, `width` passages a search, `most` passages in all.

    `reader` False: the paper's layout and its chain-of-thought reader over all passages; True: the default setting's
    dialogue and a short-answer call over at most `k`. `examples` replaces the worked examples of whichever it is.
    """
    shown = examples or (EXAMPLES if reader else PAPER_EXAMPLES)
    t = Transcript(head(question, shown, instructions) if reader else f"{shown.strip()}\n\n")
    run = Run(question, t, Clock(question if reader else ""), reader, steps, width, most, guards)
    return (yield from guarded(question, t, _short_answer(run, k) if reader else _to_the_letter(run), guards))


def _short_answer(run: Run, k: int) -> Flow[Answer]:
    """The default setting: what the sentences found is read as every default setting reads."""
    readings = Readings(run.question, run.t, run.clock, k, run.guards)
    ended = yield from _collected(run, readings)
    return (yield from readings.answer(ended))


def _to_the_letter(run: Run) -> Flow[Answer]:
    """The paper's reader: a chain of thought over all paragraphs; without "answer is:", all of it is the answer."""
    ended = yield from _collected(run)
    passages = tuple(run.t.pool.values())
    if not passages:
        return unanswered(run.t, ended, note="Nothing was found.")
    prompt = paper_prompt(run.question, run.t.head, passages)
    reply: Completion = yield from generate(prompt, stop=("\n",), max_tokens=160, closing=True)
    text = final_answer(reply.text)
    text = " ".join(reply.text.split()) if text is None else text
    yield from note("read", text, reasoning=reply.text.strip(), passages=[p.id for p in passages])
    quote = cite(text, passages, context=run.question)
    return answered(run.t, text, ended, read=passages, final=(quote,) if quote else ())


def _collected(run: Run, readings: Readings | None = None) -> Flow[Why]:
    """Retrieve and reason in turn; why it stopped. What it collected is in the transcript, whatever happened."""
    try:
        return (yield from _loop(run, readings))
    except (BadReply, BudgetExceeded) as short:
        yield from note(why(short), str(short))
        return why(short)


def _loop(run: Run, readings: Readings | None) -> Flow[Why]:
    """A sentence that was said before is told so once, then searched in other words once; the paper's layout has neither."""
    t = run.t
    yield from _found(run, run.question, run.clock.query(run.question))
    for n in range(1, run.steps + 1):
        yield from t.compress(run.guards.compress if run.dialogue else 0)
        sentence = yield from _sentence(run, n)
        if final_answer(sentence) is not None:
            yield from _claimed(run, sentence)
            return "final_answer"
        verdict = t.again("thought", sentence, run.guards.repeats)
        if verdict == "stop" or (verdict != "new" and not run.dialogue):
            return "repeated"
        if len(t.pool) >= run.most:
            return "step_limit"
        if verdict == "tell":
            yield from note("repeat_told", sentence)
            t.observed(f"{SAID_BEFORE}\n")
            continue
        yield from _found(run, sentence, (yield from _query(run, sentence, verdict)))
        if readings and n < run.steps and (yield from readings.confident()):
            return "confident"
    return "step_limit"


def _sentence(run: Run, n: int) -> Flow[str]:
    """The next sentence of the reasoning; what the model wrote behind it is dropped."""
    t = run.t
    if run.dialogue:
        prompt = t.messages(Message("assistant", "Reasoning:"))
    else:
        so_far = "".join(turn.content for turn in t.turns if turn.role == "assistant")
        prompt = paper_prompt(run.question, t.head, list(t.pool.values()), so_far)
    reply: Completion = yield from generate(prompt, stop=("\n",), max_tokens=60)
    kept, dropped = cut_own(reply.text, *OWN) if run.guards.own else (reply.text, "")
    yield from own_dropped(dropped)
    sentence = first_sentence(kept)
    if not sentence:
        raise BadReply("The reply has no sentence of reasoning.", reply=reply.text)
    yield from note("thought", sentence, step=n)
    t.wrote(f"Reasoning: {sentence}\n" if run.dialogue else f" {sentence}")
    return sentence


def _query(run: Run, sentence: str, verdict: Verdict) -> Flow[str]:
    """What a sentence is searched with: itself (in the default setting with the question), or other words for it."""
    if verdict == "reformulate":
        other = reworded(sentence, run.question, (run.question, *run.t.asked("thought")))
        yield from note("reformulated", other, instead=sentence)
        if other:
            return other
    return run.clock.query(f"{run.question} {sentence}") if run.dialogue else sentence


def _found(run: Run, sentence: str, query: str) -> Flow[None]:
    """Search; new passages join the transcript, at most `most` in all. The sentence is cited to what says it best so far."""
    t, clock = run.t, run.clock
    shown = t.pool if run.dialogue else ()
    looked = yield from look_up(query, run.width, together=run.dialogue, exclude=shown, when=clock.when)
    new = [p for p in looked.passages if p.id not in t.pool][: max(0, run.most - len(t.pool))]
    t.shown(new)
    if run.dialogue:
        lines = "".join(f"Passage: {_line(passage)}\n" for passage in new)
        t.observed(lines or f"Passage: {NOTHING}\n")
    quote = snippet(sentence, list(t.pool.values()), clock.when)
    text = said(quote) if quote else ""
    hop = Hop(sentence, query, text, looked.outcome, looked.passages, quote, bool(quote and quote.verified))
    yield from recorded(t, hop)
    yield from clock.heard(new)


def _claimed(run: Run, sentence: str) -> Flow[None]:
    """The last sentence is searched with no more, but it may tell one more fact: that is cited as well, so that it is read."""
    told, pool = _ANSWER.split(sentence)[0].strip(" ,.;:"), list(run.t.pool.values())
    quote = snippet(told, pool) if told else cite(final_answer(sentence) or "", pool, context=run.question)
    if quote and run.dialogue:
        evidence = (run.t.pool[quote.passage],)
        yield from recorded(run.t, Hop(sentence, "", said(quote), "found", evidence, quote, quote.verified))


def _line(passage: Passage) -> str:
    """A passage in one line of the dialogue."""
    return defuse(f"{' '.join(passage.title.split())}: {clipped(passage.text, SHOWN)}", LABELS)


def _most_calls(params: Mapping[str, Any]) -> int:
    steps = int(params.get("steps", STEPS))
    calls = steps + extra_calls(params, searches=steps + 2)
    if not params.get("reader", True):
        return calls + 1
    return calls + most_calls(params.get("guards", Guards()), steps) + 4


STRATEGY = Strategy(
    Card(
        name="ircot",
        summary="Reasons sentence by sentence; each sentence is the next search, and what it finds is reasoned on.",
        paper="Trivedi et al. 2023, Interleaving Retrieval with Chain-of-Thought Reasoning, section 3",
        when=(
            "chains whose next link is named only in what was found",
            "statements find more than questions do: each sentence of reasoning is the query",
        ),
        avoid=(
            "small budgets: every step reads passages",
            "a single fact, or two pages that name each other: one search finds both",
        ),
        loop=True,
        parallel=False,
        branch=False,
        person_in_the_loop=False,
        autonomy="medium",
        cost="high",
        latency="high",
        calls="one a sentence and one for the answer; one or more again where it is unsure or dates contradict it",
        aliases=("interleaving", "interleaved-retrieval"),
    ),
    ircot,
    settings={
        "default": {},
        "paper": {"steps": 8, "width": 4, "reader": False, "guards": PAPER},
    },
    most_calls=_most_calls,
)
