"""Do the intervals of a text hold a moment, and how much of it?

Handover days. An interval that ends on a day ("to 4 March 1889") holds that day, unless another interval of the same
text begins on it. Between two texts `overlap` decides: days that may lie on either side of an end count half, so on
4 March 1889 the interval that ends scores 0.5 and the one that begins 1.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from sleuth.guards.dates.interval import Interval, intervals
from sleuth.guards.dates.moment import Moment, parse
from sleuth.guards.text import forms, stem, stems


def offices(text: str, about: str = "") -> tuple[Interval, ...]:
    """The text's intervals that are no lives; those beside most of the words of `about`, where any are.

    One without an end is ended by the last death that the text tells.
    """
    found = intervals(text)
    deaths = [i.end for i in found if i.life and i.end is not None]
    kept = [i for i in found if not i.life]
    if deaths:
        last = max(deaths, key=lambda death: death.last)
        kept = [replace(i, end=last, partial=False) if _outlives(i, last) else i for i in kept]
    wanted = stems(about)
    if not wanted or not kept:
        return tuple(kept)
    shared = [len(wanted & {stem(form) for form in forms(i.about)}) for i in kept]
    return tuple(i for i, count in zip(kept, shared, strict=True) if count == max(shared))


def _outlives(interval: Interval, death: Moment) -> bool:
    return interval.end is None and interval.last > death.last and interval.first <= death.last


def holds(text: str, when: str, *, about: str = "") -> bool | None:
    """Does an interval of the text hold the moment `when`, in whole or in part?

    `when` is ISO ("1889-03-31", "1889-03", "1889"); `about` names the office or the person where the text tells of
    several. True: one may hold it. False: there are intervals, and none can. None: nothing to judge by (no interval,
    no readable moment, or `when` is more than 30 years from a beginning whose end is not told).
    """
    moment, found = parse(when), offices(text, about)
    if moment is None or not found:
        return None
    if _share(found, moment) > 0:
        return True
    beyond = any(i.partial and (moment[0] > i.last if i.start else moment[1] < i.first) for i in found)
    return None if beyond else False


def overlap(text: str, when: str, *, about: str = "") -> float:
    """The share of the moment `when`, 0 to 1, that the text's intervals hold.

    Days that may lie on either side of a beginning or an end count half: for "from 1885 to 1889" those of 1885 and
    1889, for "to 4 March 1889" that day. So 1889 is held 0.17 by the interval that ends on 4 March and 0.83 by the
    one that begins then.
    """
    moment = parse(when)
    return 0.0 if moment is None else _share(offices(text, about), moment)


def _share(found: Sequence[Interval], moment: tuple[date, date]) -> float:
    days = (moment[1] - moment[0]).days + 1
    starts = {i.start.first for i in found if i.start is not None and i.start.precision == "day"}
    return min(1.0, sum(_held(interval, starts, moment) for interval in found) / days)


def _held(interval: Interval, starts: set[date], moment: tuple[date, date]) -> float:
    """How many days of the moment the interval holds; uncertain ones count half, one on which another starts not."""
    first, last = interval.first.toordinal(), interval.last.toordinal()
    sure_from = interval.start.last.toordinal() if interval.start else first
    sure_to = interval.end.first.toordinal() - 1 if interval.end else last
    low, high = moment[0].toordinal(), moment[1].toordinal()
    if _handed_over(interval, starts):
        last = sure_to
    whole = max(0, min(last, high) - max(first, low) + 1)
    sure = max(0, min(sure_to, high) - max(sure_from, low) + 1)
    return (whole + min(whole, sure)) / 2


def _handed_over(interval: Interval, starts: set[date]) -> bool:
    """Does another interval begin on the very day this one ends?"""
    end = interval.end
    return end is not None and end.precision == "day" and interval.first < end.first and end.first in starts
