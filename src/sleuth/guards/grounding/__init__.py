"""Whether a final answer follows from what the run cited: by rule (`sleuth.guards.grounding.following`), then by a judging call.

A run that made no look-up has nothing to follow from, and is not checked: `Answer.grounded` stays None.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from sleuth.guards.citations import defuse
from sleuth.guards.grounding.following import Evidence, Verdict, ruled
from sleuth.guards.outcome import spared
from sleuth.transcript.wording import plain_words
from sleuth.types import Answer, Choice, Citation, Flow, Message
from sleuth.verbs import generate, note

UNGROUNDED = "The answer does not follow from what was cited."

INSTRUCTIONS = """\
Do the facts say that the answer is right? Reply yes or no.

Fact: The Varrow Point lighthouse is 31 metres tall.
Fact: The Kessel Head lighthouse was built by Edda Wroll.
Question: Which lighthouse is taller, Varrow Point or Kessel Head?
Answer: Kessel Head
Right: no

Fact: The Plinket kettle is made by Hobb & Daughters.
Fact: Hobb & Daughters has had its workshop in Tamsin since 1912.
Question: In which town is the Plinket kettle made?
Answer: Tamsin
Right: yes
"""
LABELS = ("Fact:", "Question:", "Answer:", "Right:")
FACTS = 6
"""Facts that the judging call is shown, at most: the quotes, then the beginnings of passages."""
FACT_CHARACTERS = 400


def checked(
    question: str, answer: Answer, citations: Literal["off", "mark", "abstain"] = "mark", *, judge: bool = False
) -> Flow[Answer]:
    """The answer with `grounded` set: whether it follows from cited passages or a tool's result.

    Where it does, the quotes that it follows from are among its citations. Where it does not, it is marked (`grounded`
    False, and a note), or becomes an abstention (``abstain``; ended ``ungrounded``). Which rule decided is noted
    ("grounding": grounded, rule, quotes). `judge` lets one model call decide where no rule says that it follows. An
    answer that was checked before, and a run without a look-up, are left as they are.
    """
    evidence = Evidence.of(answer)
    if citations == "off" or answer.status != "answered" or answer.grounded is not None or not evidence.looked:
        return answer
    verdict = ruled(question, answer.text, evidence)
    if judge and not verdict.grounded and evidence.texts:
        verdict = yield from judged(question, answer.text, evidence, verdict)
    quotes = [quote.quote for quote in verdict.quotes]
    yield from note("grounding", verdict.reason, grounded=verdict.grounded, rule=verdict.rule, quotes=quotes)
    if verdict.grounded:
        return replace(answer, grounded=True, citations=_joined(answer.citations, verdict.quotes))
    if citations == "mark":
        return replace(answer, grounded=False, note=answer.note or UNGROUNDED)
    told = f"{UNGROUNDED} It was: {answer.text}"
    return replace(
        answer,
        text="",
        status="abstained",
        ended="ungrounded",
        grounded=False,
        confidence=None,
        confidence_by="",
        note=told,
    )


def _joined(before: tuple[Citation, ...], quotes: tuple[Citation, ...]) -> tuple[Citation, ...]:
    return tuple({(one.passage, one.quote): one for one in (*before, *quotes)}.values())


def prompt(question: str, answer: str, facts: tuple[str, ...]) -> tuple[Message, ...]:
    """The messages of the judging call: two worked cases, the facts as text from outside, the question, the answer."""
    shown = (Message("observation", f"Fact: {defuse(' '.join(fact.split()), LABELS)}\n") for fact in facts)
    asked = f"Question: {' '.join(question.split())}\nAnswer: {' '.join(answer.split())}\nRight:"
    return (Message("user", f"{INSTRUCTIONS}\n"), *shown, Message("user", asked))


def parse(reply: str) -> bool | None:
    """Yes or no, from the reply's first word; None for anything else."""
    first = plain_words(reply).split()[:1]
    return {"yes": True, "no": False}.get(first[0]) if first else None


def judged(question: str, answer: str, evidence: Evidence, otherwise: Verdict) -> Flow[Verdict]:
    """What one short call says; `otherwise` where it says neither, fails, or the budget does not reach (which is noted)."""
    facts = [f"{quote.title}: {quote.quote}" for quote in evidence.quotes]
    facts += [f"{passage.title}: {passage.text[:FACT_CHARACTERS]}" for passage in evidence.passages]
    messages = prompt(question, answer, tuple(dict.fromkeys((*evidence.told, *facts)))[:FACTS])
    shape = Choice((" yes", " no"))
    reply = yield from spared(generate(messages, role="judge", stop=("\n",), max_tokens=4, shape=shape))
    said = parse(reply.text) if reply else None
    if said is None:
        return otherwise
    return Verdict(said, "judge", f"The judging call says {'yes' if said else 'no'}.")
