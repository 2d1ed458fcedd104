"""Intervals in running text: from when to when somebody held an office, lived, or something lasted."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

from sleuth.guards.dates.moment import Moment, Span, scan
from sleuth.guards.dates.phrases import OFFICE_WORDS, phrases
from sleuth.guards.text import STOP, sentences

LONGEST = timedelta(days=30 * 365)
"""How far an interval reaches of which the text tells one end alone ("became president in 1889"): about 30 years,
longer than nearly every tenure. Further away nothing can be judged."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A time with a beginning, an end or both; None is open (still going on, or not told).

    `about` is the words beside it that say what it is the time of. `life` marks from birth to death. `partial` marks
    one whose other end the text does not tell ("became X in 2014"), against "since 2014", which goes on.
    """

    start: Moment | None
    end: Moment | None
    span: Span
    about: str = ""
    life: bool = False
    partial: bool = False

    @property
    def first(self) -> date:
        """The first day it may hold."""
        if self.start is not None:
            return self.start.first
        return _back(self.end.first) if self.partial and self.end is not None else date.min

    @property
    def last(self) -> date:
        """The last day it may hold."""
        if self.end is not None:
            return self.end.last
        return _forth(self.start.last) if self.partial and self.start is not None else date.max


def _back(day: date) -> date:
    return day - LONGEST if day - date.min > LONGEST else date.min


def _forth(day: date) -> date:
    return day + LONGEST if date.max - day > LONGEST else date.max


def intervals(text: str) -> tuple[Interval, ...]:
    """Every interval the text tells of, in order of its first date."""
    return _intervals(text)


@lru_cache(maxsize=512)
def _intervals(text: str) -> tuple[Interval, ...]:
    dates = scan(text)
    if not dates:
        return ()
    reader = _Reader(text, dates)
    return tuple(_described(text, _joined(reader.read(), reader.breaks), reader.breaks))


class _Reader:
    """Walks the dates of a text in order, and reads the words between them."""

    def __init__(self, text: str, dates: Sequence[Moment]) -> None:
        self.text, self.dates, self.words = text, dates, phrases()
        self.breaks = [start for start, _ in sentences(text)]

    def read(self) -> list[Interval]:
        found: list[Interval] = []
        at = 0
        while at < len(self.dates):
            interval = self._pair(at)
            if interval is not None:
                at += 2
            else:
                interval = self._single(at)
                at += 1
            if interval is not None:
                found.append(interval)
        return found

    def lead(self, at: int) -> str:
        """The words before a date: back to the date before it or the sentence's beginning, 120 characters at most."""
        start = self.dates[at].span[0]
        begin = _sentence_start(start, self.breaks)
        if at:
            begin = max(begin, self.dates[at - 1].span[1])
        return self.text[max(begin, start - 120) : start]

    def _pair(self, at: int) -> Interval | None:
        if at + 1 >= len(self.dates):
            return None
        a, b = self.dates[at], self.dates[at + 1]
        gap = self.text[a.span[1] : b.span[0]]
        joined = self.words.to.fullmatch(gap) or self.words.until_event_to.fullmatch(gap)
        if not joined and not (gap.strip() == "and" and self.words.before_between.search(self.lead(at))):
            return None
        if b.last < a.first or b.last == date.min:
            return None
        start = a if a.first > date.min else None
        return Interval(start, b, (a.span[0], b.span[1]), life=self._is_life(at, a, b))

    def _single(self, at: int) -> Interval | None:
        moment, lead = self.dates[at], self.lead(at)
        words, span = self.words, self.dates[at].span
        if moment.last == date.min:
            return None
        after = self.text[span[1] : span[1] + 100]
        if later := words.after_same_year.match(after):
            return Interval(moment, _year_end(moment), (span[0], span[1] + later.end()))
        if words.before_born.search(lead):
            return None if words.kin.search(lead) else Interval(moment, None, span, life=True)
        if onward := words.after_onward.match(after):
            return Interval(moment, None, (span[0], span[1] + onward.end()))
        if words.before_since.search(lead):
            return None if words.before_first_since.search(lead) else Interval(moment, None, span)
        if words.before_until.search(lead):
            return Interval(None, moment, span, partial=True)
        if words.before_held.search(lead) or (_leading(lead) and words.after_held.match(after)):
            return Interval(moment, moment, span)
        return self._turn(at, lead)

    def _turn(self, at: int, lead: str) -> Interval | None:
        """One end of an interval, by a verb before the date, or after a date that begins its sentence."""
        moment, span = self.dates[at], self.dates[at].span
        said = lead[-90:]
        turns = list(self.words.turn.finditer(said))
        if not turns and _leading(lead):
            said = self.tail(at)
            turns = list(self.words.turn.finditer(said))[:1]
        if not turns:
            return None
        if turns[-1]["start"]:
            return Interval(moment, None, span, turns[-1]["elected"] or turns[-1]["then"] or "", partial=True)
        died = re.search(r"\b(?:died|death)\b", said, re.IGNORECASE) is not None
        if died and self.words.kin.search(said):
            return None
        return Interval(None, moment, span, life=died, partial=True)

    def tail(self, at: int) -> str:
        """The words after a date: up to the date after it or the sentence's end, 120 characters at most."""
        end = self.dates[at].span[1]
        stops = [_next_sentence(end, self.breaks, len(self.text))] + [m.span[0] for m in self.dates[at + 1 : at + 2]]
        return self.text[end : min([end + 120, *stops])]

    def _is_life(self, at: int, a: Moment, b: Moment) -> bool:
        lead = self.lead(at)
        if self.words.before_born.search(lead):
            return True
        opened = self.text.rfind("(", max(0, a.span[0] - 120), a.span[0])
        if opened < 0 or ")" in self.text[opened : a.span[0]]:
            return False
        closed = self.text.find(")", b.span[1], b.span[1] + 60)
        inside = self.text[opened:closed] if closed > 0 else ""
        others = [m for m in self.dates[max(0, at - 6) : at + 8] if opened < m.span[0] < closed and m not in (a, b)]
        years = (b.last - a.first).days / 365.25
        if not inside or others or not 15 <= years <= 120:
            return False
        if self.words.in_office.search(inside):
            return False
        name = re.search(r"(?:\b(The)\s[^.]{0,40})?\b([^\W\d_][\w.’'-]*)[\"”]?,?\s*$", self.text[:opened][-60:])
        return name is not None and not name[1] and name[2][0].isupper() and name[2].lower() not in OFFICE_WORDS


def _year_end(moment: Moment) -> Moment:
    return replace(moment, last=date(moment.last.year, 12, 31), precision="year")


def _leading(lead: str) -> bool:
    """Does the date begin its sentence ("In 1902, ...")?"""
    return re.fullmatch(r"\W*(?:in|on|by|at)?(?:\s+the)?\W*", lead, re.IGNORECASE) is not None


def _joined(found: list[Interval], breaks: list[int]) -> list[Interval]:
    """Join each beginning with the end that the text tells after it ("became X in 1837 ... resigned in 1841").

    An election counts as a beginning only where nothing better is told: office is taken later.
    """
    kept: list[Interval] = []
    for interval in found:
        before = kept[-1] if kept else None
        if before is not None and _open(before) and interval.about in _SEQUEL and _after(before, interval.start):
            kept[-1] = replace(before, end=interval.start, partial=False)
        if interval.start is None and interval.partial:
            _end(kept, interval, breaks)
        else:
            kept.append(interval)
    told = [i for i in kept if not i.life and not (i.partial and i.about in _ELECTION)]
    return [i for i in kept if i.life or not told or i in told]


_SEQUEL = frozenset({"then", "later"})
_ELECTION = frozenset({"elected", "chosen"})


def _end(kept: list[Interval], end: Interval, breaks: list[int]) -> None:
    """Put an end where it belongs: to the beginning before it, to the birth before it, or by itself."""
    begun = kept[-1] if kept else None
    if begun is not None and _open(begun) and _follows(begun, end, breaks):
        kept[-1] = replace(begun, end=end.end, span=(begun.span[0], end.span[1]), partial=False)
        if not end.life:
            return
    recent = range(max(0, len(kept) - 50), len(kept))
    born = next((at for at in recent if kept[at].life and kept[at].start and kept[at].end is None), None)
    if end.life and born is not None and _after(kept[born], end.end):
        kept[born] = replace(kept[born], end=end.end)
    else:
        kept.append(end)


def _open(interval: Interval) -> bool:
    return interval.partial and interval.start is not None and interval.end is None and not interval.life


def _after(begun: Interval, end: Moment | None) -> bool:
    return begun.start is not None and end is not None and begun.start.first <= end.last


def _follows(begun: Interval, end: Interval, breaks: list[int]) -> bool:
    """May the end be that of the beginning? A death must be told in the same sentence: it may be another's."""
    if not _after(begun, end.end):
        return False
    return not end.life or _sentence_start(begun.span[1], breaks) == _sentence_start(end.span[0], breaks)


def _described(text: str, found: list[Interval], breaks: list[int]) -> list[Interval]:
    """Add the words beside each interval that say what it is the time of."""
    described: list[Interval] = []
    for at, interval in enumerate(found):
        begin = _sentence_start(interval.span[0], breaks)
        previous = described[-1] if at and found[at - 1].span[1] > begin else None
        after = found[at + 1].span[0] if at + 1 < len(found) else len(text)
        about = _about(text, interval, previous, after, breaks)
        described.append(replace(interval, about=about.strip(" ,;:()-–—\n")))
    return described


def _about(text: str, interval: Interval, previous: Interval | None, after: int, breaks: list[int]) -> str:
    """The words before an interval; where they say nothing, those of the interval before it in its sentence.

    Where it begins its sentence ("From 1885 to 1889 he was ..."), the words after it; where only "He served" stands
    before it, the sentence before.
    """
    start, end = interval.span
    begin = _sentence_start(start, breaks)
    before = text[max(begin, previous.span[1] if previous else begin, start - 160) : start]
    forward = previous is not None and not _says(text[max(begin, previous.span[0] - 160) : previous.span[0]])
    if _says(before) and not forward:
        return before
    if previous is not None and not forward:
        return previous.about
    if not forward and re.search(r"\b(?:he|she|they|it|who|served)\b", before, re.IGNORECASE):
        earlier = _sentence_start(begin - 1, breaks)
        return text[max(earlier, begin - 160) : begin]
    stop = _next_sentence(end, breaks, len(text))
    return text[end : min(stop, max(after, end), end + 160)]


def _sentence_start(place: int, breaks: list[int]) -> int:
    at = bisect_right(breaks, place)
    return breaks[at - 1] if at else 0


def _next_sentence(place: int, breaks: list[int], end: int) -> int:
    at = bisect_right(breaks, place)
    return breaks[at] if at < len(breaks) else end


def _says(words: str) -> bool:
    return any(word not in STOP and word not in _EMPTY for word in re.findall(r"[^\W\d_]+", words.lower()))


_EMPTY = frozenset("again later then first second third twice serving served".split())
