"""Budgets: reserved before, settled after, never passed, and the answer's price kept back."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.runs import Clerk, Told, ask, drive, in_loop

from sleuth.engine import Engine
from sleuth.engine.budget import Ledger, Price, dollars
from sleuth.errors import BudgetExceeded, ContextTooLong, ModelError, ModelRateLimited, SleuthError
from sleuth.events import Event, Failed, Finished, Started
from sleuth.models.script import Script
from sleuth.types import Answer, Budget, Completion, Flow, Generate, Message, Task, Usage
from sleuth.verbs import cancel, fork, generate, join


def calls(*texts: str, **how: object) -> Flow[str]:
    """One call after the other until the budget ends; how many were made, and the limit's name."""
    made = 0
    try:
        for text in texts:
            yield from ask(text, **how)
            made += 1
    except BudgetExceeded as error:
        return f"{made} {error.details['limit']}"
    return f"{made}"


# --- limits -----------------------------------------------------------------------------------------------------


def test_calls_are_limited_and_one_is_kept_for_the_answer() -> None:
    assert drive(calls(*"abcdef"), Clerk(), budget=Budget(calls=3))[0] == "2 calls"
    assert drive(calls(*"abcdef", closing=True), Clerk(), budget=Budget(calls=3))[0] == "3 calls"


def test_tokens_are_reserved_at_their_most_and_settled_at_what_was_used() -> None:
    """10 + 1 are reserved, 2 are used: 29 cover 10 calls (18 used + 11), not three reservations."""
    budget = Budget(tokens=29, closing_tokens=0)
    assert drive(calls(*"abcdefghijklmnop", max_tokens=10), Clerk(), budget=budget)[0] == "10 tokens"


def test_dollars_are_limited_by_the_models_price() -> None:
    budget = Budget(usd=0.5, closing_tokens=0)
    assert drive(calls(*"abcdefgh", max_tokens=1), Clerk(usd=0.05), budget=budget)[0] == "5 usd"


def test_dollars_are_summed_exactly() -> None:
    """0.1 three times is more than 0.3 when summed naively."""
    budget = Budget(usd=0.3, closing_tokens=0)
    model = Clerk(usd=0.05)
    value, told = drive(calls(*"abc", max_tokens=1), model, budget=budget)
    assert value == "3"
    assert told.closing().usage.usd <= 0.3


def test_the_error_says_which_limit_what_was_needed_and_what_is_left() -> None:
    def flow() -> Flow[str]:
        try:
            yield from ask("one two", max_tokens=98)
        except BudgetExceeded as error:
            return f"{error} {sorted(error.details.items())}"
        return ""

    text = drive(flow(), Clerk(), budget=Budget(tokens=150, closing_tokens=60))[0]
    assert "100 tokens" in text
    assert "90 tokens of 150 tokens are left" in text
    assert "60 tokens being kept for the answer" in text
    assert "('left', 90), ('limit', 'tokens'), ('needed', 100)" in text


def test_what_is_refused_is_neither_called_nor_charged() -> None:
    model = Clerk()
    _, told = drive(calls("a"), model, budget=Budget(calls=1))
    assert model.asked == []
    assert told.bodies(Failed)[0].usage == Usage()


def test_without_a_limit_on_tokens_or_dollars_nothing_is_counted() -> None:
    class Uncounting(Clerk):
        async def count(self, messages: object) -> int:
            raise AssertionError("counted")

    assert drive(calls("a"), Uncounting(), budget=Budget(calls=5))[0] == "1"


# --- waiting for unsettled calls --------------------------------------------------------------------------------


def test_a_call_waits_for_others_to_settle_when_the_rest_would_not_cover_it() -> None:
    """Two calls reserve 10 each of 15, and use 2: the second waits, says so, and is made."""

    def flow() -> Flow[str]:
        one = yield from fork(ask("slow", max_tokens=9))
        two = yield from fork(ask("next", max_tokens=9))
        return (yield from join(one)) + (yield from join(two))

    value, told = drive(flow(), Clerk({"slow": 0.02}), budget=Budget(tokens=15, closing_tokens=0))
    assert value == "SLOWNEXT"
    assert [attempt.kind for attempt in told.attempts()] == ["wait"]


def test_it_fails_when_nothing_is_outstanding_any_more() -> None:
    def flow() -> Flow[str]:
        one = yield from fork(calls("slow", max_tokens=9))
        two = yield from fork(calls("next", max_tokens=14))
        return (yield from join(one)) + (yield from join(two))

    assert drive(flow(), Clerk({"slow": 0.02}), budget=Budget(tokens=15, closing_tokens=0))[0] == "10 tokens"


def test_a_cancelled_call_is_settled_in_full_and_wakes_who_waits() -> None:
    def flow() -> Flow[str]:
        lost = yield from fork(ask("!lost", max_tokens=9))
        waiting = yield from fork(calls("next", max_tokens=9))
        yield from ask("a", max_tokens=1, closing=True)
        yield from cancel(lost)
        return (yield from join(waiting))

    assert drive(flow(), Clerk(), budget=Budget(tokens=21, closing_tokens=0))[0] == "0 tokens"
    assert drive(flow(), Clerk(), budget=Budget(tokens=22, closing_tokens=0))[0] == "1"


@pytest.mark.parametrize(
    ("error", "tokens"),
    [(ModelError("broke off"), 11), (ModelRateLimited("later"), 0), (ContextTooLong("too long"), 0)],
)
def test_a_failed_call_is_charged_in_full_unless_it_was_refused_unread(error: SleuthError, tokens: int) -> None:
    def flow() -> Flow[str]:
        try:
            return (yield from ask("one", max_tokens=10))
        except ModelError:
            return "failed"

    value, told = drive(flow(), Script([error]), budget=Budget(tokens=100, closing_tokens=0))
    assert value == "failed"
    assert (told.spent().calls, told.spent().tokens) == (1, tokens)


# --- the closing reserve ----------------------------------------------------------------------------------------


def hops_then_answer(hops: int) -> Flow[str]:
    made = 0
    try:
        for number in range(hops):
            yield from ask(f"hop {number}", max_tokens=10)
            made += 1
    except BudgetExceeded:
        pass
    return f"{made} {(yield from ask('answer', max_tokens=19, closing=True))}"


@pytest.mark.parametrize(
    "budget",
    [Budget(calls=4), Budget(tokens=60, closing_tokens=20), Budget(usd=0.6, closing_tokens=20)],
)
def test_hops_can_never_spend_the_answer(budget: Budget) -> None:
    value, _ = drive(hops_then_answer(50), Clerk(usd=0.01), budget=budget)
    made, text = value.split()
    assert text == "ANSWER"
    assert 0 < int(made) < 50


def test_the_reserve_is_released_by_the_first_closing_call_only_once() -> None:
    def flow() -> Flow[str]:
        yield from ask("answer", closing=True)
        return (yield from calls("a", "b", "c"))

    assert drive(flow(), Clerk(), budget=Budget(calls=3))[0] == "2 calls"


def test_the_reserve_in_dollars_is_the_dearest_models_for_whichever_way_the_tokens_fall() -> None:
    class Dear(Clerk):
        def price(self, read: int, written: int) -> float:
            return read * 0.01 + written * 0.04

    budget = Budget(usd=1.0, closing_tokens=20)  # 0.80 held
    value, _ = drive(calls(*"abcdefgh", max_tokens=4), Clerk(usd=0.01), models={"read": Dear()}, budget=budget)
    assert value == "8"  # 0.05 reserved, 0.02 used, 0.20 free
    assert (
        drive(calls(*"abcdefghijk", max_tokens=4), Clerk(usd=0.01), models={"read": Dear()}, budget=budget)[0]
        == "8 usd"
    )


# --- a model that reports more than was reserved ------------------------------------------------------------------


def test_a_surplus_is_charged_as_far_as_the_budget_goes_and_the_cut_is_told() -> None:
    model = Clerk(usage=lambda request: Usage(read=20, written=30), usd=0.001)
    value, told = drive(calls("a", max_tokens=9), model, budget=Budget(tokens=70, closing_tokens=10))
    assert value == "1"
    assert told.spent().tokens == 50
    assert told.attempts() == []
    value, told = drive(calls("a", "b", max_tokens=9), model, budget=Budget(tokens=70, closing_tokens=10))
    assert value == "2"
    assert told.spent().tokens == 60  # 10 are kept for the answer
    assert [(a.kind, a.data["tokens"]) for a in told.attempts()] == [("overrun", 40)]
    assert told.bodies(Finished)[-1].value.usage.tokens == 50  # what the model said stands in its completion


# --- spend never passes a limit -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """One call of the property test: when it starts, how long it takes, what it may and does use, how it ends."""

    start: int
    takes: int
    read: int
    max_tokens: int
    factor: float
    ends: str
    closing: bool


plans = st.lists(
    st.builds(
        Plan,
        st.integers(0, 4),
        st.integers(0, 4),
        st.integers(1, 30),
        st.integers(1, 40),
        st.floats(0, 3),
        st.sampled_from(["well", "well", "error", "cancelled"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)
budgets = st.builds(
    Budget,
    calls=st.none() | st.integers(0, 10),
    tokens=st.none() | st.integers(0, 300),
    usd=st.none() | st.floats(0, 3),
    seconds=st.none(),
    closing_tokens=st.integers(0, 80),
)


class Random:
    """A model whose calls take, cost and end as planned; it may report up to three times what was reserved."""

    name = "random"

    def __init__(self, plans: list[Plan]) -> None:
        self.plans = plans

    async def generate(self, request: Generate, *, report: object, pieces: object = None) -> Completion:
        plan = self.plans[int(request.messages[0].content)]
        for _ in range(plan.takes if plan.ends != "cancelled" else 50):
            await anyio.lowlevel.checkpoint()
        if plan.ends == "error":
            raise ModelError("broke off")
        return Completion(
            "x", usage=Usage(read=int(plan.read * plan.factor), written=int(plan.max_tokens * plan.factor))
        )

    async def count(self, messages: list[Message]) -> int:
        return self.plans[int(messages[0].content)].read

    def price(self, read: int, written: int) -> float:
        return read * 0.0013 + written * 0.0071

    async def aclose(self) -> None: ...


def planned(number: int, plan: Plan) -> Flow[None]:
    yield from generate([Message("user", str(number))], max_tokens=plan.max_tokens, closing=plan.closing)


def all_planned(plans: list[Plan]) -> Flow[Answer]:
    tasks: list[tuple[Plan, Task[None]]] = []
    for wave in range(5):
        for number, plan in enumerate(plans):
            if plan.start == wave:
                tasks.append((plan, (yield from fork(planned(number, plan)))))
    for plan, task in tasks:
        if plan.ends == "cancelled":
            yield from cancel(task)
    for _, task in tasks:
        try:
            yield from join(task)
        except SleuthError:
            continue
    return Answer("x", "answered", "final_answer")


@settings(max_examples=100, deadline=None)
@given(plans, budgets)
def test_spend_never_passes_a_limit_in_any_order_of_events(plans: list[Plan], budget: Budget) -> None:
    told, spent, usd = Told(), Usage(), Fraction(0)

    def watch(event: Event) -> None:
        nonlocal spent, usd
        told.events.append(event)
        if isinstance(event.body, Finished | Failed):
            spent, usd = spent + event.body.usage, usd + dollars(event.body.usage.usd)
            assert budget.calls is None or spent.calls <= budget.calls
            assert budget.tokens is None or spent.tokens <= budget.tokens
            assert budget.usd is None or float(usd) <= budget.usd

    async def main() -> Answer:
        with anyio.fail_after(10):
            return await Engine(Random(plans), sinks=[watch], budget=budget).run(all_planned(plans))

    answer = in_loop(main())
    told.assert_whole()
    assert budget.usd is None or answer.usage.usd <= budget.usd
    started = sum(isinstance(e.body, Started) and isinstance(e.body.request, Generate) for e in told.events)
    assert started == len(plans)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20), st.booleans()), max_size=15), st.integers(30, 120))
def test_a_closing_call_within_its_price_is_always_covered(hops: list[tuple[int, int, bool]], limit: int) -> None:
    """Whatever hops reserved, used or overran before, `closing_tokens` of the limit are still there."""

    async def main() -> None:
        ledger = Ledger(Budget(tokens=limit, calls=8), Price(1, 30))
        opened: list[Usage] = []
        for reserved, used, keeps_open in hops:
            bill = Usage(calls=1, read=reserved)
            try:
                with anyio.move_on_after(0):
                    await ledger.reserve(bill)
                    opened.append(bill)
            except BudgetExceeded:
                continue
            if not keeps_open and opened:
                ledger.settle(opened.pop(), Usage(calls=1, read=used * 2))
        await ledger.reserve(Usage(calls=1, read=30), closing=True)
        for bill in opened:
            ledger.settle(bill, bill)
        assert ledger.spent.tokens <= limit

    in_loop(main())
