"""Amounts as people write them, and when two are the same: "1,063 ft", "324 m", "$1.2 million", "37th", "twenty-one"."""

from __future__ import annotations

import re
from dataclasses import dataclass

TOLERANCE = 0.01
"""Relative, of an amount with a fraction or a unit. A bare whole number (a year, a count, a rank) must be met exactly."""

_SCALES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}
_UNITS: dict[str, tuple[str, float]] = {
    name: (dimension, factor)
    for dimension, names in {
        "length": {
            "mm millimeter millimeters millimetre millimetres": 1e-3,
            "cm centimeter centimeters centimetre centimetres": 1e-2,
            "m meter meters metre metres": 1.0,
            "km kilometer kilometers kilometre kilometres": 1e3,
            "inch inches": 0.0254,
            "ft foot feet": 0.3048,
            "yd yard yards": 0.9144,
            "mi mile miles": 1609.344,
        },
        "mass": {
            "g gram grams": 1e-3,
            "kg kilogram kilograms": 1.0,
            "t ton tons tonne tonnes": 1e3,
            "lb lbs pound pounds": 0.45359237,
            "oz ounce ounces": 0.028349523125,
        },
        "time": {
            "s sec second seconds": 1.0,
            "min minute minutes": 60.0,
            "h hour hours": 3600.0,
            "day days": 86400.0,
            "week weeks": 604800.0,
            "month months": 2629800.0,
            "year years": 31557600.0,
        },
        "area": {"km2 km² sqkm": 1e6, "m2 m² sqm": 1.0, "mi2 sqmi": 2589988.110336, "ha hectare hectares": 1e4, "acre acres": 4046.8564224},
        "speed": {"km/h kmh kph": 1 / 3.6, "mph": 0.44704, "m/s": 1.0},
        "share": {"% percent": 1.0},
        "dollars": {"dollar dollars usd": 1.0},
        "euros": {"euro euros eur": 1.0},
    }.items()
    for words, factor in names.items()
    for name in words.split()
}  # fmt: skip
_SIGNS = {"$": "usd", "us$": "usd", "€": "eur"}
_SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SQUARE = re.compile(r"\b(?:square|sq\.?)\s+(km|m|mi|kilomet(?:er|re)s?|met(?:er|re)s?|miles?)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?P<sign>us\$|[$€])?\s*(?<![\w.,])(?P<minus>[-−])?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<ordinal>st|nd|rd|th)?(?![\d])"
    r"(?:[\s-]*(?P<scale>thousand|million|billion|trillion|bn|mn|k)\b)?"
    r"(?:[\s-]*(?P<unit>km/h|m/s|km²|m²|[a-z]+2?|%))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A value in its dimension's base unit (metres, kilograms, seconds, ...), and the figure as it was written.

    `is_exact` where it must be met exactly.
    """

    value: float
    figure: float
    dimension: str = ""
    is_exact: bool = False


def amount(text: str) -> Amount | None:
    """The amount that the text is; None where it is none, holds several, or says more than an amount."""
    text = _spelt(text.strip().strip("\"'“”").rstrip(".").strip())
    match = _NUMBER.fullmatch(
        re.sub(r"^(?:about|around|approximately|roughly|nearly|~)\s*", "", text, flags=re.IGNORECASE)
    )
    if match is None or (match["unit"] and _unit(match) is None):
        return None
    return _amount(match)


def agrees(answer: str, gold: Amount) -> bool:
    """Does the answer state this amount, once or more ("324 m (1,063 ft)"), and no other?

    Where only one of the two has a unit, their figures are compared as written.
    """
    whole = amount(answer)
    said = [whole] if whole is not None else [_amount(match) for match in _NUMBER.finditer(_spelt(answer))]
    return bool(said) and all(_same(each, gold) for each in said)


def _same(ours: Amount, gold: Amount) -> bool:
    if ours.dimension and gold.dimension:
        return ours.dimension == gold.dimension and abs(ours.value - gold.value) <= TOLERANCE * abs(gold.value)
    if gold.is_exact:
        return ours.figure == gold.figure
    return abs(ours.figure - gold.figure) <= TOLERANCE * abs(gold.figure)


def _amount(match: re.Match[str]) -> Amount:
    figure = float(match["number"].replace(",", "")) * (-1 if match["minus"] else 1)
    scale = match["scale"] or ("million" if match["sign"] and (match["unit"] or "").lower() == "m" else "")
    figure *= _SCALES[scale.lower()] if scale else 1.0
    dimension, factor = _unit(match) or ("", 1.0)
    return Amount(figure * factor, figure, dimension, not (dimension or scale or "." in match["number"]))


def _unit(match: re.Match[str]) -> tuple[str, float] | None:
    sign = _SIGNS.get((match["sign"] or "").lower())
    return _UNITS.get(sign or (match["unit"] or "").lower())


def _spelt(text: str) -> str:
    """The text with number words up to 99 in digits, and square units as one word."""
    text = _SQUARE.sub(
        lambda match: ("mi" if match[1].lower().startswith("mi") else "km" if match[1][0] in "kK" else "m") + "2", text
    )
    return re.sub(r"[A-Za-z]+(?:-[A-Za-z]+)?", lambda match: _digits(match[0]), text)


def _digits(word: str) -> str:
    first, _, second = word.lower().partition("-")
    if first in _TENS and (not second or second in _SMALL[1:10]):
        return str(20 + 10 * _TENS.index(first) + (_SMALL.index(second) if second else 0))
    return str(_SMALL.index(first)) if first in _SMALL and not second else word
