"""Which prompt each of the model's slots holds, and which slot the next prompt should go to."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile

SAME_ROLE_LOSS = 0.25


@dataclass(slots=True)
class Slot:
    """What a slot holds: the last prompt and reply in it, as tokens, and the role they were for."""

    number: int
    tokens: tuple[int, ...] = ()
    role: str = ""
    busy: int = 0

    def cost(self, prompt: Sequence[int], role: str) -> float:
        """Tokens to read now, and those that will have to be read again because this prompt took their place.

        What is lost of the same role is worth less: the next prompt of that role most likely continues this one.
        """
        shared = common_prefix(self.tokens, prompt)
        lost = len(self.tokens) - shared
        return len(prompt) - shared + lost * (SAME_ROLE_LOSS if role == self.role else 1.0)


class Slots:
    """The slots of one model's process. Thread-safe."""

    def __init__(self, number: int) -> None:
        self._slots = [Slot(i) for i in range(max(1, number))]
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._slots)

    def clear(self) -> None:
        """The process was started anew: all slots are empty."""
        with self._lock:
            for slot in self._slots:
                slot.tokens, slot.role = (), ""

    @contextmanager
    def take(self, prompt: tuple[int, ...], role: str) -> Iterator[Slot]:
        """The free slot in which this prompt costs least; the caller says in `tokens` what it holds in the end.

        After a failed or cancelled call only what was there before is counted on.
        """
        with self._lock:
            slot = min(self._slots, key=lambda slot: (slot.busy, slot.cost(prompt, role), slot.number))
            slot.busy += 1
            slot.tokens, slot.role = prompt[: common_prefix(slot.tokens, prompt)], role
        try:
            yield slot
        finally:
            with self._lock:
                slot.busy -= 1


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many first tokens are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
