"""The sample library: 90 short articles and 40 multi-hop questions over them.

Both files are JSON Lines in UTF-8. The README beside this module says how they were written.
"""

from __future__ import annotations

import pathlib

_HERE = pathlib.Path(__file__).resolve().parent


def articles_path() -> pathlib.Path:
    """Return the path of the articles file (one ``{"title", "text"}`` object a line)."""
    return _HERE / "articles.jsonl"


def questions_path() -> pathlib.Path:
    """Return the path of the questions file.

    Each line holds ``id``, ``question``, ``answers``, ``supporting``, ``type`` and ``hops``.
    """
    return _HERE / "questions.jsonl"


__all__ = ["articles_path", "questions_path"]
