"""A recorded run that answers: in the engine (replay, resume), or as a model and a source in tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sleuth.codec import digest as digest_of
from sleuth.errors import CassetteMiss
from sleuth.events import Event, Failed, Finished, Opened, Started
from sleuth.ports import Pieces, Report
from sleuth.trace.files import read_trace
from sleuth.trace.nearest import Recorded, explain
from sleuth.types import (
    Completion,
    Count,
    Generate,
    Listen,
    Listening,
    Message,
    Open,
    Page,
    Passage,
    Read,
    Request,
    Search,
    Similar,
)

T = TypeVar("T")


class Cassette:
    """The events of one run as a recording (`sleuth.engine.Recording`).

    Strict, a request that was never recorded is a `CassetteMiss`; not strict, the engine performs it live.
    """

    def __init__(self, events: Iterable[Event], strict: bool = True) -> None:
        self.events: Sequence[Event] = tuple(events)
        self.strict = strict
        self._recorded: dict[tuple[str, str, int], Recorded] = {}
        by_span: dict[tuple[str, int], Recorded] = {}
        for event in self.events:
            where = (event.span.branch, event.span.number)
            match event.body:
                case Started(request, digest, ordinal):
                    entry = Recorded(event.span.branch, request, digest, ordinal)
                    by_span[where] = self._recorded[entry.branch, digest, ordinal] = entry
                case Finished() | Failed() if where in by_span:
                    by_span[where].outcome = event.body

    @classmethod
    def read(cls, path: Path, strict: bool = True) -> Cassette:
        """The cassette of a trace file. Raises `BadInput` as `read_trace` does."""
        return cls(read_trace(path), strict)

    def find(self, branch: str, digest: str, ordinal: int) -> Finished | Failed | None:
        """How that request ended; None when it was not recorded, or had not ended (see `started`)."""
        entry = self._recorded.get((branch, digest, ordinal))
        return entry.outcome if entry else None

    def started(self, branch: str, digest: str, ordinal: int) -> bool:
        """Whether that request was recorded, with an outcome or (it was cancelled, the run was killed) without."""
        return (branch, digest, ordinal) in self._recorded

    def miss(self, request: Request[Any], branch: str, digest: str, ordinal: int) -> CassetteMiss:
        """The error for a request that was not recorded; its text shows the nearest one as a unified diff."""
        return explain(request, branch, digest, ordinal, list(self._recorded.values()))

    def model(self) -> CassetteModel:
        """A new `sleuth.ports.Model` that replies as recorded, whichever branch asks."""
        return CassetteModel(self)

    def source(self) -> CassetteSource:
        """A new `sleuth.ports.Source` that answers as recorded, whichever branch asks."""
        return CassetteSource(self)

    def entries(self) -> Sequence[Recorded]:
        """Every recorded request with its outcome, in the order they were started."""
        return tuple(self._recorded.values())

    @property
    def about(self) -> Mapping[str, Any]:
        """What the run was opened with."""
        return next((event.body.about for event in self.events if isinstance(event.body, Opened)), {})


class _Tape:
    """Outcomes by digest, each given once, in the order they were recorded. A miss is a `CassetteMiss`."""

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        self._asked: dict[str, int] = {}
        self._outcomes: dict[str, list[Finished | Failed]] = {}
        for entry in cassette.entries():
            outcome, digest = entry.outcome, entry.digest
            if isinstance(entry.request, Listen):
                outcome, digest = _heard(cassette, entry), digest_of(entry.request.generate)
            if outcome is not None:
                self._outcomes.setdefault(digest, []).append(outcome)

    def take(self, request: Request[T]) -> T:
        digest = digest_of(request)
        ordinal = self._asked.get(digest, 0)
        outcomes = self._outcomes.get(digest, [])
        if ordinal >= len(outcomes):
            raise self._cassette.miss(request, "", digest, ordinal)
        self._asked[digest] = ordinal + 1
        outcome = outcomes[ordinal]
        if isinstance(outcome, Failed):
            raise outcome.error.again()
        value: T = outcome.value
        return value


def _heard(cassette: Cassette, listen: Recorded) -> Finished | Failed | None:
    """How a call that was read piece by piece ended: its last `Read`."""
    if not isinstance(listen.outcome, Finished) or not isinstance(listen.outcome.value, Listening):
        return listen.outcome
    for entry in cassette.entries():
        of_this = isinstance(entry.request, Read) and entry.request.listening == listen.outcome.value
        if of_this and entry.branch == listen.branch and _is_end(entry.outcome):
            return entry.outcome
    return None


def _is_end(outcome: Finished | Failed | None) -> bool:
    return isinstance(outcome, Failed) or (isinstance(outcome, Finished) and isinstance(outcome.value, Completion))


class CassetteModel:
    """A model that gives the recorded replies to the recorded prompts, and nothing else."""

    def __init__(self, cassette: Cassette) -> None:
        self.name = f"cassette:{cassette.about.get('model', '')}"
        self._tape = _Tape(cassette)
        self._counts = {
            entry.request.text: entry.outcome.value
            for entry in cassette.entries()
            if isinstance(entry.request, Count) and isinstance(entry.outcome, Finished)
        }

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        """The recorded reply (its text as one piece), or the recorded error. Raises `CassetteMiss`."""
        completion = self._tape.take(request)
        if pieces is not None:
            pieces(completion.text)
        return completion

    async def count(self, messages: Sequence[Message]) -> int:
        """The recorded count; for another text its bytes in UTF-8, which tokens never exceed."""
        text = "".join(message.content for message in messages)
        count: int = self._counts.get(text, len(text.encode("utf-8", "surrogatepass")))
        return count

    def price(self, read: int, written: int) -> float:
        """0.0: nothing is bought."""
        return 0.0

    async def aclose(self) -> None:
        """Nothing is held."""


class CassetteSource:
    """A source that gives the recorded results to the recorded searches and titles, and nothing else."""

    def __init__(self, cassette: Cassette) -> None:
        self.name = f"cassette:{cassette.about.get('source', '')}"
        self._tape = _Tape(cassette)

    async def search(self, request: Search, *, report: Report) -> tuple[Passage, ...]:
        """The recorded passages, or the recorded error. Raises `CassetteMiss`."""
        return self._tape.take(request)

    async def open(self, request: Open, *, report: Report) -> Page | Similar:
        """The recorded page, or the recorded error. Raises `CassetteMiss`."""
        return self._tape.take(request)

    async def aclose(self) -> None:
        """Nothing is held."""
