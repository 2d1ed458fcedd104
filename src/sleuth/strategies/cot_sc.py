"""Self-consistency (Wang et al. 2022, "Self-Consistency Improves Chain of Thought Reasoning", section 2): CoT-SC.

ReAct's baseline samples 21 chains of thought at temperature 0.7 and takes the majority answer (Yao et al. 2023,
section 3.2). The samples are forked, and those that can no longer change the outcome are cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sleuth.guards.guarded import PAPER, extra_calls, guarded, within
from sleuth.guards.outcome import unanswered
from sleuth.guards.votes import Votes
from sleuth.strategies.cot import cot
from sleuth.strategies.trajectories import Task
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Flow, Guards, Strategy, Why
from sleuth.types import Task as Sampling
from sleuth.verbs import cancel, fork, join, next_of, note


def cot_sc(
    question: str,
    *,
    n: int = 21,
    temperature: float = 0.7,
    share: float = 0.0,
    task: Task = "question",
    shots: int = 6,
    examples: str = "",
    instructions: str = "",
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """The majority answer of `n` sampled chains of thought; its confidence is its share of the samples that came in.

    Answers are one when they are by HotpotQA's normalisation (a claim's labels as they are); of equally frequent
    ones, that of the lowest sample counts. A failed sample, or one without an answer, is no vote; where all are, so
    is the whole. Sampling ends when the majority cannot change any more, and it is known whether it has `share` of
    all samples (0.5 for ReAct's "n/2 times"). A budget that does not reach for all samples leaves the votes there are.
    """
    t, inner = Transcript(""), within(guards)

    def chain_of_thought(sample: int) -> Flow[Answer]:
        return cot(
            question,
            task=task,
            temperature=temperature,
            sample=sample,
            shots=shots,
            examples=examples,
            instructions=instructions,
            guards=inner,
        )

    return (yield from guarded(question, t, _poll(t, n, chain_of_thought, share), guards))


def _poll(t: Transcript, n: int, sampled: Callable[[int], Flow[Answer]], share: float) -> Flow[Answer]:
    """Fork every sample, count votes as they come in, and give up those that are not needed any more."""
    votes, samples = Votes(n), dict[int, Answer]()
    running: dict[Sampling[Answer], int] = {}
    for number in range(n):
        running[(yield from fork(sampled(number)))] = number
    while not votes.is_settled(share):
        ended = yield from next_of(running)
        number = running.pop(ended)
        samples[number] = yield from join(ended)
        votes.cast(number, samples[number].text)
    for task in running:
        yield from cancel(task)
    counts = votes.counts()
    yield from note("votes", ", ".join(f"{answer}: {count}" for answer, count in counts.items()), counts=counts)
    return _elected(t, votes, samples)


def _elected(t: Transcript, votes: Votes, samples: Mapping[int, Answer]) -> Answer:
    """The majority's answer, as its first sample wrote and reasoned it; without a vote, why there is none."""
    short: Why | None = next((s.ended for s in samples.values() if s.ended in ("budget", "deadline")), None)
    winner = votes.winner()
    if winner is None:
        first = next((sample for _, sample in sorted(samples.items()) if sample.status == "failed"), None)
        ended: Why = short or (first.ended if first else "final_answer")
        why = f"No sample has an answer. {first.note if first else ''}".strip()
        return unanswered(t, ended, status="failed" if first else "abstained", note=why)
    told = f"{len(votes.counts())} different answers in {len(samples)} of {votes.asked} samples."
    ended = short or "final_answer"
    return replace(samples[winner], ended=ended, confidence=votes.share(), confidence_by="votes", note=told)


STRATEGY = Strategy(
    Card(
        name="cot-sc",
        summary="Samples several chains of thought from the model's own knowledge and takes the answer that most agree on.",
        paper="Wang et al. 2022, Self-Consistency, section 2; as the baseline of Yao et al. 2023, ReAct, section 3.2 (CoT-SC)",
        when=(
            "the model may know: the share of votes says whether it does",
            "as one half of a back-off: cheap to run in parallel",
        ),
        avoid=("facts that the model cannot know: samples agree on a made-up one, too", "one slow model slot"),
        loop=False,
        parallel=True,
        branch=False,
        person_in_the_loop=False,
        autonomy="low",
        cost="high",
        latency="medium",
        calls="one a sample (5 by default, 21 in the paper), fewer once the majority cannot change",
        aliases=("self-consistency",),
    ),
    cot_sc,
    settings={
        "default": {"n": 5},
        "paper": {"n": 21, "temperature": 0.7, "guards": PAPER},
        "claims": {"n": 5, "task": "claim"},
    },
    most_calls=lambda params: int(params.get("n", 21)) + extra_calls(params, searches=0),
)
