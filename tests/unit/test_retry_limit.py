"""`Retrying` and `Limited`, with a clock, a sleep and a draw of their own: nothing here waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import ContextTooLong, ModelError, ModelRateLimited, ModelTimeout, SleuthError
from sleuth.models.limit import Limited, Limiter
from sleuth.models.retry import Retrying
from sleuth.ports import Model, Pieces, Report
from sleuth.types import Completion, Generate, Message

REQUEST = Generate((Message("user", "x"),))
GOOD = Completion("good")


def down(status: int = 503, **details: Any) -> ModelError:
    return ModelError("down", status=status, retryable=True, **details)


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()


class Says:
    """A model that gives these outcomes in order; a callable is called first (to let time pass, or to look)."""

    name = "says"

    def __init__(
        self, *outcomes: Completion | SleuthError, before: Callable[[Pieces | None], Any] | None = None
    ) -> None:
        self.outcomes = list(outcomes)
        self.before = before
        self.calls = 0

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        self.calls += 1
        if self.before is not None:
            self.before(pieces)
        await anyio.lowlevel.checkpoint()
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, SleuthError):
            raise outcome
        return outcome

    async def count(self, messages: Sequence[Message]) -> int:
        return 7

    def price(self, read: int, written: int) -> float:
        return 1.5

    async def aclose(self) -> None:
        self.calls = -1


class Told:
    def __init__(self) -> None:
        self.all: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, kind: str, text: str, **data: Any) -> None:
        self.all.append((kind, data))


def retrying(model: Model, clock: Clock, attempts: int = 3, **options: Any) -> Retrying:
    options = {"draw": lambda low, high: high, **options}
    return Retrying(model, attempts, clock=clock, sleep=clock.sleep, **options)


def call(model: Model, told: Told | None = None, pieces: Pieces | None = None) -> Completion:
    async def run() -> Completion:
        return await model.generate(REQUEST, report=told or Told(), pieces=pieces)

    return anyio.run(run)


# --- retrying ------------------------------------------------------------------------------------------------------


def test_a_failure_that_may_pass_is_tried_again_and_told() -> None:
    clock, told = Clock(), Told()
    inner = Says(down(), ModelTimeout("slow"), ModelRateLimited("later"), GOOD)
    assert call(retrying(inner, clock, 4), told) is GOOD
    assert clock.slept == [0.5, 1.0, 2.0]
    assert [kind for kind, _ in told.all] == ["retry", "retry", "wait"]
    assert [data["attempt"] for _, data in told.all] == [2, 3, 4]


@pytest.mark.parametrize(
    "error", [ModelError("bad key", status=401), ContextTooLong("long"), ModelTimeout("no", retryable=False)]
)
def test_a_failure_that_will_not_pass_is_raised_at_once(error: ModelError) -> None:
    clock = Clock()
    inner = Says(error)
    with pytest.raises(ModelError) as caught:
        call(retrying(inner, clock))
    assert caught.value is error
    assert (inner.calls, clock.slept) == (1, [])


def test_the_last_failure_is_raised_with_the_number_of_tries() -> None:
    inner = Says(down(), down(), down(500))
    with pytest.raises(ModelError) as caught:
        call(retrying(inner, Clock()))
    assert (caught.value.details["status"], caught.value.details["attempts"]) == (500, 3)


@given(st.integers(1, 12), st.floats(0, 1))
def test_the_wait_is_drawn_between_nothing_and_a_doubling_ceiling(tries: int, share: float) -> None:
    clock, asked = Clock(), []

    def draw(low: float, high: float) -> float:
        asked.append((low, high))
        return low + share * (high - low)

    inner = Says(*[down() for _ in range(tries)], GOOD)
    call(retrying(inner, clock, tries + 1, draw=draw, first=0.5, longest=20.0, within=1e9))
    assert asked == [(0.0, min(20.0, 0.5 * 2**n)) for n in range(tries)]
    assert clock.slept == [share * high for _, high in asked]


def test_what_the_server_asks_for_is_waited() -> None:
    clock = Clock()
    call(retrying(Says(ModelRateLimited("later", retry_after=9.0), down(retry_after=0.1), GOOD), clock))
    assert clock.slept == [9.0, 1.0]


def test_a_server_that_asks_for_too_much_is_not_waited_for() -> None:
    clock = Clock()
    with pytest.raises(ModelRateLimited):
        call(retrying(Says(ModelRateLimited("tomorrow", retry_after=61.0), GOOD), clock, most_asked=60.0))
    assert clock.slept == []


def test_no_wait_ends_after_the_time_there_is() -> None:
    clock = Clock()
    inner = Says(*[down() for _ in range(9)], before=lambda _: setattr(clock, "now", clock.now + 10))
    with pytest.raises(ModelError):
        call(retrying(inner, clock, 9, within=35.0))
    assert inner.calls == 4
    assert clock.now <= 45.0


@pytest.mark.parametrize("second", [["half", " a loaf"], ["ha", "lf a", " loaf"], ["half a loaf"], []])
def test_a_reply_that_broke_off_goes_on_where_it_was(second: list[str]) -> None:
    got: list[str] = []
    tries = iter([["ha", "lf"], second])

    def before(pieces: Pieces | None) -> None:
        for piece in next(tries):
            assert pieces is not None
            pieces(piece)

    inner = Says(down(), Completion("half a loaf"), before=before)
    assert call(retrying(inner, Clock()), pieces=got.append).text == "half a loaf"
    assert "".join(got) == ("half a loaf" if second else "half")


@pytest.mark.parametrize("second", ["whole", "ha ha", ""])
def test_a_second_reply_that_differs_from_what_was_shown_is_an_error(second: str) -> None:
    got: list[str] = []
    tries = iter(["half", second])
    inner = Says(down(), Completion(second), GOOD, before=lambda pieces: pieces and pieces(next(tries)))
    with pytest.raises(ModelError, match="already shown"):
        call(retrying(inner, Clock()), pieces=got.append)
    assert got == ["half"]
    assert inner.calls == 2


def test_bugs_are_not_retried() -> None:
    class Bug:
        async def generate(self, *_: Any, **__: Any) -> Completion:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call(retrying(Bug(), Clock()))  # type: ignore[arg-type]


def test_both_wrappers_pass_the_rest_through() -> None:
    async def run() -> None:
        inner = Says()
        for model in (Retrying(inner), Limited(inner, Limiter())):
            assert (model.name, await model.count(()), model.price(1, 1)) == ("says", 7, 1.5)
            await model.aclose()
            assert inner.calls == -1

    anyio.run(run)


# --- the limit -----------------------------------------------------------------------------------------------------


class Gate:
    """A model whose calls end when they are let out."""

    name = "gate"

    def __init__(self) -> None:
        self.inside: list[anyio.Event] = []
        self.most = 0
        self.order: list[str] = []
        self.error: ModelError | None = None

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        self.order.append(request.messages[0].content)
        event = anyio.Event()
        self.inside.append(event)
        self.most = max(self.most, len(self.inside))
        try:
            await event.wait()
            if self.error is not None:
                raise self.error.again()
            return GOOD
        finally:
            self.inside.remove(event)

    async def count(self, messages: Sequence[Message]) -> int:
        return 0

    def price(self, read: int, written: int) -> float:
        return 0.0

    async def aclose(self) -> None: ...


async def settle() -> None:
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


def crowd(
    start: int, calls: int, script: Callable[[Gate, Limiter, anyio.abc.TaskGroup], Any], told: Told | None = None
) -> None:
    """`calls` calls at once on one limiter; `script` lets them out and looks."""

    async def run() -> None:
        gate, limiter = Gate(), Limiter(start)
        model = Limited(gate, limiter)

        async def one(number: int) -> None:
            with contextlib.suppress(ModelError):
                await model.generate(Generate((Message("user", str(number)),)), report=told or Told())

        async with anyio.create_task_group() as group:
            for number in range(calls):
                group.start_soon(one, number)
            await settle()
            await script(gate, limiter, group)
            group.cancel_scope.cancel()
        assert (limiter.running, limiter.waiting) == (0, 0)

    anyio.run(run)


def test_no_more_calls_than_the_limit_first_come_first_served() -> None:
    told = Told()

    async def script(gate: Gate, limiter: Limiter, _: Any) -> None:
        assert (len(gate.inside), limiter.waiting) == (3, 5)
        while gate.inside:
            gate.inside[0].set()
            await settle()
            assert len(gate.inside) <= int(limiter.limit)
        assert gate.order == [str(n) for n in range(8)]

    crowd(3, 8, script, told)
    assert [kind for kind, _ in told.all] == ["wait"] * 5


def test_a_full_round_of_successes_raises_the_limit_by_one() -> None:
    async def script(gate: Gate, limiter: Limiter, _: Any) -> None:
        for _ in range(5):
            gate.inside[0].set()
            await settle()
        assert 4.9 < limiter.limit <= 5.0 + 1e-9 or int(limiter.limit) == 5

    crowd(4, 40, script)


def test_an_idle_endpoint_does_not_raise_the_limit() -> None:
    async def run() -> None:
        limiter = Limiter(4)
        model = Limited(Says(*[GOOD] * 50), limiter)
        for _ in range(50):
            await model.generate(REQUEST, report=Told())
        assert limiter.limit == 4.0

    anyio.run(run)


@pytest.mark.parametrize("error", [ModelRateLimited("later"), ModelTimeout("slow"), down(503)])
def test_a_burst_of_push_backs_halves_the_limit_once(error: ModelError) -> None:
    async def script(gate: Gate, limiter: Limiter, _: Any) -> None:
        gate.error = error
        for event in gate.inside[:]:
            event.set()
        await settle()
        assert limiter.limit == 4.0
        assert len(gate.inside) == 4
        for event in gate.inside[:]:
            event.set()
        await settle()
        assert limiter.limit == 2.0

    crowd(8, 30, script)


def test_other_failures_leave_the_limit_alone() -> None:
    async def script(gate: Gate, limiter: Limiter, _: Any) -> None:
        gate.error = ModelError("bad request", status=400)
        gate.inside[0].set()
        await settle()
        assert limiter.limit == 8.0

    crowd(8, 8, script)


@given(st.lists(st.sampled_from(["good", "later"]), max_size=60), st.integers(1, 20))
def test_the_limit_stays_within_its_bounds(outcomes: list[str], start: int) -> None:
    async def run() -> None:
        limiter = Limiter(start, least=1, most=20)
        for outcome in outcomes:
            marks = [await limiter.enter(Told()) for _ in range(int(limiter.limit))]
            for mark in marks:
                if outcome == "good":
                    limiter.succeeded()
                else:
                    limiter.pushed_back(mark)
            for _ in marks:
                limiter.leave()
            assert 1 <= limiter.limit <= 20
        assert limiter.running == 0

    anyio.run(run)


def test_retry_after_holds_every_call() -> None:
    async def run() -> None:
        clock, told = Clock(), Told()
        limiter = Limiter(8, clock=clock, sleep=clock.sleep)
        first = Limited(Says(ModelRateLimited("later", retry_after=5.0)), limiter)
        other = Limited(Says(GOOD, before=lambda _: began.append(clock.now)), limiter)
        began: list[float] = []
        with pytest.raises(ModelRateLimited):
            await first.generate(REQUEST, report=told)
        await other.generate(REQUEST, report=told)
        assert began == [5.0]
        assert [kind for kind, _ in told.all] == ["wait"]

    anyio.run(run)


def test_no_server_holds_calls_longer_than_the_most() -> None:
    async def run() -> None:
        clock = Clock()
        limiter = Limiter(clock=clock, sleep=clock.sleep, most_held=30.0)
        limiter.pushed_back(0, retry_after=86_400.0)
        await limiter.enter(Told())
        assert clock.now == 30.0

    anyio.run(run)


def test_cancelled_calls_give_their_places_back() -> None:
    async def script(gate: Gate, limiter: Limiter, group: anyio.abc.TaskGroup) -> None:
        assert (limiter.running, limiter.waiting) == (2, 4)
        gate.inside[0].set()  # one is admitted in the same moment as all are cancelled
        group.cancel_scope.cancel()

    crowd(2, 6, script)


def test_a_place_handed_to_a_call_that_is_cancelled_goes_to_the_next() -> None:
    async def run() -> None:
        limiter = Limiter(1, most=1)
        await limiter.enter(Told())
        given_up, patient = (asyncio.create_task(limiter.enter(Told())) for _ in range(2))
        await settle()
        limiter.leave()  # hands the place to the first, which is cancelled before it runs again
        given_up.cancel()
        await asyncio.wait_for(patient, 1)
        assert given_up.cancelled()
        assert limiter.running == 1

    asyncio.run(run())
