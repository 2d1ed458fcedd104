"""Dates and years in running text. Numbers that are no dates (counts, measures, prices, telephones) are left alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, lru_cache
from typing import Literal

Precision = Literal["day", "month", "year", "decade", "century"]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Moment:
    """A date as mentioned: the first and the last day it may mean (both included), and where it stands.

    "early 1889" is of precision ``year`` but ends with June. Years before the common era have no `date`: `moments`
    leaves them out; where an interval begins with one, its beginning is open.
    """

    first: date
    last: date
    precision: Precision
    span: Span

    @property
    def days(self) -> int:
        """How many days it may mean."""
        return (self.last - self.first).days + 1


@dataclass(frozen=True, slots=True)
class Raw:
    """What the scanner read, before a missing year is filled in. `year` is negative before the common era."""

    span: Span
    year: int | None
    month: int | None = None
    day: int | None = None
    years: int = 1
    """How many years it covers: 1, 10 for a decade, 100 for a century."""


_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_ORDINALS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first""".split()
_TH = r"(?:st|nd|rd|th)?"
_JOIN = r"\s*(?:[-–—]|to|until|till|through|and)\s*"
_NAME = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_ERA = r"(?-i:BCE|BC|B\.C\.E?\.?|AD|A\.D\.|CE)"

_MONTHLY = rf"""
    (?:(?:(?P<d0>\d{{1,2}}){_TH}{_JOIN})?(?P<d1>\d{{1,2}}){_TH}(?:\s+day)?(?:\s+of)?[\s-]+)?
    (?P<month>{_NAME})
    (?:\s*(?P<d2>\d{{1,2}}){_TH}(?!\d|\s+{_NAME})(?:\s*[-–—]\s*(?P<d3>\d{{1,2}}){_TH}(?!\d))?)?
    (?:(?:,\s*|\s+of\s+|\s+|-)(?P<year>\d{{3,4}})(?![\d]|,\d|\.\d)(?:\s*(?P<era>{_ERA}))?)?
"""
_NUMERIC = rf"""
    (?P<iso>[12]\d{{3}}-\d\d-\d\d)(?![\d-])
  | (?P<slash>\d{{1,2}}[/.]\d{{1,2}}[/.][12]\d{{3}})(?![\d/])
  | (?P<century>\d{{1,2}}(?:st|nd|rd|th)|{"|".join(_ORDINALS)})[\s-]+centur(?:y|ies)(?:\s*(?P<cera>{_ERA}))?
  | (?P<decade>[12]\d\d0)['’]?s\b
  | (?-i:AD|A\.D\.|CE)\s*(?P<ad>\d{{1,4}})(?![\d,])
  | (?P<old>\d{{1,4}})\s*(?P<oera>{_ERA})(?!\w)
  | (?P<bare>[12]\d{{3}})(?!\d|[,.]\d)
"""
_UNITS = (
    r"km|kms|kilomet\w*|met(?:re|er)s?|m|cm|mm|feet|foot|ft|miles?|mi|yards?|inches|people|persons|inhabitants|residents"
    r"|kg|kilograms?|tons?|tonnes?|lbs?|pounds|dollars|euros|francs|yen|rupees|percent|per|seats|votes|students|pupils"
    r"|employees|acres|hectares|ha|square|sq|cubic|words|pages|points|copies|men|women|children|soldiers|troops|deaths"
    r"|casualties|rooms|steps|members|hours|minutes|seconds|days|weeks|months|years|million|billion|thousand|times|mph|hp"
    r"|horsepower|watts?|kW|MW|°C|°F|degrees|others|units|homes|houses|households|families|cars|aircraft|ships"
)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Compiled at first use: scanner, number before a unit, word before a count, "early" before a date, join."""
    flags = re.VERBOSE | re.IGNORECASE
    return (
        re.compile(rf"(?<![\w$£€¥#+])(?=[\djfmasondetcab])(?:{_MONTHLY}|{_NUMERIC})", flags),
        re.compile(rf"[\s-]?(?:%|(?:{_UNITS})\b(?!\s*\d{{1,2}},?\s))", re.IGNORECASE),
        re.compile(
            r"(?:\b(?:over|nearly|almost|some|exactly|only|another|than|least|number|no|nos|route|highway|flight|page|pp?"
            r"|population of|total of|number of|model|apollo)\.?|[$£€¥#+])\s*$",
            re.IGNORECASE,
        ),
        re.compile(r"\b(early|mid|middle|late)(?:[\s-]+(?:of\s+)?(?:the\s+)?|-)$", re.IGNORECASE),
        re.compile(rf"{_JOIN}(?:the\s+)?$", re.IGNORECASE),
    )


def moments(text: str) -> tuple[Moment, ...]:
    """Every date, month, year, decade and century mentioned in the text, in order, with its characters' span.

    A day without a year takes the year of the date it is joined to ("November 20 to November 21, 2023"), or of the
    last date before it in its sentence; without either it is left out. "04/03/1889" tells its year alone.
    """
    return tuple(moment for moment in scan(text) if moment is not None and moment.last > date.min)


@lru_cache(maxsize=512)
def scan(text: str) -> tuple[Moment, ...]:
    """Like `moments`, with years before the common era kept as ``date.min``, so that what follows them reads right."""
    if not any(c.isdigit() for c in text) and "centur" not in text:
        return ()
    raws = _fill(text, [raw for match in _patterns()[0].finditer(text) for raw in _read(text, match)])
    found = (_moment(text, raw) for raw in raws)
    return tuple(moment for moment in found if moment is not None)


def iso(moment: Moment) -> str:
    """The moment in ISO 8601: "1889-03-31", "1889-03", "1889"; a decade or century as "1880/1889"."""
    first = moment.first
    if moment.precision == "day":
        return first.isoformat()
    if moment.precision == "month":
        return first.isoformat()[:7]
    if moment.precision == "year":
        return first.isoformat()[:4]
    return f"{first.isoformat()[:4]}/{moment.last.isoformat()[:4]}"


def parse(when: str) -> tuple[date, date] | None:
    """First and last day of an ISO date ("1889-03-31", "1889-03", "1889", "1880/1889"), or of the first date named."""
    match = re.fullmatch(r"\s*(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?:/(\d{4})(?:-(\d\d)(?:-(\d\d))?)?)?\s*", when)
    if match is None:
        named = moments(when)
        return (named[0].first, named[0].last) if named else None
    numbers = [None if group is None else int(group) for group in match.groups()]
    begin = _span_of(numbers[0], numbers[1], numbers[2])
    end = _span_of(numbers[3], numbers[4], numbers[5]) if numbers[3] is not None else begin
    if begin is None or end is None or end[1] < begin[0]:
        return None
    return begin[0], end[1]


def _span_of(year: int | None, month: int | None, day: int | None) -> tuple[date, date] | None:
    try:
        if year is None:
            return None
        if month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if day is None:
            return date(year, month, 1), date(year, month, monthrange(year, month)[1])
        return date(year, month, day), date(year, month, day)
    except ValueError:
        return None


# --- reading one match ------------------------------------------------------------------------------------------


def _read(text: str, match: re.Match[str]) -> Iterator[Raw]:
    if match["month"]:
        yield from _monthly(match)
    elif match["iso"]:
        year, month, day = (int(part) for part in match["iso"].split("-"))
        yield Raw(match.span(), year, month, day)
    elif match["slash"]:
        yield _slashed(match)
    elif match["century"]:
        yield _century(match)
    elif match["decade"]:
        year = int(match["decade"])
        yield Raw(match.span(), year, years=100 if year % 100 == 0 and year < 2000 else 10)
    elif match["ad"]:
        yield Raw(match.span(), int(match["ad"]))
    elif match["old"]:
        yield Raw(match.span(), _in_era(int(match["old"]), match["oera"]))
    elif _is_year(text, match.start(), match.end()):
        yield from _yearly(text, match)


def _monthly(match: re.Match[str]) -> Iterator[Raw]:
    month = _MONTHS.index(match["month"][:3].lower()) + 1
    year = _in_era(int(match["year"]), match["era"]) if match["year"] else None
    before, after = match["d1"], match["d2"]
    if match["d0"]:
        yield Raw(match.span("d0"), year, month, int(match["d0"]))
        yield Raw((match.start("d1"), match.end()), year, month, int(before))
    elif match["d3"] and not before:
        yield Raw((match.start(), match.end("d2")), year, month, int(after))
        yield Raw((match.start("d3"), match.end()), year, month, int(match["d3"]))
    elif before or after:
        yield Raw(match.span(), year, month, int(before or after))
    else:
        yield Raw(match.span(), year, month)


def _slashed(match: re.Match[str]) -> Raw:
    a, b, year = (int(part) for part in re.split(r"[/.]", match["slash"]))
    if a > 12 >= b > 0:
        return Raw(match.span(), year, b, a)
    if b > 12 >= a > 0:
        return Raw(match.span(), year, a, b)
    return Raw(match.span(), year)


def _century(match: re.Match[str]) -> Raw:
    name = match["century"].lower()
    number = _ORDINALS.index(name) + 1 if name in _ORDINALS else int(name[:-2])
    if _in_era(1, match["cera"]) < 0:
        return Raw(match.span(), -1)
    return Raw(match.span(), number * 100 - 99, years=100)


def _in_era(year: int, era: str | None) -> int:
    return -year if era and era.startswith("B") else year


def _yearly(text: str, match: re.Match[str]) -> Iterator[Raw]:
    """A year; with the "93" of "1889–93" a second one; "1889-03" is a month."""
    year = int(match["bare"])
    short = re.compile(r"[-–—/](\d\d)(?![\d\w]|[-–—/]\d|[.,]\d)").match(text, match.end())
    if short and _is_month(year, short):
        yield Raw((match.start(), short.end()), year, int(short[1]))
        return
    yield Raw(match.span(), year)
    if short:
        later = year - year % 100 + int(short[1])
        yield Raw(short.span(1), later if later > year else later + 100)


def _is_month(year: int, short: re.Match[str]) -> bool:
    """ "1889-03" is March; "2003-04" and "1889-93" are seasons or intervals, and so is anything with a dash proper."""
    end = int(short[1])
    return short.group()[0] == "-" and 1 <= end <= 12 and end <= year % 100 and end != (year + 1) % 100


def _is_year(text: str, start: int, end: int) -> bool:
    if not 1000 <= int(text[start:end]) <= 2099:
        return False
    _, unit, count, _, _ = _patterns()
    if unit.match(text, end) or count.search(text[max(0, start - 20) : start]):
        return False
    return _stands_alone(text, start, end) and not _counts(text, start, end)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Is it no part of a longer number, telephone, code or address?"""
    left = re.search(r"\S*$", text[max(0, start - 40) : start])
    right = re.compile(r"\S*").match(text, end)
    before, after = left.group() if left else "", right.group() if right else ""
    if "://" in before or "www." in before or (re.search(r"[\d][.,/:]$|[./@_=&]$", before) and not _year_then(before)):
        return False
    if re.search(r"\d[-–—]$", before) and not _year_then(before):
        return False
    if re.match(r"[-–—]\d", after) and not re.match(r"[-–—](?:[12]\d{3}|\d\d?)(?!\d|[-–—]\d)", after):
        return False
    if re.match(r"[_@=&]|[/:]\d{3}", after) and not re.match(r"/[12]\d{3}\b", after):
        return False
    near = re.search(r"(?:^|\s)\(?(\d{2,})\)?\s$", text[max(0, start - 10) : start])
    return near is None or len(near[1]) == 2 or _plausible(near[1])


def _year_then(before: str) -> bool:
    return re.search(r"(?<![\d-])[12]\d{3}[-–—/]$|(?<![\d-])\d\d?[-–—]$(?<=[12]\d{3}[-–—])", before) is not None


def _plausible(number: str) -> bool:
    return len(number) == 4 and 1000 <= int(number) <= 2099


_NOT_PLURAL = frozenset("was is has as his its this does us thus".split())


def _counts(text: str, start: int, end: int) -> bool:
    """ "killed 1500 soldiers": a plural after it, and no word before it that dates take."""
    after = re.compile(r"\s+([a-z]+s)\b").match(text, end)
    if after is None or after[1] in _NOT_PLURAL:
        return False
    before = re.search(r"([\w.’']+)\W*$", text[max(0, start - 20) : start])
    word = before[1].lower() if before else ""
    return bool(word) and word not in _DATED


_DATED = frozenset(
    """in the of since by from until till to during late early mid after before circa about around and a an year
    spring summer autumn fall winter between through or on its his their this our under""".split()
)


# --- filling in years, making moments ---------------------------------------------------------------------------


def _fill(text: str, raws: list[Raw]) -> list[Raw]:
    """Give days and months without a year the year they are joined to, or that of the date before them."""
    join = _patterns()[4]
    for at in range(len(raws) - 2, -1, -1):
        here, then = raws[at], raws[at + 1]
        gap = text[here.span[1] : then.span[0]]
        if here.year is None and then.year is not None and then.years == 1 and join.fullmatch(gap):
            turn = here.month is not None and then.month is not None and here.month > then.month
            raws[at] = replace(here, year=then.year - turn)
    breaks = [match.start() for match in re.finditer(r"[.!?]\s+[A-Z]", text)]
    kept: list[Raw] = []
    for raw in raws:
        filled = raw if raw.year is not None else _from_before(breaks, kept, raw)
        if filled is not None:
            kept.append(filled)
    return kept


def _from_before(breaks: list[int], kept: list[Raw], raw: Raw) -> Raw | None:
    if raw.day is None or not kept or kept[-1].years > 1:
        return None
    last = kept[-1]
    together = bisect_right(breaks, last.span[1]) == bisect_right(breaks, raw.span[0])
    return replace(raw, year=last.year) if together else None


def _moment(text: str, raw: Raw) -> Moment | None:
    if raw.year is None or raw.year == 0:
        return None
    if raw.year < 0:
        return Moment(date.min, date.min, "year", raw.span)
    days = _span_of(raw.year, raw.month, raw.day) or _span_of(raw.year, raw.month, None)
    days = days or _span_of(raw.year, None, None)
    last = _span_of(raw.year + raw.years - 1, None, None)
    if days is None or last is None:
        return None
    if raw.years > 1:
        return _narrowed(text, Moment(days[0], last[1], "decade" if raw.years == 10 else "century", raw.span))
    if days[0] == days[1]:
        return Moment(*days, "day", raw.span)
    if (days[1] - days[0]).days < 31:
        return Moment(*days, "month", raw.span)
    return _narrowed(text, Moment(*days, "year", raw.span))


def _narrowed(text: str, moment: Moment) -> Moment:
    """ "early" is the first half, "late" the second, "mid" the two middle quarters."""
    start = moment.span[0]
    match = _patterns()[3].search(text[max(0, start - 20) : start])
    if match is None:
        return moment
    first, days = moment.first.toordinal(), moment.days
    part = match[1].lower()
    begin = first + {"early": 0, "mid": days // 4, "middle": days // 4, "late": days // 2}[part]
    end = first + {"early": days // 2, "mid": days * 3 // 4, "middle": days * 3 // 4, "late": days}[part] - 1
    span = (start - (len(match.string) - match.start()), moment.span[1])
    return replace(moment, first=date.fromordinal(begin), last=date.fromordinal(end), span=span)
