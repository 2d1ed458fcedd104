"""Date arithmetic for models: what lies between two dates, a date and a duration, weekdays, ages, which is earlier.

Dates are read as `sleuth.guards.dates.moments` reads them ("31 March 1889", "1889-03-31", "March 1889", "1889"), in the
Gregorian calendar throughout. A month is added by its number: 31 January and 1 month is the last day of February. Who
was born on 29 February is a year older on 1 March of other years. What cannot be told to the day is said to be so.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta
from typing import NamedTuple

from sleuth.errors import ToolError
from sleuth.guards.dates import Moment, iso, moments
from sleuth.sources.functions import tool

LONGEST = 500
"""Characters of an expression."""

FORMS = "days between D and D; D + 3 months; 90 days before D; weekday of D; age on D, born D; earlier of D and D"

_DURATION = re.compile(
    r"(?<![\w.,])(?P<count>\d{1,3}(?:,\d{3})+|\d{1,7}|an?|one)[\s-]+"
    r"(?P<unit>day|week|fortnight|month|year|decade|centur)(?:s|y|ies)?\b(?!\s+between)",
    re.IGNORECASE,
)
_DAYS = {"day": 1, "week": 7, "fortnight": 14}
_MONTHS = {"month": 1, "year": 12, "decade": 120, "centur": 1200}
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ORDER = re.compile(r"\b(?:earli|late|before|after|first|last|old|young|new|soon|compare)|[<>]")
_AGE = re.compile(r"\b(?:age|aged|born|birth\w*|how old)\b")
_MINUS = re.compile(r"-|–|−|\bminus\b|\bless\b")


class Asked(NamedTuple):
    """What was asked: its dates, its durations (days, months), and its words with D and N in their places."""

    dates: tuple[Moment, ...]
    durations: tuple[tuple[int, int], ...]
    words: str


def date_arithmetic(expression: str) -> str:
    """Work with dates: days between 2 January 1837 and 31 March 1889; 1889-03-31 + 90 days; weekday of 1889-03-31; age on 1889-03-31, born 1837-01-02; earlier of March 1889 and 1890."""
    return worked_out(expression)


def worked_out(expression: str) -> str:
    """The result as text, with the dates it is about in ISO form. Raises `ToolError`, which says what is wrong."""
    asked = _read(expression)
    if asked.durations:
        return _shifted(asked)
    if not asked.dates:
        raise _wrong("There is no date in it", "Write dates as 1889-03-31 or 31 March 1889.")
    if len(asked.dates) == 1:
        return _weekday(asked)
    if _AGE.search(asked.words):
        return _age(asked)
    if len(asked.dates) > 2 or re.search(r"\b(?:earliest|latest)\b", asked.words):
        return _outermost(asked)
    early, late = sorted(asked.dates, key=lambda moment: (moment.first, moment.last))
    if _ORDER.search(asked.words):
        return _compared(early, late)
    return f"{_between(early, late)}, from {iso(early)} to {iso(late)}"


def between(early: date, late: date) -> tuple[int, int, int]:
    """Whole years, months and days from the one to the other."""
    months = (late.year - early.year) * 12 + late.month - early.month
    if _plus(early, months) > late:
        months -= 1
    return months // 12, months % 12, (late - _plus(early, months)).days


def age(born: date, on: date) -> int:
    """Whole years of someone born that day."""
    return on.year - born.year - ((on.month, on.day) < (born.month, born.day))


# --- reading ------------------------------------------------------------------------------------------------------


def _read(expression: str) -> Asked:
    if len(expression) > LONGEST:
        raise ToolError(f"An expression may have {LONGEST} characters; this one has {len(expression)}.")
    found, text, at = moments(expression), "", 0
    for moment in found:
        text += f"{expression[at : moment.span[0]].lower()} D "
        at = moment.span[1]
    text += expression[at:].lower()
    durations = tuple(_duration(match) for match in _DURATION.finditer(text))
    words = " ".join(_DURATION.sub(" N ", text).split())
    if left := re.search(r"\d\S*", words):
        raise _wrong(f"'{left[0]}' is read neither as a date nor as a duration", "")
    return Asked(found, durations, words)


def _duration(match: re.Match[str]) -> tuple[int, int]:
    """Days and months."""
    text, unit = match["count"].lower().replace(",", ""), match["unit"].lower()
    count = int(text) if text.isdigit() else 1
    return count * _DAYS.get(unit, 0), count * _MONTHS.get(unit, 0)


def _wrong(what: str, hint: str) -> ToolError:
    return ToolError(f"{what}.", hint=f"{hint} Forms: {FORMS}.".strip())


# --- the operations -----------------------------------------------------------------------------------------------


def _shifted(asked: Asked) -> str:
    if len(asked.dates) != 1:
        raise _wrong(f"A duration goes with one date, and there are {len(asked.dates)}", "")
    moment, months, days = asked.dates[0], 0, 0
    for sign, (more_days, more_months) in zip(_signs(asked.words), asked.durations, strict=True):
        days += sign * more_days
        months += sign * more_months
    by_year = moment.precision == "year" and not days and months % 12 == 0
    if moment.precision != "day" and not by_year and not (moment.precision == "month" and not days):
        raise ToolError(f"{iso(moment)} is no day, so that cannot be told.", hint="Give the whole date.")
    try:
        shifted = _plus(moment.first, months) + timedelta(days)
    except (ValueError, OverflowError) as error:
        raise ToolError("That is outside of the years 1 to 9999.") from error
    cut = {"year": 4, "month": 7}.get(moment.precision, 10)
    return shifted.isoformat()[:cut]


def _signs(words: str) -> list[int]:
    """For each duration +1 or -1: "D + N - N", "N before D", "N after D"."""
    number = words.count("N")
    if found := re.fullmatch(r"(?:.*\s)?D\b([^DN]*\bN\b(?:[^DN]*\bN\b)*)[^DN]*", words):
        signs, sign = [], 0
        for gap in re.findall(r"([^N]*)N\b", found[1]):
            sign = -1 if _MINUS.search(gap) else 1 if re.search(r"\+|\bplus\b|\badd", gap) else sign
            signs.append(sign)
        if re.search(r"\b(?:earlier|before)\W*$", words):
            signs = [-1] * number
        elif re.search(r"\b(?:later|after)\W*$", words):
            signs = [1] * number
        if len(signs) == number and all(signs):
            return signs
    if led := re.match(r"(add|subtract|take)\b", words):
        return [1 if led[1] == "add" else -1] * number
    last = re.search(
        r"N\W*(before|earlier than|prior to|until|after|from|later than|since|past|to|and)\s(?:the\s)?D\b", words
    )
    if last and last[1] in ("before", "earlier than", "prior to"):
        return [-1] * number
    if last and last[1] in ("after", "from", "later than", "since", "past"):
        return [1] * number
    raise _wrong("Whether to go forward or back is not said", "Write + or -, before or after.")


def _plus(day: date, months: int) -> date:
    """The date so many months on; the month's last day where it has no such day. Raises `ValueError`."""
    count = day.year * 12 + day.month - 1 + months
    year, month = count // 12, count % 12 + 1
    if not 1 <= year <= 9999:
        raise ValueError(year)
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def _weekday(asked: Asked) -> str:
    moment = asked.dates[0]
    if not re.search(r"week|\bday\b", asked.words):
        raise _wrong(f"There is one date, {iso(moment)}, and nothing to do with it", "")
    if moment.precision != "day":
        raise ToolError(f"{iso(moment)} is no day, so it has no weekday.", hint="Give the whole date.")
    return f"{_WEEKDAYS[moment.first.weekday()]} ({iso(moment)})"


def _age(asked: Asked) -> str:
    if len(asked.dates) != 2:
        raise _wrong(f"An age takes two dates, and there are {len(asked.dates)}", "")
    born, on = sorted(asked.dates, key=lambda moment: (moment.first, moment.last))
    if said := re.search(r"\b(?:born|birth\w*)\b[^D]*\bD\b", asked.words):
        which = asked.words[: said.end()].count("D") - 1
        born, on = asked.dates[which], asked.dates[1 - which]
    least, most = age(born.last, on.first), age(born.first, on.last)
    if most < 0:
        raise ToolError(f"{iso(on)} is before the birth, {iso(born)}.")
    years = (
        f"{most}"
        if least == most
        else f"{max(least, 0)} or {most}"
        if most - least == 1
        else f"{max(least, 0)} to {most}"
    )
    return f"{years} {'year' if years == '1' else 'years'} old on {iso(on)}, born {iso(born)}"


def _outermost(asked: Asked) -> str:
    """The earliest (or, asked so, the latest) of several dates."""
    if not _ORDER.search(asked.words):
        raise _wrong(f"There are {len(asked.dates)} dates, and what to do with them is not said", "")
    late = re.search(r"\b(?:lat|last|young|new)", asked.words) is not None
    chosen = (
        max(asked.dates, key=lambda moment: moment.first) if late else min(asked.dates, key=lambda moment: moment.last)
    )
    others = [moment for moment in asked.dates if moment != chosen]
    if any((moment.last >= chosen.first) if late else (moment.first <= chosen.last) for moment in others):
        raise ToolError("Which comes first cannot be told: the dates overlap.", hint="Give whole dates.")
    return f"{iso(chosen)} is the {'latest' if late else 'earliest'}"


def _compared(early: Moment, late: Moment) -> str:
    if (early.first, early.last) == (late.first, late.last):
        return f"{iso(early)} and {iso(late)} are the same"
    if early.last >= late.first:
        return f"neither can be told to be earlier: {iso(early)} and {iso(late)} overlap"
    return f"{iso(early)} is earlier than {iso(late)}, by {_between(early, late)}"


def _between(early: Moment, late: Moment) -> str:
    if {early.precision, late.precision} & {"decade", "century"}:
        raise ToolError(
            f"{iso(early)} and {iso(late)} are too wide to count between.", hint="Give years or whole dates."
        )
    years, months, days = between(early.first, late.first)
    parts = [_many(count, unit) for count, unit in ((years, "year"), (months, "month"), (days, "day")) if count]
    if early.precision == late.precision == "day":
        total = (late.first - early.first).days
        return _many(total, "day") + (f" ({', '.join(parts)})" if years or months else "")
    if "year" in (early.precision, late.precision):
        return f"{_many(late.first.year - early.first.year, 'year')} by the years alone"
    whole = (late.first.year - early.first.year) * 12 + late.first.month - early.first.month
    told = [_many(count, unit) for count, unit in ((whole // 12, "year"), (whole % 12, "month")) if count]
    return f"{', '.join(told) or '0 months'} by the months alone"


def _many(count: int, unit: str) -> str:
    return f"{count} {unit}{'' if count == 1 else 's'}"


DATES = tool(date_arithmetic, name="dates")
