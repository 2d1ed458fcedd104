"""Small readings of text shared by the guards: words without case, accents and punctuation, sentences, stems."""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass

from sleuth.transcript.wording import plain, stem

__all__ = [
    "STOP",
    "Span",
    "Word",
    "find",
    "forms",
    "key",
    "normalised",
    "plain",
    "same",
    "sentences",
    "stem",
    "stems",
    "words",
]

Span = tuple[int, int]

STOP = frozenset(
    """a an the of in on at to for from by with as and or but nor is are was were be been being am do does did has have
    had who whom whose which what when where why how that this these those it its he she they them his her their him i
    you we our your not no than then there here during while until till since into onto about after before between
    through time year day same held hold so such if also only very can could would will shall should may might must
    """.split()
)
"""Words that say nothing of what a text is about."""

_TOKEN = re.compile(
    r"""(?P<number>\d{1,3}(?:,\d{3})+(?!\d))         # 1,063
      | (?P<years>[12]\d{3}[-–—/]\d\d(?!\d|[-–—/]\d)) # 1969-70
      | (?P<initials>(?:\b[A-Z]\.\s?){2,})            # U.S., J. K.
      | (?P<word>[^\W_]+(?:['’](?![sS]\b)[^\W\d_]+)*)    # harrison, o'neill
    """,
    re.VERBOSE,
)
_ARTICLES = frozenset({"a", "an", "the"})
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’)\]]*(?:\s+|$)|\n\s*\n|[。！？]")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Nos|Prof|Gen|Col|Lt|Sgt|Capt|Rev|Hon|Gov|Sen|Rep|Inc|Ltd|Co|Corp|Bros|cf|ca|c"
    r"|approx|est|fl|vol|pp?|ed|op|Mt|Ft|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|e\.g|i\.e|etc)|\b[^\W\d_])\.$"
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word as compared (`form`), and the characters of the text it was read from."""

    form: str
    start: int
    end: int


def normalised(answer: str) -> str:
    """Lower case, no ASCII punctuation, no articles, single spaces (SQuAD's and HotpotQA's scripts, hotpot_evaluate_v1)."""
    bare = "".join(c for c in answer.lower() if c not in string.punctuation)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def key(text: str) -> str:
    """The text's letters, marks and digits alone, case folded: what is left without case, spacing and punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in unicodedata.normalize("NFKC", folded) if unicodedata.category(c)[0] in "LMN")


def same(a: str, b: str) -> bool:
    """Do two texts say the same but for case, spacing and punctuation? Texts of nothing else are compared as they are."""
    left, right = key(a), key(b)
    return left == right if left or right else a.strip() == b.strip()


def words(text: str, *, articles: bool = False) -> tuple[Word, ...]:
    """The text's words, ready for comparison, in order, with their places.

    Case, accents, punctuation, possessives and (unless asked) articles are gone; "1,063" reads 1063, "1969-70" reads
    1969 1970, "U.S." and "J. K." read us and jk.
    """
    found: list[Word] = []
    for match in _TOKEN.finditer(text):
        found.extend(_forms(match))
    if articles:
        return tuple(found)
    return tuple(word for word in found if word.form not in _ARTICLES)


def _forms(match: re.Match[str]) -> list[Word]:
    raw, start, end = match.group(), match.start(), match.end()
    if match.lastgroup == "number":
        return [Word(raw.replace(",", ""), start, end)]
    if match.lastgroup == "years":
        first, second = raw[:4], raw[5:]
        century = int(first[:2]) + (second <= first[2:])
        return [Word(first, start, start + 4), Word(f"{century}{second}", start + 5, end)]
    if match.lastgroup == "initials":
        return [Word("".join(c for c in raw.lower() if c.isalpha()), start, start + len(raw.rstrip()))]
    if raw in ("s", "S") and start and match.string[start - 1] in "'’":
        return []
    return [Word(plain(raw.replace("'", "").replace("’", "")), start, end)]


def find(needle: tuple[str, ...], words_: tuple[Word, ...]) -> int:
    """Where the words of `needle` stand one after the other in `words_` (an index), or -1. No words are nowhere."""
    size = len(needle)
    if not size:
        return -1
    for at in range(len(words_) - size + 1):
        if words_[at].form == needle[0] and all(words_[at + i].form == needle[i] for i in range(1, size)):
            return at
    return -1


def forms(text: str) -> tuple[str, ...]:
    """The forms of the text's words, without their places."""
    return tuple(word.form for word in words(text))


def sentences(text: str) -> tuple[Span, ...]:
    """The spans of the text's sentences, without the space around them. Initials and usual abbreviations end none."""
    spans: list[Span] = []
    begin = 0
    for match in _SENTENCE_END.finditer(text):
        if not _ends(text, match):
            continue
        _append(spans, text, begin, match.end())
        begin = match.end()
    _append(spans, text, begin, len(text))
    return tuple(spans)


def _ends(text: str, match: re.Match[str]) -> bool:
    mark = match.group()
    if mark[0] != "." or mark[:2] == "..":
        return True
    following = text[match.end() : match.end() + 1]
    if following.islower():
        return False
    if following == "" or "\n\n" in mark:
        return True
    return not _ABBREVIATION.search(text[max(0, match.start() - 12) : match.start() + 1])


def _append(spans: list[Span], text: str, begin: int, end: int) -> None:
    piece = text[begin:end]
    body = piece.strip()
    if body:
        start = begin + len(piece) - len(piece.lstrip())
        spans.append((start, start + len(body)))


def stems(text: str) -> frozenset[str]:
    """The stems of the words that say what a text is about."""
    return frozenset(stem(form) for form in forms(text) if form not in STOP)
