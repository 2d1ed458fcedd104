"""What an unknown name is nearest to, said in one paragraph."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from sleuth.errors import UnknownName


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like this one (case does not count), or None when none is close."""
    folded = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def listing(names: Iterable[str]) -> str:
    """The names in order, joined by commas; "none" when there are none."""
    return ", ".join(sorted(names)) or "none"


def suggestion(name: str, known: Iterable[str]) -> str:
    """ "Did you mean X?" when something is close, else ""."""
    close = nearest(name, known)
    return f"Did you mean '{close}'?" if close else ""


def unknown(kind: str, name: str, known: Iterable[str], *, command: str = "") -> UnknownName:
    """The error for a name that is not there: the nearest, all that exist, and the command that lists them."""
    names = list(known)
    hint = f"{suggestion(name, names)} Known: {listing(names)}.".strip()
    if command:
        hint = f"{hint} Try: {command}"
    return UnknownName(f"There is no {kind} named '{name}'.", hint=hint, name=name)
