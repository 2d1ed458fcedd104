"""A calculator for models: exact, bounded, and never `eval`.

Numbers may have thousands separators (8,848), an exponent (1.5e3) or a word (1.4 billion). There are + - * / // % ** (or ^),
brackets, one comparison (< <= > >= == !=, which gives true or false), and min, max, sum, mean, round, abs, sqrt.
Percentages are read as people say them: ``20%`` is 0.2, ``20% of 50`` is 10, and ``50 + 20%`` is 60, as on a pocket
calculator; ``%`` before a number, a bracket or a function is the remainder. `round` takes halves away from zero. Units and
currencies are refused, never guessed at. Results are exact where they end within 30 digits, else rounded to 12.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, DecimalException, DivisionByZero, InvalidOperation, Overflow, Underflow
from fractions import Fraction
from typing import NamedTuple, TypeVar

from sleuth.errors import ToolError
from sleuth.sources.functions import tool

LONGEST = 500
"""Characters of an expression."""
DEEPEST = 40
"""Brackets within brackets."""
BITS = 4000
"""Size of a number's numerator and denominator: about 1,200 digits."""
EXACT, ROUNDED = 30, 12
"""Digits up to which a result that ends is told in full, and to which others are rounded."""

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]) | \.\d+(?![\w.]))
    | (?P<word>[^\W\d]\w*)
    | (?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%^<>(),])
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_SAID = {
    "×": "*",
    "·": "*",
    "⋅": "*",
    "÷": "/",
    "−": "-",
    "–": "-",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "\u00a0": " ",
    "^": "**",
}
_WORDS = {"plus": "+", "minus": "-", "times": "*", "x": "*", "percent": "%", "mod": "%", "average": "mean"}
_MANY = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_COMPARE: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_WIDE = Context(prec=50, Emax=1200, Emin=-1200, traps=[Overflow, Underflow, InvalidOperation, DivisionByZero])
_T = TypeVar("_T")


class Token(NamedTuple):
    """A number, word or sign."""

    kind: str
    text: str


class Value(NamedTuple):
    """A number; `share` when it was written as a percentage."""

    number: Fraction
    share: bool = False


def calculate(expression: str) -> str:
    """Work out an expression, exactly: 20% of 8,848; (29032 - 19341) / 3; max(2.5 * 3, 7); 10984 * 0.8 < 8376 * 1.2."""
    return worked_out(expression)


def worked_out(expression: str) -> str:
    """The result as text: digits, or "true" or "false" for a comparison. Raises `ToolError`, which says what is wrong."""
    if len(expression) > LONGEST:
        raise ToolError(f"An expression may have {LONGEST} characters; this one has {len(expression)}.")
    parser = Parser(_tokens(expression))
    left = parser.sum()
    compare = _COMPARE.get(parser.here)
    if compare is None:
        parser.end()
        return written(left.number)
    parser.take()
    right = parser.sum()
    parser.end()
    return "true" if compare(left.number, right.number) else "false"


def written(number: Fraction) -> str:
    """A number in digits: as it is where it ends within `EXACT` digits (whole numbers always), else rounded."""
    if number.denominator == 1:
        return str(number.numerator)
    above, below = Decimal(number.numerator), Decimal(number.denominator)
    decimal = Context(prec=EXACT).divide(above, below)
    if Fraction(decimal) != number:
        whole = max(0, decimal.adjusted() + 1)
        decimal = Context(prec=max(ROUNDED, whole + 2)).divide(above, below).normalize(Context(prec=whole + ROUNDED))
    return f"{decimal:E}" if decimal.adjusted() < -15 else f"{decimal:f}"


class Parser:
    """Reads sums of products of powers, from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def here(self) -> str:
        """The token that is next; "" at the end."""
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1].text

    def end(self) -> None:
        """Nothing may be left."""
        if self.here in _COMPARE:
            raise ToolError("One comparison at a time.")
        if self.here:
            raise _unexpected(self.here, self._tokens[self._at].kind)

    def sum(self) -> Value:
        """Products, added or taken away; after a number that is none itself, a percentage is a share of it."""
        left = self._product()
        while self.here in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            right = self._product()
            part = right.number * left.number if right.share and not left.share else right.number
            left = Value(_kept(left.number + sign * part), left.share and right.share)
        return left

    def _product(self) -> Value:
        left = self._signed()
        while self.here in ("*", "/", "//", "%", "of"):
            sign = self.take()
            left = Value(_applied(sign, left.number, self._signed().number))
        return left

    def _signed(self) -> Value:
        if self.here not in ("+", "-"):
            return self._power()
        minus = self.take() == "-"
        with_sign = self._deeper(self._signed)
        return Value(-with_sign.number, with_sign.share) if minus else with_sign

    def _power(self) -> Value:
        base = self._share()
        if self.here != "**":
            return base
        self.take()
        return Value(_power(base.number, self._deeper(self._signed).number))

    def _share(self) -> Value:
        """An atom, with "%" after it a percentage, with "million" after it so many."""
        number = self._atom()
        if self.here in _MANY:
            number = _kept(number * _MANY[self.take()])
        if self.here == "%" and not self._opens(self._at + 1):
            self.take()
            return Value(_kept(number / 100), share=True)
        return Value(number)

    def _opens(self, at: int) -> bool:
        """Whether a number, bracket or function begins there."""
        if at >= len(self._tokens):
            return False
        token = self._tokens[at]
        return token.kind == "number" or token.text == "(" or token.text in _FUNCTIONS

    def _atom(self) -> Fraction:
        if not self.here:
            raise ToolError("The expression ends where a number should come.")
        kind = self._tokens[self._at].kind
        text = self.take()
        if kind == "number":
            return _number(text)
        if text == "(":
            inner = self._deeper(self.sum)
            self._close()
            return inner.number
        if text in _FUNCTIONS and self.here == "(":
            return self._called(text)
        raise _unexpected(text, kind)

    def _called(self, name: str) -> Fraction:
        self.take()
        given = [self._deeper(self._argument)]
        while self.here == ",":
            self.take()
            given.append(self._deeper(self._argument))
        self._close()
        return _kept(_FUNCTIONS[name](given))

    def _argument(self) -> Fraction:
        """In a function's brackets "1,200" may be one number or two: neither is guessed."""
        start = self._at
        number = self.sum().number
        depth = 0
        for token in self._tokens[start : self._at]:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0 and token.kind == "number" and "," in token.text:
                apart = token.text.replace(",", ", ")
                raise ToolError(
                    f"'{token.text}' is one number or more: write {token.text.replace(',', '')} or {apart}."
                )
        return number

    def _close(self) -> None:
        if self.here != ")":
            raise _unexpected(self.here, "") if self.here else ToolError("A bracket is not closed.")
        self.take()

    def _deeper(self, read: Callable[[], _T]) -> _T:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ToolError(f"The expression is nested more than {DEEPEST} deep.")
        found = read()
        self._depth -= 1
        return found


# --- tokens and numbers -------------------------------------------------------------------------------------------


def _tokens(expression: str) -> list[Token]:
    for said, sign in _SAID.items():
        expression = expression.replace(said, sign)
    expression = re.sub(r"\bdivided\s+by\b", "/", expression, flags=re.IGNORECASE)
    expression = re.sub(r"(?<![<>=!])\s*=\s*\??\s*$", "", expression)
    found, at = [], 0
    while at < len(expression.rstrip()):
        token = _TOKEN.match(expression, at)
        if token is None or token.lastgroup is None:
            piece = re.match(r"\s*(\S{1,20})", expression[at:])
            raise _unexpected(piece[1] if piece else "", "word")
        text = token[token.lastgroup].lower()
        text = _WORDS.get(text, text)
        found.append(Token(token.lastgroup, text))
        at = token.end()
    if not found:
        raise ToolError("There is nothing to work out.")
    return found


def _unexpected(text: str, kind: str) -> ToolError:
    if kind != "word":
        return ToolError(f"'{text}' stands where it cannot be read.")
    return ToolError(
        f"'{text}' cannot be read.",
        hint=f"Leave units and currencies out. Functions: {', '.join(_FUNCTIONS)}.",
    )


def _number(text: str) -> Fraction:
    digits, _, exponent = text.replace(",", "").partition("e")
    if abs(int(exponent or 0)) > 1200:
        raise _too_big()
    return _kept(Fraction(digits) * Fraction(10) ** int(exponent or 0))


def _kept(number: Fraction) -> Fraction:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > BITS:
        raise _too_big()
    return number


def _too_big() -> ToolError:
    return ToolError("A number gets too big or too fine (about 1,200 digits are the limit).")


def _applied(sign: str, left: Fraction, right: Fraction) -> Fraction:
    if sign in ("*", "of"):
        return _kept(left * right)
    if right == 0:
        raise ToolError("Something is divided by zero.")
    if sign == "/":
        return _kept(left / right)
    return _kept(Fraction(left // right) if sign == "//" else left % right)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if base == 0 and exponent < 0:
        raise ToolError("Something is divided by zero.")
    if exponent.denominator != 1:
        return _rooted(base, exponent)
    if base not in (0, 1, -1):
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if bits * abs(exponent) > 2 * BITS:
            raise _too_big()
    return _kept(base**exponent.numerator)


def _rooted(base: Fraction, exponent: Fraction) -> Fraction:
    """A power that is no whole one, to some 50 digits; roots that come out even are exact."""
    if base < 0:
        raise ToolError("A root of a negative number is not a real number.")
    if exponent == Fraction(1, 2):
        above, below = math.isqrt(base.numerator), math.isqrt(base.denominator)
        if above**2 == base.numerator and below**2 == base.denominator:
            return Fraction(above, below)
    try:
        return _kept(Fraction(_WIDE.power(_decimal(base), _decimal(exponent))))
    except DecimalException as error:
        raise _too_big() from error


def _decimal(number: Fraction) -> Decimal:
    return _WIDE.divide(Decimal(number.numerator), Decimal(number.denominator))


def _round(number: Fraction, digits: Fraction = Fraction(0)) -> Fraction:
    if digits.denominator != 1 or abs(digits) > 100:
        raise ToolError("round takes a number and how many decimals (a whole number).")
    scale = Fraction(10) ** digits.numerator
    size = Fraction(math.floor(abs(number) * scale + Fraction(1, 2))) / scale
    return size if number >= 0 else -size


def _of_one(name: str, function: Callable[..., Fraction], most: int = 1) -> Callable[[list[Fraction]], Fraction]:
    def checked(given: list[Fraction]) -> Fraction:
        if len(given) > most:
            raise ToolError(
                f"{name} takes {'one number' if most == 1 else f'at most {most} numbers'}, not {len(given)}."
            )
        return function(*given)

    return checked


_FUNCTIONS: Mapping[str, Callable[[list[Fraction]], Fraction]] = {
    "min": min,
    "max": max,
    "sum": lambda given: sum(given, Fraction(0)),
    "mean": lambda given: sum(given, Fraction(0)) / len(given),
    "round": _of_one("round", _round, most=2),
    "abs": _of_one("abs", abs),
    "sqrt": _of_one("sqrt", lambda number: _rooted(number, Fraction(1, 2))),
}

CALCULATOR = tool(calculate, name="calculator")
