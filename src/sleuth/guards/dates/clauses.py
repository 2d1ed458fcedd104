"""Questions of the form "who held X when Y happened": their parts, and the date of Y in a passage. By grammar alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache

from sleuth.guards.dates.interval import intervals
from sleuth.guards.dates.moment import Moment, Span, iso, moments, parse, scan
from sleuth.guards.dates.verbs import AUXILIARIES, IRREGULAR, base, is_past
from sleuth.guards.text import STOP, forms, sentences, stem, words

LONGEST = 2_000
"""Questions of more characters than this are not taken apart: nobody asks so, and the patterns would take seconds."""
MOST = 100
"""How many dates of a text `moment_for` weighs, from its beginning; a passage has a handful."""

_ASKS = r"(?:who(?:se)?|which|what|in which|name|by whom|under whom|under which|under what)\b"
_STATE = (
    r"\b(?:was|were|is|are|had been|has been|held|led|leads|served|serves|serving|ruled|reigned|governed|headed|heads"
    r"|ran|runs|owned|owns|occupied|commanded|coached|managed|captained|chaired|presided|sat|played for|lived|worked"
    r"|employed|in (?:office|power|charge|command)|on the throne)\b"
)
_AT = (
    r"(?:at|by|around) the (?:same )?(?:time|moment|date|point)(?: (?:of|when|that|in which|at which))?"
    r"|(?:in|during) the (?:same )?(?:calendar )?(?:year|month|decade|century|season)(?: (?:of|when|that|in which|during which|as))?"
    r"|on the (?:same )?(?:day|date)(?: (?:of|when|that|on which|as))?"
)
_EVENT = (
    rf"(?:{_AT}|as of|upon|when|while|during|the (?:same )?(?:year|day|month)(?: (?:that|when|in which|on which))?)"
)
_PRONOUN = re.compile(r"(?:he|she|it|they|this|that|these|those|i|you|we)\b(?!\s+of\b)", re.IGNORECASE)


@cache
def _middle() -> re.Pattern[str]:
    """Main clause, connector, event."""
    return re.compile(rf"(?P<main>{_ASKS}.*?),?\s(?P<by>{_EVENT})\s+(?P<event>\S.*)", re.IGNORECASE | re.DOTALL)


@cache
def _front() -> re.Pattern[str]:
    """Connector, event, main clause."""
    return re.compile(
        rf"(?P<by>{_EVENT})\s+(?P<event>\S.*?),\s*(?:and\s)?(?P<main>{_ASKS}.*)", re.IGNORECASE | re.DOTALL
    )


def _parts(question: str) -> tuple[str, str, str] | None:
    """Main clause, connector and event of a question that has them."""
    if len(question) > LONGEST:
        return None
    asked = " ".join(question.split()).rstrip(" ?.!")
    match = _front().fullmatch(asked) or _middle().fullmatch(asked)
    if match is None:
        return None
    main, by, event = match["main"].strip(" ,"), match["by"].lower(), match["event"].strip(" ,")
    if len(main.split()) < 2 or (by.startswith("the ") and len(event.split()) < 2):
        return None
    return main, by, event


def is_time_question(question: str) -> bool:
    """Does it ask who or what held a role or a state at a time, told by an event or a date?

    "Who was X when Y ...?", "At the time of Y, who ...?", "Who led X in the year that Y ...?", "Who was X in 1889?".
    """
    parts = _parts(question)
    if parts is not None:
        main, by, _ = parts
        return _has_state(main) or by not in ("when", "while", "during", "upon", "as of")
    asks = re.match(_ASKS, question.strip(), re.IGNORECASE) is not None
    return asks and _has_state(question) and asked_moment(question) is not None


def _has_state(main: str) -> bool:
    return re.search(_STATE, main, re.IGNORECASE) is not None and not re.search(r"\bborn\b", main)


def event_of(question: str) -> str | None:
    """The event that tells the time ("the Eiffel Tower was completed"), as the question words it; None without one."""
    parts = _parts(question)
    if parts is None or not is_time_question(question):
        return None
    dated = moments(parts[2])
    return None if dated and dated[0].span == (0, len(parts[2])) else parts[2]


def role_of(question: str) -> str | None:
    """The main clause, which asks for the holder ("Who was US president"); None when it is no question about a time."""
    if not is_time_question(question):
        return None
    asked = " ".join(question.split()).rstrip(" ?.!")
    parts = _parts(question)
    main = parts[0] if parts else _undated(asked)
    return main[:1].upper() + main[1:] if main else None


def _undated(question: str) -> str:
    named = _asked(question)
    if named is None:
        return question
    before = re.sub(
        r"[,\s]*(?:as of|(?:in|on|during|at|of|by)(?: the)?(?: (?:year|month))?(?: of)?)\s*$",
        "",
        question[: named.span[0]],
    )
    return " ".join(f"{before} {question[named.span[1] :]}".split()).strip(" ,")


_AT_DATE = re.compile(
    r"\b(?:in|on|during|as of|at|around|by)\s+(?:the\s+)?(?:(?:calendar\s+)?(?:year|month|summer|winter|spring|autumn|fall)"
    r"(?:\s+of)?\s+)?(?:the\s+)?(?:early|mid|late)?[\s-]*$",
    re.IGNORECASE,
)


def asked_moment(question: str) -> str | None:
    """The date at which a question asks for something ("... in March 1889?"), in ISO form; None without one.

    A year must follow a preposition (in, on, during, as of, by ...); the year in "the 1998 World Cup", in a title
    ("2001: ...") or after "born in" is none. Of several dates, the most exact.
    """
    named = _asked(question)
    return None if named is None else iso(named)


def _asked(question: str) -> Moment | None:
    if len(question) > LONGEST:
        return None
    found = [moment for moment in moments(question) if _is_asked(question, moment)]
    return min(found, key=lambda moment: moment.days, default=None)


def _is_asked(question: str, moment: Moment) -> bool:
    before, after = question[: moment.span[0]], question[moment.span[1] :]
    if re.search(
        r"\b(?:born|died|founded|published|released|built|before|after|since|until)\W+(?:\w+\W+){0,2}$",
        before,
        re.IGNORECASE,
    ):
        return False
    if not _AT_DATE.search(before):
        return moment.precision == "day" and not re.match(r"\s+[A-Za-z]", after)
    return (
        re.match(r"\s*[,?.!;)]|\s*$|\s+(?:who|which|what|when|was|were|is|are|did|and|or|in|at|of|for|to|by)\b", after)
        is not None
    )


def when_question(event: str) -> str | None:
    """A question for the event's date: "the Eiffel Tower was completed" -> "When was the Eiffel Tower completed?".

    None for an event that does not stand alone ("he was born", or nothing).
    """
    clause = " ".join(event[: LONGEST + 1].split()).strip(" ?.!,")
    if not clause or len(event) > LONGEST or not forms(clause) or _PRONOUN.match(clause):
        return None
    tokens = clause.split(" ")
    at = _verb(tokens)
    if at is None:
        return f"When was {clause}?"
    subject, verb, rest = " ".join(tokens[:at]), tokens[at].lower(), " ".join(tokens[at + 1 :])
    if verb not in AUXILIARIES:
        verb, rest = "did", f"{base(verb)} {rest}".strip()
    elif verb in ("had", "has", "have") and rest.startswith("been "):
        verb, rest = "was", rest[5:]
    elif verb in ("had", "has", "have") and not (rest and is_past(rest.split(" ")[0].lower())):
        verb, rest = "did", f"have {rest}".strip()
    return f"When {verb} {subject} {rest}".strip() + "?"


_NO_VERB_AFTER = frozenset(
    "a an the its his her their our of in on at by for with and or first last newly most".split()
)


def _verb(tokens: list[str]) -> int | None:
    """The index of the main clause's first verb, an auxiliary or a past tense; those of relative clauses are passed over."""
    found = [at for at in range(1, len(tokens)) if _may_be_verb(tokens, at)]
    for at in [at for at, token in enumerate(tokens) if token.lower() in _RELATIVE]:
        own = [verb for verb in found if verb > at][:1]
        if own and tokens[own[0]].lower() in AUXILIARIES:
            own = [verb for verb in found if own[0] <= verb <= own[0] + 2]
        if len(found) > len(own):
            found = [verb for verb in found if verb not in own]
    if not found:
        return None
    helping = [at for at in found if tokens[at].lower() in AUXILIARIES]
    # A participle may stand before the auxiliary ("the tower designed by Eiffel was completed").
    return helping[0] if helping and tokens[found[0]].endswith("ed") else found[0]


_RELATIVE = frozenset("that which who whom where".split())


def _may_be_verb(tokens: list[str], at: int) -> bool:
    word, before = tokens[at], tokens[at - 1].lower().strip(",;")
    return word.lower() in AUXILIARIES or (is_past(word) and before not in _NO_VERB_AFTER)


# --- the date of an event in a passage ---------------------------------------------------------------------------

_ALIKE = (
    "complete finish conclude open inaugurate",
    "begin began begun start commence break broke",
    "found establish create form",
    "die died death dead kill assassinate murder",
    "born birth",
    "win won victory",
    "release publish launch issue",
    "build built construct erect",
    "become became elect appoint",
    "fire remove oust dismiss",
    "cut reduce lower slash",
    "land landing",
)


@cache
def _groups() -> dict[str, int]:
    return {_root(word): at for at, row in enumerate(_ALIKE) for word in row.split()}


def moment_for(event: str, text: str, *, title: str = "") -> Moment | None:
    """The date, among those a passage tells, that is the date of the event; None when nothing links one to it.

    `event` is a clause, a When question for it, or a whole question of which it is part. Sentences are judged by the
    words they share with it, dates within one by their distance from its verb, counted in words; a comma, an "and" or
    another date between the two keeps them apart. Births and deaths count only for events that are one. The passage,
    or its `title`, must name something of the event besides the verb, unless the verb is there word for word and no
    title is given.
    """
    wish = _wish(event)
    known = {_root(form) for form in forms(f"{title} {text}")}
    named = not wish.rest or bool(wish.rest & known)
    if not wish.verb or (not named and (title or wish.verb not in known)):
        return None
    scored: list[tuple[float, int, Moment]] = []
    spans = sentences(text)
    starts = [start for start, _ in spans]
    for order, moment in enumerate(_eligible(text, wish)[:MOST]):
        span = spans[max(0, bisect_right(starts, moment.span[0]) - 1)]
        score = _score(text, span, moment, wish)
        if score is not None:
            scored.append((score, -order, moment))
    return max(scored, key=lambda one: one[:2])[2] if scored else None


@dataclass(frozen=True, slots=True)
class _Wish:
    """An event as it is looked for: its verb (a root), and its other content words."""

    verb: str
    rest: frozenset[str]

    def like(self, word: str) -> bool:
        """Is the verb one of the group of `word`?"""
        return _groups().get(self.verb) == _groups()[_root(word)]


def _wish(event: str) -> _Wish:
    clause = " ".join((event_of(event) or event)[:LONGEST].split()).rstrip(" ?.!")
    asked = re.fullmatch(r"when (?P<aux>was|were|is|did|had|has) (?P<clause>.+)", clause, re.IGNORECASE)
    tokens = (asked["clause"] if asked else clause).split()
    at = _asked_verb(tokens) if asked else _verb(tokens)
    wanted = [_root(form) for form in forms(" ".join(tokens)) if form not in STOP and not form[0].isdigit()]
    following = [] if at is None else [_root(form) for form in forms(" ".join(tokens[at:])) if form not in STOP]
    verb = next(iter([*following, *reversed(wanted)]), "")
    return _Wish(verb, frozenset(wanted) - {verb})


def _asked_verb(tokens: list[str]) -> int | None:
    """The verb of "When did S V ...?" or "When was S V ...?": the first word that is one by its form."""
    bases = frozenset(IRREGULAR.values())
    return next((at for at in range(1, len(tokens)) if is_past(tokens[at]) or tokens[at] in bases), None)


def _root(form: str) -> str:
    return stem(IRREGULAR.get(form, form))


def _eligible(text: str, wish: _Wish) -> list[Moment]:
    """The dates of the passage that may be an event's: births and deaths only for events that are one."""
    lives = [i for i in intervals(text) if i.life]
    born = set() if wish.like("born") else {i.start for i in lives}
    died = set() if wish.like("died") else {i.end for i in lives}
    return [moment for moment in moments(text) if moment not in born and moment not in died]


def _score(text: str, sentence: Span, moment: Moment, wish: _Wish) -> float | None:
    """Words shared, the verb's weight, and nearness to the verb (else to any shared word). None when nothing is shared."""
    here = [(_root(word.form), word.start + sentence[0]) for word in words(text[sentence[0] : sentence[1]])]
    shared = [at for form, at in here if form in wish.rest]
    exact = [at for form, at in here if form == wish.verb]
    group = _groups().get(wish.verb)
    alike = [at for form, at in here if group is not None and _groups().get(form) == group]
    anchors = exact or alike or shared
    if not anchors:
        return None
    vital = wish.like("born") or wish.like("died")
    life = vital and any(i.life and moment in (i.start, i.end) for i in intervals(text))
    weight = 3.0 if exact or life else 1.5 if alike else 0.0
    near = min(_distance(text, at, moment) for at in anchors)
    return len({form for form, _ in here} & wish.rest) + weight + 2.0 / (1.0 + near / 3)


def _distance(text: str, at: int, moment: Moment) -> float:
    start, end = moment.span
    between = text[at:start] if at < start else text[end:at]
    steps = between.count(" ")
    apart = len(re.findall(r",(?!\s*\d{4})|;|:|\b(?:and|but|while|after|before|when|until)\b", between))
    others = sum(1 for other in scan(text) if other != moment and min(at, end) <= other.span[0] < max(at, start))
    return steps + 4 * apart + 8 * others


def spoken(when: str) -> str:
    """An ISO date as people write it: "1889-03-31" -> "31 March 1889", "1889-03" -> "March 1889"; others as they are."""
    days = parse(when)
    match = re.fullmatch(r"\s*\d{4}-\d\d(-\d\d)?\s*", when)
    if days is None or match is None:
        return when.strip()
    month = f"{days[0]:%B} {days[0].year}"
    return f"{days[0].day} {month}" if match[1] else month
