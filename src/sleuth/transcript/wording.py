"""The words of a text as they are compared: without case, spacing, punctuation; their stems; what asks the same."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

EMPTY = frozenset(
    """a an the of in on at to for by with as and or is are was were be been being am do does did has have had
    what which this that these those it its there so also please tell me i you we my your our can could would
    """.split()
)
"""Words that change nothing of what is asked. Not among them: who, when, where, why and how, before and after, more and
less, first and last, not and never."""

_WORD = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?|[^\W_]+(?:['’][^\W\d_]+)*")
_DENIAL = re.compile(r"\b(?:can|won|shan)['’]t\b|n['’]t\b", re.IGNORECASE)


def plain_words(text: str) -> str:
    """The text's words, without case, spacing and punctuation: two texts that agree here ask the same."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def plain(word: str) -> str:
    """A word without case and accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A crude English stem, good enough to tell that "completed" and "completion" are one word."""
    form = plain(word)
    for ending in ("ations", "ation", "ions", "ion", "ings", "ing", "ment", "ies", "ied", "ed", "es", "e", "s", "y"):
        if form.endswith(ending) and len(form) - len(ending) >= 3:
            form = form[: -len(ending)]
            break
    return form[:-1] if len(form) > 3 and form[-1] == form[-2] else form


def gist(text: str) -> tuple[str, ...]:
    """What is asked, whatever the order and the forms of its words: the stems of its words, sorted, each once.

    Function words are left out; numbers stay as they are ("1,063" is 1063), and so does every denial. A text of
    function words alone has these as its gist. Texts with one gist are near repeats of each other.
    """
    told = _DENIAL.sub(" not ", text)
    words = [found.replace(",", "") if found[0].isdigit() else found for found in _WORD.findall(told)]
    forms = [plain(re.sub(r"['’]s?$|['’]", "", word)) if not word[0].isdigit() else word for word in words]
    kept = [form for form in forms if form not in EMPTY] or forms
    stems = {form if form[:1].isdigit() else stem(form) for form in kept if form}
    return tuple(sorted(stems)) or tuple(plain_words(text).split())
