"""Is this a question one can work with?"""

from __future__ import annotations

import unicodedata

from sleuth.errors import BadInput

MOST_CHARACTERS = 20_000


def checked(question: str, *, window: int | None = None) -> str:
    """The question without control characters and outer spaces.

    `window` is the model's, in tokens; half of it is kept for passages and answers, and a token is taken as four
    characters. Raises `BadInput` when the question is empty, too long, or only punctuation.
    """
    if not isinstance(question, str):
        raise BadInput(f"A question is text, not {type(question).__name__}.")
    clean = "".join(_shown(character) for character in question).strip()
    if not clean:
        raise BadInput("The question is empty.", hint='Try: sleuth ask "Who designed the Eiffel Tower?"')
    if not any(unicodedata.category(each) == "So" or unicodedata.category(each)[0] in "LN" for each in clean):
        raise BadInput("The question holds no words.", hint='Try: sleuth ask "Who designed the Eiffel Tower?"')
    most = min(MOST_CHARACTERS, 2 * window) if window else MOST_CHARACTERS
    if len(clean) > most:
        raise BadInput(
            f"The question has {len(clean):,} characters; at most {most:,} fit.",
            hint="Put long text into a file, index it (sleuth index FILE --library NAME), and ask a short question about it.",
        )
    return clean


def _shown(character: str) -> str:
    if character in "\n\t":
        return character
    kind = unicodedata.category(character)
    if kind == "Cc":
        return " " if character.isspace() else ""
    return "" if kind == "Cs" else character
