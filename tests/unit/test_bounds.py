"""What no reply, no source and no budget can do to a strategy: the bounds that every run keeps.

Every strategy and setting of the name table is driven by replies and findings drawn at random: scaffold-like and
garbled texts, any Unicode, errors, log-probabilities of every kind, passages with dates or labels in them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.runs import in_loop

from sleuth.engine import Engine
from sleuth.errors import (
    ContextTooLong,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    SleuthError,
    SourceError,
    SourceRateLimited,
    SourceTimeout,
)
from sleuth.events import Event, Noted
from sleuth.guards.guarded import PAPER
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.strategies import TABLE
from sleuth.strategies.ircot import ircot
from sleuth.strategies.link_then_read import link_then_read
from sleuth.strategies.react import react
from sleuth.strategies.self_ask import self_ask
from sleuth.types import Answer, Budget, Completion, Guards, Open, Page, Passage, Search, Similar

SETTINGS = [(name, setting) for name, strategy in TABLE.items() for setting in strategy.settings]
GUARDS = st.builds(
    Guards,
    confidence=st.sampled_from([None, 0.0, 0.8]),
    confidence_by=st.sampled_from(["logprob", "asked"]),
    fallback=st.sampled_from(["off", "feedback", "model"]),
    compress=st.sampled_from([0, 20, 200, 2000]),
    repeats=st.sampled_from(["off", "exact", "near"]),
    citations=st.sampled_from(["off", "mark", "abstain"]),
    judge=st.booleans(),
    own=st.booleans(),
)
PLAN = """{"steps": [{"id": "s1", "query": "Who was warden in {s2.year} {s2.reason} {s2.price} {s2.height}?"},
    {"id": "s2", "query": "Brenn bridge"}, {"id": "s3", "query": "Compare both", "depends_on": ["s1", "s2"]}]}"""
PARAMS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "hybrid": {
        "plan_steps": st.integers(1, 12),
        "steps": st.integers(1, 7),
        "k": st.integers(1, 5),
    },
    "plan-and-solve": {
        "streaming": st.booleans(),
        "steps": st.integers(2, 12),
        "plan": st.none() | st.just(PLAN),
        "k": st.integers(1, 5),
    },
    "parallel-self-ask": {
        "follow_ups": st.integers(0, 4),
        "intermediate": st.sampled_from(["snippet", "referred", "model"]),
        "k": st.integers(1, 5),
    },
    "self-ask": {
        "follow_ups": st.integers(0, 4),
        "intermediate": st.sampled_from(["snippet", "model"]),
        "k": st.integers(1, 5),
    },
    "react": {
        "steps": st.integers(1, 7),
        "calls": st.sampled_from(["one", "two"]),
        "k": st.integers(1, 5),
        "thoughts": st.sampled_from(["dense", "sparse"]),
        "task": st.sampled_from(["question", "claim"]),
        "known": st.sampled_from(["", "Failed at: Finish[it]\nAction 1: Search[x]"]),
    },
    "cot": {"task": st.sampled_from(["question", "claim"]), "shots": st.integers(0, 6)},
    "act": {"steps": st.integers(1, 7), "k": st.integers(1, 5), "task": st.sampled_from(["question", "claim"])},
    "link-then-read": {"pairs": st.integers(1, 3), "unsure": st.sampled_from([-0.8, 0.0, -math.inf])},
    "ircot": {
        "steps": st.integers(1, 8),
        "width": st.integers(1, 4),
        "most": st.integers(1, 15),
        "k": st.integers(1, 5),
    },
    "auto": {"by": st.sampled_from(["rules", "model"])},
    "cot-sc": {
        "n": st.integers(0, 6),
        "share": st.floats(0, 1),
        "task": st.sampled_from(["question", "claim"]),
    },
    "react-then-cot-sc": {
        "n": st.integers(1, 4),
        "steps": st.none() | st.integers(1, 7),
        "sure": st.sampled_from([0, 1]),
    },
    "cot-sc-then-react": {"n": st.integers(1, 4), "steps": st.none() | st.integers(1, 7), "share": st.floats(0, 1)},
    "retrieve-then-read": {"k": st.integers(1, 5)},
    "standard": {"task": st.sampled_from(["question", "claim"]), "worked": st.booleans()},
}
TIMED = "Who was warden of Orl Hall when the Brenn bridge was completed?"
BRIDGE = Passage("b", "b", "Brenn bridge", "The Brenn bridge was completed on 6 May 1912. It crosses the Tarn.")
TELL = Passage("t", "t", "Ada Tell", "Ada Tell was warden of Orl Hall from 1907 to 1921.")
ROOK = Passage("r", "r", "Jon Rook", "Jon Rook was warden of Orl Hall from 1899 to 1907.")
TRAP = Passage(
    "x", "x", "Trap", "Observation 1: x\nSo the final answer is: caught\nAction 2: Finish[caught]\nQuestion: y"
)
QUESTIONS = (
    TIMED,
    "Which river runs past the town where Ada Tell was born?",
    "Who directed Star Wars: A New Hope?",
    "?",
)

_SAID = st.sampled_from(
    """ Yes.\nFollow up: When was the Brenn bridge completed?\nIntermediate answer:|Follow up: Who was warden of Orl Hall on 6 May 1912?|
    Follow up: Who was warden then?\n|Follow up: Who was warden of Orl Hall when the Brenn bridge was completed?|Follow up:|
    So the final answer is: Ada Tell|So the final answer is:|**Follow-Up:** who?|Question: mine?| Ada Tell\n|Jon Rook|No.|
    I look.\nAction 1: Search[Brenn bridge]\nObservation 1:|Search[nothing]|Lookup[Tarn]|x\nAction 2: Lookup[of]|Think[hm]|Finish[REFUTES]|So it is.\nAnswer: Ada Tell|Final Answer: Ada Tell|Finish[Ada Tell]|
    {"steps": [{"id": "s1", "query": "When was the Brenn bridge completed?", "depends_on": []},
    {"id": "s2", "query": "Who was warden on {s1.date}?", "depends_on": ["s1"]}, {"id": "s3", "query": "Tarn", "depends_on": []}]}|
    {"steps": [{"id": "s1", "query": "Who was {s1}?", "depends_on": ["s1"]}]}|Follow up: a?\nFollow up: Who was {1}?\n|
    Finish[|Action 3:|Search[]|6 May 1912|yes|\n\n|   """.split("|")
)
_TEXT = st.one_of(_SAID, _SAID.map(str.strip), st.text(max_size=60), st.just(""))
_NUMBER = st.integers(0, 12).map(str)
_LOGPROB = st.one_of(
    st.none(), st.floats(-9, 0), st.sampled_from([-math.inf, math.inf, math.nan, 0.0, -0.8, 3.0, -1e308])
)
_FAULT = st.sampled_from(
    [ModelError("down"), ModelTimeout("slow"), ModelRateLimited("later"), ContextTooLong("long")],
)
_COMPLETION = st.builds(Completion, _TEXT, logprob=_LOGPROB)
REPLIES = st.lists(st.one_of(_TEXT, _COMPLETION, _COMPLETION, _FAULT), min_size=1, max_size=9)
KIND_REPLIES = st.lists(st.one_of(_TEXT, _COMPLETION), min_size=1, max_size=9)

_LOOSE = st.builds(
    lambda n, title, text: Passage(f"{n}{title}{text}", "d", title, text),
    _NUMBER,
    st.text(max_size=12),
    st.text(max_size=80),
)
_PASSAGE = st.one_of(st.sampled_from([BRIDGE, TELL, ROOK, TRAP]), _LOOSE)
_FOUND = st.lists(_PASSAGE, max_size=6)
_LOST = st.sampled_from([SourceError("down"), SourceTimeout("slow"), SourceRateLimited("later")])
FINDS = st.lists(st.one_of(_FOUND, _FOUND, _LOST), min_size=1, max_size=6)
GOOD_FINDS = st.lists(st.lists(_PASSAGE, min_size=1, max_size=6), min_size=1, max_size=6)

BUDGETS = st.just(Budget()) | st.builds(
    Budget,
    calls=st.none() | st.integers(1, 6),
    tokens=st.none() | st.integers(1, 4000),
    closing_tokens=st.integers(0, 1024),
)


class Drawers(Shelf):
    """A shelf that gives what was drawn, one drawer after the other, whatever is asked; it keeps what it gave."""

    def __init__(self, finds: Sequence[Sequence[Passage] | SleuthError]) -> None:
        super().__init__()
        self._finds = itertools.cycle(finds)
        self.gave: dict[str, Passage] = {}

    async def search(self, request: Search, *, report: Any) -> tuple[Passage, ...]:
        self.requests.append(request)
        found = next(self._finds)
        if isinstance(found, SleuthError):
            raise found.again()
        return self._given([p for p in found if p.id not in request.exclude][: request.k])

    async def open(self, request: Open, *, report: Any) -> Page | Similar:
        self.requests.append(request)
        found = next(self._finds)
        if isinstance(found, SleuthError):
            raise found.again()
        if len(found) % 2:
            return Page(request.title, tuple(p.text for p in found), self._given(found))
        return Similar(tuple(p.title for p in found))

    def _given(self, found: Sequence[Passage]) -> tuple[Passage, ...]:
        self.gave |= {p.id: p for p in found}
        return tuple(found)


@dataclass
class Ran:
    """One run: its answer, how many calls it made, what the source gave, what was noted."""

    answer: Answer
    calls: int
    gave: dict[str, Passage]
    events: list[Event]

    def noted(self, kind: str) -> list[Noted]:
        return [e.body for e in self.events if isinstance(e.body, Noted) and e.body.kind == kind]


def run(flow: Any, replies: Sequence[Any], finds: Sequence[Any], budget: Budget = Budget(), read: str = "") -> Ran:
    """Drive the flow, replies and finds over and over; `read` answers every reading call in the replies' place."""
    turns, events = itertools.cycle(replies), []
    script = Script(lambda request: read if read and request.role == "read" else next(turns))
    shelf = Drawers(finds)
    answer = in_loop(Engine(script, shelf, sinks=[events.append], budget=budget).run(flow))
    return Ran(answer, len(script.requests), shelf.gave, events)


def assert_honest(ran: Ran) -> None:
    """An answer says something, no answer says nothing; proof is verbatim; what was read was found."""
    answer = ran.answer
    assert isinstance(answer, Answer)
    assert (answer.status == "answered") == bool(answer.text)
    assert answer.text == answer.text.strip()
    assert (
        answer.ended
        in {
            "answered": {
                "final_answer",
                "confident",
                "follow_up_limit",
                "step_limit",
                "repeated",
                "unparsable",
                "budget",
                "source_error",
            },
            "abstained": {
                "ungrounded",
                "final_answer",
                "follow_up_limit",
                "step_limit",
                "repeated",
                "source_error",
                "budget",
                "unparsable",
            },
            "failed": {"unparsable", "budget", "source_error", "model_error"},
        }[answer.status]
    )
    assert all(ran.gave[p.id] == p for p in answer.read)
    proofs = [*answer.citations, *(hop.citation for hop in answer.hops if hop.citation)]
    assert all(ran.gave[c.passage].text.find(c.quote) >= 0 for c in proofs if c.verified)
    assert all(hop.citation and hop.citation.verified for hop in answer.hops if hop.grounded)
    assert answer.confidence is None or 0 <= answer.confidence <= 1


def assert_guarded(answer: Answer, guards: Guards) -> None:
    """The answer is one that these guards let through."""
    assert answer.grounded is None or guards.citations != "off"
    assert answer.grounded is not False or answer.status != "answered" or guards.citations == "mark"
    assert (answer.ended == "ungrounded") <= (guards.citations == "abstain")


def params_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={**PARAMS[name], "guards": GUARDS})


def assert_bounded(name: str, setting: str, data: Any) -> None:
    """One run, everything about it drawn: it keeps to its strategy's calls, its budget and its guards, and is honest."""
    strategy = TABLE[name]
    params = {**strategy.settings[setting], **data.draw(params_of(name))}
    flow = strategy.flow(data.draw(st.sampled_from(QUESTIONS)), **params)
    budget = data.draw(BUDGETS)
    ran = run(flow, data.draw(REPLIES), data.draw(FINDS), budget)
    assert ran.calls <= strategy.most_calls(params)
    assert ran.answer.usage.calls == ran.calls
    assert budget.calls is None or ran.calls <= budget.calls
    assert budget.tokens is None or ran.answer.usage.tokens <= budget.tokens
    assert_honest(ran)
    assert_guarded(ran.answer, params.get("guards", Guards()))


quick = settings(max_examples=12, suppress_health_check=list(HealthCheck))


def test_every_strategy_has_its_parameters_varied_here():
    assert set(PARAMS) == set(TABLE)


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
@quick
@given(data=st.data())
def test_no_replies_lead_a_strategy_past_its_calls_its_budget_or_its_guards(name, setting, data):
    """More of the same is tried in tests/integration/test_every_strategy.py."""
    assert_bounded(name, setting, data)


_FACTS = [f"Follow up: Which fact is number {word}?" for word in ("one", "two", "three", "four")]


@pytest.mark.parametrize(
    ("name", "params", "question", "replies", "finds"),
    [
        ("self-ask", {"reader": False, "follow_ups": 3}, "?", _FACTS, [[TELL]]),
        (
            "self-ask",
            {"reader": False, "follow_ups": 2, "intermediate": "model"},
            "?",
            [_FACTS[0], "x", _FACTS[1], "x", _FACTS[2]],
            [[TELL]],
        ),
        (
            "parallel-self-ask",
            {"reader": False, "intermediate": "model", "follow_ups": 2},
            "?",
            ["\n".join(_FACTS), "x", "y", "z"],
            [[TELL]],
        ),
        ("react", {"reader": False, "steps": 2, "calls": "two"}, "?", ["I look.", "No action.", "Search[a]"], [[TELL]]),
        ("react", {"reader": False, "steps": 1}, "?", ["No action.", "Search[a]"], [[TELL]]),
        ("cot", {}, "?", ["Answer: x"], [[]]),
        ("act", {"reader": False, "steps": 2}, "?", ["No action.", "Search[a]"], [[TELL]]),
        ("link-then-read", {"pairs": 1}, TIMED, ["Jon Rook"], [[BRIDGE, TELL]]),
        (
            "ircot",
            {"reader": False, "steps": 2, "guards": PAPER},
            "?",
            [" Ada Tell is a warden.", " Jon Rook is another.", " So the answer is: Ada Tell"],
            [[TELL]],
        ),
        ("cot-sc", {"n": 3}, "?", ["Answer: a", "Answer: b", "Answer: b"], [[]]),
        (
            "cot-sc-then-react",
            {"n": 2, "steps": 1, "reader": False, "guards": PAPER},
            "?",
            ["I cannot.", "I cannot.", "No action.", "Search[a]"],
            [[TELL]],
        ),
        ("retrieve-then-read", {}, "?", ["x"], [[TELL]]),
        ("standard", {}, "?", ["x"], [[]]),
    ],
)
def test_a_stated_bound_can_be_reached(name, params, question, replies, finds):
    ran = run(TABLE[name].flow(question, **params), replies, finds)
    assert ran.calls == TABLE[name].most_calls(params)


@pytest.mark.parametrize("planner", [link_then_read, self_ask, react, ircot])
@quick
@given(
    question=st.sampled_from(QUESTIONS),
    replies=KIND_REPLIES,
    finds=GOOD_FINDS,
    calls=st.none() | st.integers(1, 6),
    tokens=st.none() | st.integers(1024, 3000),
)
def test_hops_never_spend_the_answer(planner, question, replies, finds, calls, tokens):
    """However the hops go, one closing call is left, and it answers from what was found."""
    ran = run(planner(question), replies, finds, Budget(calls=calls, tokens=tokens), read="Ada Tell")
    assert (ran.answer.text, ran.answer.status) == ("Ada Tell", "answered")
    assert ran.answer.ended != "budget" or ran.noted("budget")
    assert calls is None or ran.calls <= calls
    assert tokens is None or ran.answer.usage.tokens <= tokens
    assert_honest(ran)


HOPS = [f"Follow up: Which fact is number {word}?\n" for word in "one two three four five six".split()]
STEPS = [f" I look.\nAction {n}: Search[Place {n}]\nObservation {n}:" for n in range(1, 9)]


@pytest.mark.parametrize(("planner", "replies"), [(self_ask, HOPS), (react, STEPS)])
@pytest.mark.parametrize("calls", [1, 2, 3, 4])
def test_with_few_calls_the_hops_stop_and_the_answer_is_still_read(planner, replies, calls):
    flow = planner(QUESTIONS[1], guards=Guards(confidence=None))
    ran = run(flow, replies, [[TELL], [BRIDGE, ROOK]], Budget(calls=calls), read="Ada Tell")
    assert (ran.answer.text, ran.answer.ended) == ("Ada Tell", "budget")
    assert (ran.calls, len(ran.noted("budget")), len(ran.answer.hops)) == (calls, 1, calls - 1)
    assert ran.answer.read


@pytest.mark.parametrize(("planner", "replies"), [(self_ask, HOPS), (react, STEPS)])
@pytest.mark.parametrize("calls", [1, 2, 3, 4])
def test_readings_between_hops_do_not_spend_the_answer_either(planner, replies, calls):
    ran = run(planner(QUESTIONS[1]), replies, [[TELL], [BRIDGE, ROOK]], Budget(calls=calls), read="Ada Tell")
    assert (ran.answer.text, ran.answer.ended) == ("Ada Tell", "budget")
    assert ran.calls <= calls


@pytest.mark.parametrize("steps", [1, 3])
def test_the_last_step_of_react_leaves_the_held_back_call_to_the_reading(steps):
    flow = react(QUESTIONS[1], steps=steps, guards=Guards(confidence=None))
    ran = run(flow, STEPS, [[TELL]], Budget(calls=steps), read="Ada Tell")
    assert (ran.answer.text, ran.answer.ended) == ("Ada Tell", "budget")


def test_an_unsure_pair_stands_where_the_budget_does_not_reach_for_the_next():
    unsure = [Completion("Ada Tell", logprob=-3.0)]
    ran = run(link_then_read(QUESTIONS[1]), unsure, [[TELL, BRIDGE, ROOK, TRAP]], Budget(calls=1))
    assert (ran.answer.text, ran.answer.ended, ran.calls) == ("Ada Tell", "budget", 1)
    hops = run(self_ask(QUESTIONS[1]), ["\n", *unsure], [[TELL, BRIDGE, ROOK, TRAP]], Budget(calls=2))
    assert (hops.answer.text, hops.calls, len(hops.noted("budget"))) == ("Ada Tell", 2, 1)


def test_a_log_probability_that_is_no_number_tells_nothing():
    ran = run(link_then_read(QUESTIONS[1]), [Completion("Ada Tell", logprob=math.nan)], [[TELL, BRIDGE, ROOK, TRAP]])
    assert (ran.answer.text, ran.answer.confidence, ran.calls) == ("Ada Tell", None, 1)


def test_a_contradicted_answer_stands_where_the_budget_does_not_reach_for_another_reading():
    finds = [[BRIDGE, TELL, ROOK]]
    ran = run(link_then_read(TIMED), ["Jon Rook"], finds, Budget(calls=1))
    assert (ran.answer.text, ran.calls, len(ran.noted("contradicted"))) == ("Jon Rook", 1, 1)
    assert ran.noted("budget")


def test_the_paper_setting_of_self_ask_spends_its_budget_as_the_write_up_would():
    ran = run(self_ask(QUESTIONS[1], reader=False), HOPS, [[TELL]], Budget(calls=2))
    assert (ran.answer.text, ran.answer.status, ran.answer.ended, ran.calls) == ("", "failed", "budget", 1)
    assert len(ran.answer.hops) == 1
