"""Chain of thought (Wei et al. 2022), as ReAct's baseline has it: ReAct's examples less actions and observations.

Yao et al. 2023, section 3.2 (CoT): the model reasons from its own knowledge in one call, and its answer is parsed.
"""

from __future__ import annotations

from sleuth.errors import BadReply
from sleuth.guards.guarded import PAPER, extra_calls, guarded
from sleuth.guards.outcome import answered
from sleuth.guards.scaffold import label
from sleuth.strategies.reader import parse as parse_answer
from sleuth.strategies.trajectories import HEADED, WORKED, Task, guards_for, rendered, verdict
from sleuth.transcript import Transcript
from sleuth.types import Answer, Card, Completion, Flow, Guards, Message, Strategy
from sleuth.verbs import generate, note

INSTRUCTIONS: dict[Task, str] = {
    "question": "Answer each question. Think step by step first, then give the answer in a few words.",
    "claim": "Determine if each claim is true. Think step by step first, then answer SUPPORTS, REFUTES or NOT ENOUGH INFO.",
}
STOP = ("\nQuestion:", "\nClaim:")
MOST_TOKENS = 200
"""Tokens of one chain of thought with its answer, at most."""

_ANSWER = label("Answer:")
_FINAL = label("Final Answer:")
_THOUGHT = label("Thought:")
_NEXT = {"question": label("Question:"), "claim": label("Claim:")}


def head(question: str, task: Task = "question", examples: str = "", instructions: str = "", shots: int = 6) -> str:
    """Instructions, the first `shots` worked examples, the question, and where the thought begins."""
    worked = examples.strip() or rendered(WORKED[task][:shots], actions=False)
    return f"{instructions or INSTRUCTIONS[task]}\n\n{worked}\n\n{HEADED[task]}: {question}\nThought:"


def prompt(
    question: str, task: Task = "question", *, examples: str = "", instructions: str = "", shots: int = 6
) -> tuple[Message, ...]:
    """The one call's messages: the same for every sample, so that a prefix cache holds them."""
    return (Message("user", head(question, task, examples, instructions, shots)),)


def parse(reply: str, task: Task = "question") -> str:
    """What stands behind the last 'Answer:', before the model invents a further question; for a claim, its verdict.

    Raises `BadReply`, with the whole reply, where there is none.
    """
    own = _own_part(reply)
    ends = [match.end() for pattern in (_ANSWER, _FINAL) for match in pattern.finditer(own)]
    said = parse_answer(own[max(ends) :]) if ends else ""
    answer = verdict(said) if task == "claim" else said
    if not answer:
        wanted = "verdict (SUPPORTS, REFUTES or NOT ENOUGH INFO)" if task == "claim" else "answer"
        raise BadReply(f"The reply has no {wanted} behind 'Answer:'.", reply=reply)
    return answer


def thought_of(reply: str) -> str:
    """The reasoning of a reply: what stands before its last 'Answer:'."""
    own = _own_part(reply)
    ends = [match.start() for pattern in (_ANSWER, _FINAL) for match in pattern.finditer(own)]
    return " ".join(_THOUGHT.sub("", own[: max(ends)] if ends else own).split())


def _own_part(reply: str) -> str:
    """The reply up to where the model goes on to invent a question of its own."""
    invented = [match.start() for pattern in _NEXT.values() if (match := pattern.search(reply))]
    return reply[: min(invented)] if invented else reply


def cot(
    question: str,
    *,
    task: Task = "question",
    temperature: float = 0.0,
    sample: int = 0,
    shots: int = 6,
    examples: str = "",
    instructions: str = "",
    guards: Guards = Guards(),
) -> Flow[Answer]:
    """One call, from the model's own knowledge: a chain of thought, then the answer.

    `temperature` and `sample` say which draw; `shots` how many worked examples are shown. Unparsable where the reply
    has no answer; the whole reply is then the transcript.
    """
    guards = guards_for(task, guards)
    t = Transcript(head(question, task, examples, instructions, shots))

    def flow() -> Flow[Answer]:
        reply: Completion = yield from generate(
            t.messages(), stop=STOP, max_tokens=MOST_TOKENS, temperature=temperature, sample=sample, closing=True
        )
        t.wrote(reply.text)
        yield from note("thought", thought_of(reply.text))
        return answered(t, parse(reply.text, task))

    return (yield from guarded(question, t, flow(), guards))


STRATEGY = Strategy(
    Card(
        name="cot",
        summary="Reasons step by step from the model's own knowledge in one call, with nothing looked up.",
        paper="Wei et al. 2022, Chain-of-Thought Prompting; as the baseline of Yao et al. 2023, ReAct, section 3.2 (CoT)",
        when=("as a yardstick: what reasoning alone brings", "arithmetic and commonsense that need no look-up"),
        avoid=("facts that the model may not know: it makes them up (ReAct, table 2: 56% of CoT's failures)",),
        loop=False,
        parallel=False,
        branch=False,
        person_in_the_loop=False,
        autonomy="low",
        cost="low",
        latency="low",
        calls="1",
        aliases=("chain-of-thought",),
    ),
    cot,
    settings={"default": {}, "paper": {"guards": PAPER}, "claims": {"task": "claim", "guards": PAPER}},
    most_calls=lambda params: 1 + extra_calls(params, 0),
)
