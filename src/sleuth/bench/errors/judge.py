"""One model call decides where no rule is sure. It never overrides a sure rule, and can only say what the rules can."""

from __future__ import annotations

import re

from sleuth.bench.errors.facts import Facts
from sleuth.bench.errors.rules import Kind, Verdict, classify
from sleuth.bench.errors.sample import RIGHT_KINDS, WRONG_KINDS
from sleuth.bench.folder import Run
from sleuth.guards.citations import defuse
from sleuth.types import Choice, Completion, Flow, Message
from sleuth.verbs import generate

PASSAGES, WORDS, TEXT = 4, 60, 1200
"""Passages that are shown, words of each, and characters of the trajectory."""
LABELS = ("Question:", "Right answer:", "Given answer:", "Evidence:", "Reasoning:", "Letter:", "Kinds:")

SAID: dict[Kind, str] = {
    "true_positive": "the reasoning and the facts are right",
    "false_positive": "the answer is right, but a fact or a step is made up",
    "reasoning_error": "the facts are right, a step of the reasoning is wrong",
    "loop": "the same step is repeated without end",
    "search_error": "the evidence does not hold what the question needs",
    "hallucination": "a fact is made up",
    "label_ambiguity": "the given answer means the same as the right one",
}


def prompt(run: Run) -> tuple[Message, ...]:
    """The question, both answers, the evidence and the reasoning, and the kinds to choose from."""
    if run.record is None:
        return ()
    facts, answer = Facts(run, run.record), run.record.answer
    shown = facts.read[:PASSAGES]
    evidence = "\n".join(f"{p.title}: {' '.join(p.text.split()[:WORDS])}" for p in shown) or "none"
    reasoning = answer.transcript[-TEXT:] if answer else ""
    kinds = "\n".join(f"{letter}. {SAID[kind]}" for letter, kind in _letters(facts).items())
    outside = f"Evidence: {defuse(evidence, LABELS)}\nReasoning: {defuse(reasoning, LABELS) or 'none'}\n"
    given = defuse(" ".join(facts.answer.split())[:TEXT], LABELS)
    return (
        Message("user", f"Say what kind of trajectory this is.\nQuestion: {run.question.text}\n"),
        Message("user", f"Right answer: {facts.gold[0] if facts.gold else ''}\nGiven answer: {given or 'none'}\n"),
        Message("observation", outside),
        Message("user", f"Kinds:\n{kinds}\nLetter:"),
    )


def parse(reply: str, run: Run) -> Kind | None:
    """The kind of the letter that the reply begins with; None where it begins with none."""
    found = re.match(r"\W*([A-G])\b", reply.strip())
    return _letters(Facts(run, run.record)).get(found[1]) if found and run.record is not None else None


def judge(run: Run) -> Flow[Verdict]:
    """The rule's verdict where it is sure; else that of one call, and the rule's again where the reply names no kind."""
    verdict = classify(run)
    if verdict.sure or run.record is None:
        return verdict
    letters = tuple(f" {letter}" for letter in _letters(Facts(run, run.record)))
    reply: Completion = yield from generate(
        prompt(run), role="judge", stop=("\n",), max_tokens=4, shape=Choice(letters)
    )
    kind = parse(reply.text, run)
    if kind is None:
        return verdict
    return Verdict(kind, "judged", f"The judging call says: {SAID[kind]}.", sure=False, by="judge")


def _letters(facts: Facts) -> dict[str, Kind]:
    kinds = (
        RIGHT_KINDS if facts.is_right else tuple(kind for kind in WRONG_KINDS if facts.looked or kind != "search_error")
    )
    return dict(zip("ABCDEFG", kinds, strict=False))
