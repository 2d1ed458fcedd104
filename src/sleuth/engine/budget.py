"""The ledger of one run: prices are reserved before a call and settled after it.

The rules, in any order of events:

- what is spent, plus what is reserved, plus what is held back, never passes a limit;
- a call that the rest would not cover waits while others are unsettled, and fails only when nothing is outstanding;
- a call whose bill is unknown (cancelled, failed half-way) settles in full;
- the price of one closing call is held back from the start until the first closing call is reserved;
- a model that reports more than was reserved breaks its port's promise (`count` is never less than the truth): the
  surplus is taken from what is free, and is cut where nothing is free, so that it can neither pass a limit nor eat
  what others have reserved. Whoever settles is told what was charged, and so can say that it was cut.

Dollars are kept as fractions of the decimal numbers that are written: three times 0.1 is 0.3, in whatever order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

import anyio

from sleuth.errors import BudgetExceeded
from sleuth.types import Budget, Usage

Limit: TypeAlias = Literal["calls", "tokens", "usd"]
LIMITS: tuple[Limit, ...] = ("calls", "tokens", "usd")


@dataclass(frozen=True, slots=True)
class Price:
    """Calls, tokens (read and written) and US dollars."""

    calls: int = 0
    tokens: int = 0
    usd: Fraction = Fraction(0)

    @staticmethod
    def of(usage: Usage) -> Price:
        """What that usage counts for."""
        return Price(usage.calls, usage.tokens, dollars(usage.usd))

    def __add__(self, other: Price) -> Price:
        return Price(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: Price) -> Price:
        return Price(self.calls - other.calls, self.tokens - other.tokens, self.usd - other.usd)

    def part(self, name: Limit) -> int | float:
        """One of the three, as a plain number."""
        return float(self.usd) if name == "usd" else self.calls if name == "calls" else self.tokens


class Ledger:
    """What one run has spent, reserved and holds back. `closing` is the price of its closing call."""

    def __init__(self, budget: Budget, closing: Price = Price()) -> None:
        self._budget = budget
        self._held = closing
        self._spent = Price()
        self._reserved = Price()
        self._outstanding = 0
        self._changed = anyio.Event()

    @property
    def spent(self) -> Price:
        """Settled so far."""
        return self._spent

    async def reserve(
        self, bill: Usage, *, closing: bool = False, waiting: Callable[[str], None] = lambda limit: None
    ) -> None:
        """Put aside the price of one call; every reserved bill must be settled once.

        `waiting` is told which limit is short, once, if others must settle first. Raises `BudgetExceeded`
        (``details``: limit, needed, left) when the rest does not cover the call and nothing is outstanding.
        """
        price = Price.of(bill)
        told = False
        while (short := self._short(price, closing)) is not None:
            if not self._outstanding:
                raise self._exceeded(short, price, closing)
            if not told:
                waiting(short)
                told = True
            await self._changed.wait()
        if closing:
            self._held = Price()
        self._reserved += price
        self._outstanding += 1

    def settle(self, reserved: Usage, actual: Usage) -> Usage:
        """Replace a reservation by what was used; returns what is charged (`actual`, unless that would pass a limit)."""
        price = Price.of(reserved)
        self._reserved -= price
        self._outstanding -= 1
        charged = self._cut(price, actual)
        self.charge(charged)
        return charged

    def charge(self, usage: Usage) -> None:
        """Write down what was spent without asking (a resumed run's recorded calls)."""
        self._spent += Price.of(usage)
        self._changed.set()
        self._changed = anyio.Event()

    def _short(self, price: Price, closing: bool) -> Limit | None:
        """The first limit that this call would pass."""
        after = self._committed(closing) + price
        for name in LIMITS:
            limit = getattr(self._budget, name)
            if limit is not None and after.part(name) > limit:
                return name
        return None

    def _committed(self, closing: bool) -> Price:
        return self._spent + self._reserved + (Price() if closing else self._held)

    def _exceeded(self, name: Limit, price: Price, closing: bool) -> BudgetExceeded:
        limit, needed = getattr(self._budget, name), price.part(name)
        left = max(0, limit - self._committed(closing).part(name))
        held = 0 if closing else self._held.part(name)
        kept = f", {_show(name, held)} being kept for the answer" if held else ""
        text = f"This call may need {_show(name, needed)}; {_show(name, left)} of {_show(name, limit)} are left{kept}."
        hint = f"Allow more with Budget({name}=...), or ask for less."
        return BudgetExceeded(text, hint=hint, limit=name, needed=needed, left=left)

    def _cut(self, reserved: Price, actual: Usage) -> Usage:
        """The part of `actual` that fits beside what is spent, reserved by others and held back."""
        tokens = actual.tokens - self._allowed("tokens", reserved, actual)
        written, read = min(tokens, actual.written), max(0, tokens - actual.written)
        cached = max(0, read - actual.read)
        return replace(
            actual,
            calls=self._allowed("calls", reserved, actual),
            written=actual.written - written,
            read=actual.read - min(read, actual.read),
            cached=actual.cached - cached,
            usd=self._allowed_usd(reserved, actual),
        )

    def _allowed(self, name: Literal["calls", "tokens"], reserved: Price, actual: Usage) -> int:
        limit, used = getattr(self._budget, name), int(getattr(actual, name))
        if limit is None:
            return used
        free = int(limit - getattr(self._committed(False), name))
        return min(used, max(free, int(getattr(reserved, name))))

    def _allowed_usd(self, reserved: Price, actual: Usage) -> float:
        if self._budget.usd is None or math.isinf(self._budget.usd):
            return actual.usd
        free = max(dollars(self._budget.usd) - self._committed(False).usd, reserved.usd)
        if dollars(actual.usd) <= free:
            return actual.usd
        most = float(free)
        return most if dollars(most) <= free else math.nextafter(most, 0.0)


def dollars(amount: float) -> Fraction:
    """The decimal number that is written so."""
    return Fraction(repr(float(amount)))


def _show(name: Limit, number: float) -> str:
    return f"${number:g}" if name == "usd" else f"{number:g} {name}" if number >= 1e6 else f"{int(number)} {name}"
