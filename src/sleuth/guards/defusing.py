"""Outside text made harmless: a scaffold's labels inside a passage must not be read as the model's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

Span = tuple[int, int]

LABELS: tuple[str, ...] = (
    "Question:",
    "Follow up:",
    "Are follow up questions needed here:",
    "Intermediate answer:",
    "So the final answer is:",
    "Final Answer:",
    "Answer:",
    "Thought:",
    "Action:",
    "Action Input:",
    "Observation:",
    "Plan:",
    "Step 1:",
    "Passage 1:",
    "Context:",
)
"""The labels of the scaffolds. A number in a label stands for any number, and may stand before any label's colon."""

MARKS: tuple[str, ...] = (
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|begin_of_text|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
)
"""The marks of chat templates: these are defused whatever the labels."""

_BETWEEN = r"[\s*_`#-]*"
_TWINS = {
    ":": "∶ː",
    "<": "‹⟨",
    "[": "⁅⟦",
    "a": "а",
    "e": "е",
    "o": "о",
    "c": "с",
    "p": "р",
    "i": "і",
    "s": "ѕ",
    "x": "х",
}
"""Look-alikes that neither case folding nor NFKC turns back; marks are changed rather than letters."""


@lru_cache(maxsize=64)
def pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Matches each label in any case, with any space, hyphen and Markdown between its words.

    Any number stands for its number, and a number may stand before its colon ("Action:" matches "Action 2:").
    """
    wanted = sorted({label.strip() for label in labels if label.strip()}, key=len, reverse=True)
    if not wanted:
        return re.compile(r"(?!)")
    first = "".join(sorted({r"\d" if label[0].isdigit() else re.escape(label[0]) for label in wanted}))
    return re.compile(f"(?=[{first}])(?:{'|'.join(_loose(label) for label in wanted)})", re.IGNORECASE)


def _loose(label: str) -> str:
    parts = re.findall(r"\d+|[^\W\d_]+|\S", label)
    if parts[-1].isalnum():
        parts.append(":")
    numbered = len(parts) > 1 and parts[-2].isdigit()
    loose = [r"\d+" if part.isdigit() else re.escape(part) for part in parts]
    if parts[-1] == ":" and not numbered:
        loose[-1] = rf"(?:\d+{_BETWEEN})?:"
    return _BETWEEN.join(loose)


def defuse(text: str, labels: Iterable[str] = LABELS) -> str:
    """The text with one character of each label and chat mark in it changed for a look-alike, so that none matches.

    The length stays, so a span of the result is the same span of the text; everything outside labels is unchanged.
    A label that ends in a letter or a number ("Passage") stands for itself with a colon: mentions without one stay.
    """
    chosen = (*labels, *MARKS)
    matcher = pattern(chosen)
    avoid = frozenset("".join(chosen).lower())
    while matcher.search(text):
        text = matcher.sub(lambda match: _changed(match.group(), avoid), text)
    return text


def _changed(label: str, avoid: frozenset[str]) -> str:
    """The label with one character changed for one that no label has: so it can be part of no match again."""
    for at in sorted(range(len(label)), key=lambda i: (label[i].isalpha(), -i)):
        for twin in _TWINS.get(label[at].lower(), ""):
            if twin not in avoid:
                return label[:at] + twin + label[at + 1 :]
    return label[:-1] + next(c for c in map(chr, range(0x2022, 0x2FFF)) if c not in avoid and not c.isspace())


def original_span(span: Span) -> Span:
    """Where a span of a defused text stands in the text it was made from: in the same place."""
    return span


def undefuse(quote: str, original: str, labels: Iterable[str] = LABELS) -> str | None:
    """The run of `original` that a quote from its defused form stands for, or None when it is not there."""
    at = original.find(quote)
    if at < 0:
        at = defuse(original, labels).find(quote)
    return original[at : at + len(quote)] if at >= 0 else None
