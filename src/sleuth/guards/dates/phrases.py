"""The words between and beside dates that tell what time they bound."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_DAY = r"\s*(?:(?:the|about|around|circa|c\.|ca\.|at least)\s+)*"
_ROLE = (
    r"(?:president|prime minister|premier|minister|secretary|chancellor|king|queen|emperor|empress|monarch|pope|tsar"
    r"|chief executive|CEO|chair(?:man|woman|person)?|head|leader|director|governor|mayor|senator|speaker|champion"
    r"|captain|coach|manager|ambassador|commander|sultan|shah|caliph|editor|principal)"
)
_TIME = r"(?:presiden|reign|term|tenure|rule|premiership|papacy)\w*"
_NO_OFFICE = rf"(?!\s(?:an?|law|known|famous|widely|part|effective|increasingly|popular|available)\b(?!\s(?:\w+\s){{0,2}}{_ROLE}))"
_STARTS = (
    r"\b(?:took (?:over|office|charge|power|the (?:throne|oath|helm|post|position))|assum(?:ed|ing)|sworn in(?:to)?"
    rf"|(?:becam?e|becoming)\b{_NO_OFFICE}|inaugurated as|was inaugurated|appointed|return(?:ed|ing)|reinstated|rejoined"
    r"|succeed(?:ed|ing)|acceded|ascended|crowned|enthroned|has (?:been|served|led|held|headed|ruled|reigned)"
    r"|entered office|installed as|promoted to|named as|came to (?:power|the throne)"
    rf"|{_TIME}\b[^.]{{0,60}}?\b(?:began|begun|started|commenced))\b"
)
_OUT = r"(?:removed|ousted|dismissed|fired|deposed|expelled|overthrown|toppled)"
_ENDS = (
    r"\b(?:(?:left|leaving) (?:office|the (?:post|position|company|presidency|throne|job|role|board|team|club|government))"
    r"|stepped down|stood down|stepping down|resign(?:ed|ing|ation)|retire(?:d|ment)|ended(?=\s(?:in|on|by|at)\b)"
    rf"|(?:was|were|been|being) {_OUT}|{_OUT} (?:him|her|them|(?-i:[A-Z])\w+)|oust(?:er|ing)|dismissal|removal"
    r"|abdicat(?:ed|ion)|replaced by|departed|(?:was|were) succeeded|lost (?:power|office)|assassinat(?:ed|ion)|died"
    r"|death)\b"
)
_HELD = rf"(?:was|served as)\s(?:(?!by\b|candidate|nominee|for\b|made\b|chosen\b|\w+ed\b)\w+\s){{0,4}}?{_ROLE}\b"
_UNTIL = r",?\s*(?:and )?(?:(?:until|till)|to (?=(?:his|her|its|their|the)\b))\s?"
_TURN = (
    rf"(?P<start>{_STARTS}|\b(?P<elected>elected|chosen)(?= (?:the |as )*(?:\w+ ){{0,3}}{_ROLE}\b)"
    rf"|\b(?P<then>then|later)\s(?:(?:as|the)\s)*(?:\w+\s){{0,3}}{_ROLE}\b)|(?P<end>{_ENDS})"
)

OFFICE_WORDS = frozenset(
    """president minister governor chancellor king queen mayor senator secretary era dynasty empire republic war period
    age reich kingdom ceo chairman shogunate caliphate sultanate raj emperor premier term terms pope director captain
    coach manager speaker office reign season seasons revolution crisis depression""".split()
)
"""What stands before a bracket whose years are no life: "Prime Minister (1934-1937)"."""


@dataclass(frozen=True, slots=True)
class Phrases:
    """Compiled patterns. Those named `*_to` match from one date up to another, `before_*` end at a date, `after_*` begin there."""

    to: re.Pattern[str]
    until_event_to: re.Pattern[str]
    after_same_year: re.Pattern[str]
    before_between: re.Pattern[str]
    before_since: re.Pattern[str]
    before_first_since: re.Pattern[str]
    before_until: re.Pattern[str]
    after_onward: re.Pattern[str]
    before_held: re.Pattern[str]
    after_held: re.Pattern[str]
    turn: re.Pattern[str]
    before_born: re.Pattern[str]
    before_died: re.Pattern[str]
    kin: re.Pattern[str]
    in_office: re.Pattern[str]


@cache
def phrases() -> Phrases:
    """The patterns, compiled at first use. `turn` finds verbs that begin (group start) or end a time in office."""
    flags = re.IGNORECASE
    return Phrases(
        to=re.compile(
            rf",?\s*(?:(?:and )?(?:up )?(?:to|till|until|through|thru)\b|[-–—/])(?: (?:on|in))?{_DAY}"
            r"(?:(?:beginning|middle|start|end) of )?",
            flags,
        ),
        until_event_to=re.compile(rf"{_UNTIL}(?:[^\s.;,()]+\s){{1,8}}(?:in|on|of)\s(?:the\s)?(?:\w+ of\s)?", flags),
        after_same_year=re.compile(rf"{_UNTIL}(?:[^\s.;()]+\s){{0,8}}(?:later )?(?:that|the)(?: same)? year\b", flags),
        before_between=re.compile(rf"\bbetween{_DAY}$", flags),
        before_since=re.compile(rf"\bsince(?: (?:early|late|mid))?{_DAY}$", flags),
        before_first_since=re.compile(
            r"\b(?:first|best|worst|most|greatest|largest|highest|lowest|only|latest)\b[^.;]*\bsince\b", flags
        ),
        before_until=re.compile(rf"\b(?:until|till|up to|through)(?: (?:on|in))?{_DAY}$", flags),
        after_onward=re.compile(
            r",?\s*(?:(?:-|–|—|to|until|till|through)\s*(?:the\s+)?(?:present|today|now|date|current)\b|onwards?\b"
            r"|on\b(?= *[.,;)]|$)|and (?:still|continues)\b|[-–—]\s*(?=\)))",
            flags,
        ),
        before_held=re.compile(
            rf"\b{_HELD}(?:(?!\b(?:until|from|since|before|after|and)\b)[^.;,]){{0,50}}\s(?:in|during)\s$", flags
        ),
        after_held=re.compile(rf",?\s(?:[\w.]+\s){{1,3}}{_HELD}", flags),
        turn=re.compile(_TURN, flags),
        before_born=re.compile(r"(?:\bborn\b|\bb\.)[^.;]{0,60}$", flags),
        before_died=re.compile(r"(?:\bdied\b|\bdeath\b|\bd\.)[^.;]{0,40}$", flags),
        kin=re.compile(
            r"\b(?:wife|husband|widow|father|mother|parents?|sons?|daughters?|brothers?|sisters?|child(?:ren)?)\b",
            flags,
        ),
        in_office=re.compile(r"\b(?:reign\w*|r\.|ruled|served|office|president|fl\.|active)", flags),
    )
