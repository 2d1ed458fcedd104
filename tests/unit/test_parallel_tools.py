"""Look-ups with arithmetic: questions of ParallelQA (Kim et al. 2024, "An LLM Compiler for Parallel Function Calling",
section 5.1; MIT licence), their answers, and facts to find them by."""

from __future__ import annotations

import dataclasses

import anyio
import pytest

from sleuth.app.tools import find
from sleuth.engine import Engine
from sleuth.events import Event, Finished, Noted, Started
from sleuth.models.script import Script
from sleuth.sources.calculator import worked_out
from sleuth.sources.shelf import Shelf
from sleuth.strategies.react import react
from sleuth.types import Answer, Call, Flow, Guards, Hop
from sleuth.verbs import call, fork, join, open_page

PAPER = Guards(confidence=None, fallback="off", compress=0, repeats="exact", citations="off")
FACTS = {
    "Mount Everest": "Mount Everest is the highest mountain above sea level. Its height is 8,848 metres.",
    "Mount Kilimanjaro": "Mount Kilimanjaro is a dormant volcano in Tanzania. Its height is 5,895 metres.",
    "Mariana Trench": "The Mariana Trench is an oceanic trench. Its depth is 10,984 metres.",
    "Puerto Rico Trench": "The Puerto Rico Trench is an oceanic trench. Its depth is 8,376 metres.",
    "Yangtze River": "The Yangtze River is the longest river of Eurasia. Its length is 6,300 kilometres.",
    "Mississippi River": "The Mississippi River is a river of North America. Its length is 3,766 kilometres.",
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A question, its two entities, the arithmetic that a model would write, its result, and the answer."""

    question: str
    entities: tuple[str, str]
    arithmetic: str
    result: str
    answer: str


CASES = [
    Case(
        "If Mount Everest is increased in height by 2% and Mount Kilimanjaro shrinks by 3%, what would be the difference "
        "in their heights in meters?",
        ("Mount Everest", "Mount Kilimanjaro"),
        "round((8,848 + 2%) - (5,895 - 3%))",
        "3307",
        "3307",
    ),
    Case(
        "If the Yangtze River is lengthened by 10% and the Mississippi River is shortened by 5%, what would be the ratio "
        "of their lengths?",
        ("Yangtze River", "Mississippi River"),
        "round((6300 * 1.1) / (3766 * 0.95), 2)",
        "1.94",
        "1.94",
    ),
    Case(
        "If Mariana Trench was 20% shallower and the Puerto Rico Trench was 20% deeper, which one would be shallower?",
        ("Mariana Trench", "Puerto Rico Trench"),
        "10,984 - 20% < 8,376 + 20%",
        "true",
        "Mariana Trench",
    ),
    Case(
        "Take Mount Everest, subtract 10% of its height, then increase Mount Kilimanjaro's height by the same fraction. "
        "Which mountain stands taller?",
        ("Mount Everest", "Mount Kilimanjaro"),
        "8,848 - 10% > 5,895 + 10%",
        "true",
        "Mount Everest",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entities[0])
def test_react_looks_up_two_facts_works_them_out_and_finishes(case: Case) -> None:
    first, second = case.entities
    script = Script(
        [
            f" I need both.\nAction 1: Search[{first}]",
            f" Now the other.\nAction 2: Search[{second}]",
            f" Now I work it out.\nAction 3: calculator[{case.arithmetic}]",
            f" That is it.\nAction 4: Finish[{case.answer}]",
        ]
    )
    tools, events = find(["calculator"]), list[Event]()
    engine = Engine(script, Shelf(FACTS), tools=[each.tool for each in tools], sinks=[events.append])
    flow = react(case.question, reader=False, tools=tuple(each.spec for each in tools), guards=PAPER)
    answer = anyio.run(engine.run, flow)
    assert (answer.text, answer.status) == (case.answer, "answered")
    assert [hop.outcome for hop in answer.hops] == ["found"] * 3
    assert (
        "".join(message.content for message in script.requests[-1].messages).count(f"Observation 3: {case.result}\n")
        == 1
    )
    assert answer.usage.calls == 4


def test_a_refused_calculation_is_told_to_the_model_which_mends_it() -> None:
    script = Script(
        [
            " I work it out.\nAction 1: Calculator[8,848 m - 5,895 m]",
            " Without units.\nAction 2: Calculator[8,848 - 5,895]",
            " That is it.\nAction 3: Finish[2953]",
        ]
    )
    tools, events = find(["calculator"]), list[Event]()
    engine = Engine(script, Shelf(FACTS), tools=[each.tool for each in tools], sinks=[events.append])
    flow = react("How much higher?", reader=False, tools=tuple(each.spec for each in tools), guards=PAPER)
    answer = anyio.run(engine.run, flow)
    assert answer.text == "2953"
    assert (
        "Leave units and currencies out"
        in script.requests[1].messages[-2].content + script.requests[1].messages[-1].content
    )
    assert [e.body.kind for e in events if isinstance(e.body, Noted)].count("tool_failed") == 1


def side_by_side(case: Case) -> Flow[Answer]:
    """Both look-ups at once, then the arithmetic."""

    def fact(title: str) -> Flow[Hop]:
        page = yield from open_page(title)
        return Hop(title, title, evidence=getattr(page, "passages", ()))

    tasks = []
    for title in case.entities:
        tasks.append((yield from fork(fact(title))))
    hops = []
    for task in tasks:
        hops.append((yield from join(task)))
    result = yield from call("calculator", f'{{"expression": "{case.arithmetic}"}}')
    return Answer(result.text, "answered", "final_answer", hops=tuple(hops))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entities[0])
def test_two_look_ups_at_once_and_their_arithmetic(case: Case) -> None:
    events: list[Event] = []
    tools = [each.tool for each in find(["calculator"])]
    engine = Engine(Script([]), Shelf(FACTS, delay=0.05), tools=tools, sinks=[events.append])
    answer = anyio.run(engine.run, side_by_side(case))
    assert answer.text == worked_out(case.arithmetic) == case.result
    told = [type(e.body).__name__ for e in events if e.span.branch]
    assert told.index("Finished") >= 2, "both look-ups had begun before one ended"
    starts = [e.body.request for e in events if isinstance(e.body, Started)]
    assert [type(request) for request in starts][-1] is Call
    assert sum(isinstance(e.body, Finished) for e in events) >= 3
