"""The vote of several samples: which answers are one, which has the majority, and whether that can still change.

Self-consistency (Wang et al. 2022, section 2): the most frequent answer among sampled chains of thought is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sleuth.guards import text


def normalised(answer: str) -> str:
    """The answer as HotpotQA's script compares it; one of articles and punctuation alone is itself, so still a vote."""
    return text.normalised(answer) or answer.strip().lower()


@dataclass(slots=True)
class Votes:
    """The answers of `asked` samples, numbered from 0, as they come in; "" is a sample without an answer, and no vote."""

    asked: int
    answers: dict[int, str] = field(default_factory=dict)

    def cast(self, sample: int, answer: str) -> None:
        """What this sample answered."""
        self.answers[sample] = answer.strip()

    @property
    def missing(self) -> int:
        """How many samples have not come in."""
        return self.asked - len(self.answers)

    def ballots(self) -> Mapping[str, tuple[int, ...]]:
        """The samples that voted for each answer (normalised), lowest first; the winner is the first."""
        found: dict[str, list[int]] = {}
        for sample in sorted(self.answers):
            if self.answers[sample]:
                found.setdefault(normalised(self.answers[sample]), []).append(sample)
        return {key: tuple(found[key]) for key in sorted(found, key=lambda key: (-len(found[key]), found[key][0]))}

    def winner(self) -> int | None:
        """The sample that speaks for the majority: its first. Of equal answers, the one whose first sample is lowest."""
        return next((samples[0] for samples in self.ballots().values()), None)

    def share(self) -> float | None:
        """The majority's share of the samples that have come in, with or without an answer; None without a vote."""
        most = max((len(samples) for samples in self.ballots().values()), default=0)
        return most / len(self.answers) if most else None

    def counts(self) -> dict[str, int]:
        """How many votes each answer has, as its first sample wrote it, most first."""
        return {self.answers[samples[0]]: len(samples) for samples in self.ballots().values()}

    def is_settled(self, share: float = 0.0) -> bool:
        """Whether the missing samples, however they vote, change nothing: who wins, and if with that share of all asked.

        A share that is out of reach is settled, too: then it does not matter who wins.
        """
        ballots = list(self.ballots().values())
        most = len(ballots[0]) if ballots else 0
        if not self.missing or (most + self.missing) / self.asked < share:
            return True
        return most / self.asked >= share and bool(ballots) and self._wins(*ballots)

    def _wins(self, leader: tuple[int, ...], *others: tuple[int, ...]) -> bool:
        """Whether no other answer, and no new one, could overtake the leader with all missing votes."""
        lowest = next(sample for sample in range(self.asked) if sample not in self.answers)
        rivals = [(len(samples), min(samples[0], lowest)) for samples in others] + [(0, lowest)]
        return all(
            len(leader) > count + self.missing or (len(leader) == count + self.missing and leader[0] < first)
            for count, first in rivals
        )
