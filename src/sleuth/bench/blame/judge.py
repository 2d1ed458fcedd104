"""Which repair makes a failed run right, tried one at a time in the order of the chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sleuth.bench.blame.calls import Counted
from sleuth.bench.blame.gold import GoldPage, GoldPassages
from sleuth.bench.blame.places import Sought, at_places, first_place, sought
from sleuth.bench.blame.reading import facts_read, gold_read, intermediates_right, stands_in
from sleuth.bench.blame.repairs import Mend, Mends, Place, mended
from sleuth.bench.folder import Run
from sleuth.bench.metrics.answers import lenient
from sleuth.bench.record import Record
from sleuth.engine import Engine
from sleuth.errors import BadInput, CassetteMiss
from sleuth.ports import Model, Source
from sleuth.trace import Cassette
from sleuth.types import Answer, Budget, Flow

Part: TypeAlias = Literal[
    "decomposition", "query", "retrieval", "reading", "synthesis", "scoring", "label", "none found"
]
PARTS: tuple[Part, ...] = ("decomposition", "query", "retrieval", "reading", "synthesis", "scoring", "label")
NONE: Part = "none found"
_YES_NO = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Repair:
    """What was made right, where, what was answered then, and whether that is right."""

    part: Part
    place: str
    answer: str
    right: bool


@dataclass(frozen=True, slots=True)
class Blamed:
    """The verdict: the part, why, every repair tried, the live calls made. `replayed` is False where the trace no longer holds."""

    part: Part
    evidence: str
    repairs: tuple[Repair, ...] = ()
    calls: int = 0
    replayed: bool = True


async def blame(
    run: Run,
    *,
    model: Model,
    source: Source,
    gold: GoldPassages,
    flow: Callable[[], Flow[Answer]],
    right: Callable[[Answer], bool],
    calls: int = 12,
) -> Blamed:
    """Name the part whose repair makes the answer right, with at most `calls` live model calls (see the package).

    Raises `EnvironmentFault` when the model or the source is down, `BadInput` for a run without a trace.
    """
    record = run.record
    if record is None or record.answer is None:
        return Blamed(NONE, "The run did not end.")
    if right(record.answer):
        return Blamed(NONE, "The answer is right.")
    if record.answer.text and lenient(record.answer.text, run.question.answers):
        return Blamed("scoring", f"'{record.answer.text}' says '{run.question.answers[0]}' in another form.")
    case = Case(run, record, Counted(model, calls), source, gold, flow, right)
    if (miss := await case.not_replayed()) is not None:
        return Blamed(NONE, f"The run no longer replays: {miss}", replayed=False)
    part, evidence = await case.judged()
    return Blamed(part, evidence, tuple(case.repairs), case.model.calls)


class Case:
    """One failed run and what has been tried on it."""

    def __init__(
        self,
        run: Run,
        record: Record,
        model: Counted,
        source: Source,
        gold: GoldPassages,
        flow: Callable[[], Flow[Answer]],
        right: Callable[[Answer], bool],
    ) -> None:
        if record.trace is None or record.answer is None:
            raise BadInput("A run without a trace or an answer cannot be blamed.")
        self.question, self.record, self.answer = run.question, record, record.answer
        self.model, self.source, self.gold, self.right = model, source, gold, right
        self.repairs: list[Repair] = []
        self._short = False
        self._flow = flow
        self._recorded = Cassette.read(record.trace, strict=True)
        budget = record.about.get("budget")
        self._budget = budget if isinstance(budget, Budget) else Budget()

    async def not_replayed(self) -> str | None:
        """Why the trace alone does not give the recorded answer again; None where it does."""
        engine = Engine(self.model, self.source, recording=self._recorded, budget=self._budget)
        try:
            answer = await engine.run(self._flow(), question=self.record.question)
        except CassetteMiss as miss:
            return miss.message.splitlines()[0]
        return None if answer.text == self.answer.text else f"it now answers '{answer.text}'"

    async def judged(self) -> tuple[Part, str]:
        """The verdict and its reason, by the order of the chain."""
        if not self.gold.passages:
            return NONE, "The gold passages are not known."
        reading = await self._read()
        if (told := self._mislabelled(reading)) is not None:
            return "label", told
        missing = self.gold.missing(self.record.seen)
        if missing:
            return await self._looked_up(missing, reading)
        return await self._after_looking_up(reading)

    async def _read(self) -> str | None:
        text = await gold_read(self.model, self.record, self.question, self.gold)
        if text is not None:
            self._tried("reading", "the reader given the gold passages alone", text)
        return text

    def _mislabelled(self, reading: str | None) -> str | None:
        """Why the evidence speaks for our answer and not for the gold label; None where it does not."""
        answers = self.question.answers
        if reading is None or not self.answer.text or any(answer.strip().lower() in _YES_NO for answer in answers):
            return None
        evidence = " ".join(page.text for page in self.gold.pages)
        ours = self.answer.text
        asked = self.question.text
        if any(stands_in(answer, evidence) or stands_in(answer, asked) for answer in answers):
            return None
        if not stands_in(ours, evidence) or not lenient(reading, [ours]):
            return None
        return f"'{ours}' stands in the gold passages and '{answers[0]}' in none; given them alone, the reader says '{reading}'."

    async def _looked_up(self, missing: tuple[GoldPage, ...], reading: str | None) -> tuple[Part, str]:
        places = at_places(self.record, self.gold, missing)
        if not places:
            if reading is not None and self._is_right(reading):
                return "decomposition", f"Nothing was looked up; with the gold passages the reader says '{reading}'."
            return NONE, "Nothing was looked up, and the gold passages alone do not make the answer right."
        known = {place: await sought(self.question, self.source, self.record, place, p) for place, p in places.items()}
        for place in sorted(places, key=lambda each: not known[each].lacking):  # what no query brings comes first
            if (found := await self._one(place, places[place], known[place])) is not None:
                return found
        if (found := await self._all(places, known)) is not None:
            return found
        if self._short:
            return NONE, "The calls were used up."
        if reading is not None and self._is_right(reading):
            return self._not_found(places, known, reading)
        return await self._after_looking_up(reading)

    async def _one(self, place: Place, pages: tuple[GoldPage, ...], known: Sought) -> tuple[Part, str] | None:
        """Repair one look-up: its query where the source has the page for a good one, else its result."""
        titles = ", ".join(page.title for page in pages)
        if known.lacking:
            for at in dict.fromkeys((place, first_place(self.record))):  # where it fits best, and where all began
                for only in (False, True):
                    if await self._mended(
                        "retrieval", {at: Mend(put=pages, only=only)}, f"{at[0]} '{at[1]}' <- {titles}"
                    ):
                        return "retrieval", " ".join(known.lacking)
            return None
        ask = Mend(query=known.query, title=pages[0].title)
        for mend in (ask, replace(ask, put=pages, only=True)):
            if await self._mended("query", {place: mend}, f"{place[0]} '{place[1]}' -> '{known.query}'"):
                shown = ", shown alone" if mend.only else ""
                return "query", f"'{place[1]}' did not find {titles}; '{known.query}' does{shown}."
        return None

    async def _all(
        self, places: Mapping[Place, tuple[GoldPage, ...]], known: Mapping[Place, Sought]
    ) -> tuple[Part, str] | None:
        """Every look-up made right together: it was the way the question was taken apart."""
        if len(places) < 2:
            return None
        mends = {
            place: Mend(query=known[place].query, title=pages[0].title, put=pages) for place, pages in places.items()
        }
        part: Part = "retrieval" if all(each.lacking for each in known.values()) else "decomposition"
        if await self._mended(part, mends, f"{len(places)} look-ups together"):
            return part, f"Right with all of {len(places)} look-ups made right, and with none of them alone."
        return None

    def _not_found(
        self, places: Mapping[Place, tuple[GoldPage, ...]], known: Mapping[Place, Sought], reading: str
    ) -> tuple[Part, str]:
        """No look-up made right was enough on the way it was used; the gold passages themselves are."""
        given = f"Given the gold passages the reader says '{reading}'."
        if lacking := [why for each in known.values() for why in each.lacking]:
            return "retrieval", f"{' '.join(lacking)} {given}"
        titles = ", ".join(page.title for pages in places.values() for page in pages)
        return "query", f"No look-up found {titles}, which good queries do. {given}"

    async def _after_looking_up(self, reading: str | None) -> tuple[Part, str]:
        """Gold was found: was it read wrongly, or put together wrongly?"""
        whole = intermediates_right(self.record, self.question)
        if reading is not None and self._is_right(reading):
            if whole:
                return "synthesis", f"Every intermediate answer is right; the final one, '{self.answer.text}', is not."
            missing = self.gold.missing(self.answer.read)
            told = "it was found and not shown to the reader" if missing else "it stood before the reader"
            return "reading", f"The gold evidence was found ({told}); given alone, it is read as '{reading}'."
        if self.question.parts and any(part.answer for part in self.question.parts):
            text = await facts_read(self.model, self.record, self.question, self.gold)
            if text is not None and self._tried("synthesis", "the gold sub-answers given", text):
                if whole:
                    return "synthesis", "Every intermediate answer is right, and the final one is when they are listed."
                return (
                    "reading",
                    "The gold passages are not read rightly even alone; with the gold sub-answers the answer is right.",
                )
            if text is not None:
                return "synthesis", f"Even with every gold sub-answer before it the model says '{text}'."
        if reading is None:
            return NONE, "The calls were used up."
        return "reading", f"The model cannot read it: given the gold passages alone it says '{reading}'."

    async def _mended(self, part: Part, mends: Mapping[Place, Mend], place: str) -> bool:
        """Run the flow again with these mends. Raises what the model failed with."""
        doing = Mends(mends)
        self.model.short = False
        engine = Engine(
            self.model, self.source, recording=Cassette(self._recorded.events, strict=False), budget=self._budget
        )
        answer = await engine.run(mended(self._flow(), doing), question=self.record.question)
        if self.model.fault is not None:
            raise self.model.fault
        self._short |= self.model.short
        if self.model.short or not doing.made:
            why = "the calls were used up" if self.model.short else "the run no longer comes there"
            self.repairs.append(Repair(part, f"{place} ({why})", "", False))
            return False
        self.repairs.append(Repair(part, place, answer.text, self.right(answer)))
        return self.right(answer)

    def _tried(self, part: Part, place: str, text: str) -> bool:
        self.repairs.append(Repair(part, place, text, self._is_right(text)))
        return self.repairs[-1].right

    def _is_right(self, text: str) -> bool:
        return self.right(replace(self.answer, text=text, status="answered"))
