"""Which half of an evaluation set a question belongs to: develop on one, report the other.

The half depends on the question's id alone, so it is the same on every machine and for every version of a set.
"""

from __future__ import annotations

import hashlib
from typing import Literal


def half(question_id: str) -> Literal["develop", "report"]:
    """"develop" or "report", by the parity of the id's SHA-256."""
    return "report" if hashlib.sha256(question_id.encode()).digest()[-1] % 2 else "develop"
