"""Numbers by their value: "1,063" is 1063, "three" is 3, "4.5 million" is 4500000, "23rd" is 23."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_SMALL = {
    name: at
    for at, name in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen""".split()
    )
}
_TENS = {
    name: 10 * at for at, name in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_TIMES = {"hundred": 100, "dozen": 12, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_DIGITS = (
    r"\d{1,3}(?:,\d{3}){1,12}(?:\.\d{1,20})?|\d{1,40}(?:\.\d{1,20})?"  # a longer one is no number anybody asks for
)
_NAMED = "|".join((*_SMALL, *_TENS))
_NUMBER = re.compile(
    rf"(?<![\w.,])(?:(?P<digits>{_DIGITS})(?:st|nd|rd|th)?|(?P<tens>{'|'.join(_TENS)})[\s-](?P<ones>{'|'.join(_SMALL)})"
    rf"|(?P<named>{_NAMED}))(?P<times>(?:[\s-]+(?:{'|'.join(_TIMES)})s?){{0,3}})(?!\w|\.\d|,\d{{3}})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as mentioned: its value, and the characters it was read from."""

    value: Fraction
    span: tuple[int, int]


def quantities(text: str) -> tuple[Quantity, ...]:
    """The numbers of a text, in order, written in digits or in words. Those inside a word ("B52") are none."""
    return tuple(Quantity(_value(found), found.span()) for found in _NUMBER.finditer(text))


def values(text: str) -> frozenset[Fraction]:
    """The values of the text's numbers."""
    return frozenset(quantity.value for quantity in quantities(text))


def without_numbers(text: str) -> str:
    """The rest of the text."""
    return _NUMBER.sub(" ", text)


def _value(found: re.Match[str]) -> Fraction:
    if found["digits"]:
        value = Fraction(found["digits"].replace(",", ""))
    elif found["tens"]:
        value = Fraction(_TENS[found["tens"].lower()] + _SMALL[found["ones"].lower()])
    else:
        value = Fraction({**_SMALL, **_TENS}[found["named"].lower()])
    for name in re.findall(r"[a-z]+", found["times"].lower()):
        value *= _TIMES[name.removesuffix("s")]
    return value
