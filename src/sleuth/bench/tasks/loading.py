"""From where a set is to its questions and passages: found, recognised, read once, its passages kept as one file."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sleuth.bench.questions import Question
from sleuth.bench.tasks import corpus as corpora
from sleuth.bench.tasks import own, uniform
from sleuth.bench.tasks.fetch import fetched
from sleuth.bench.tasks.files import Source, is_zip
from sleuth.bench.tasks.kinds import Card, Entry, Loader, Paragraph
from sleuth.errors import BadInput, UnknownName

SPLITS = {"train": "train", "dev": "dev", "validation": "dev", "test": "test"}
INTROS = ("wikipedia_intros/corpus.jsonl.gz", "wikipedia_intros/corpus.jsonl")
"""Where a folder of claims in the uniform form finds its passages, beside it."""
_WEB = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_NAMED = re.compile(r"([A-Za-z0-9_-]{2,}):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Opened:
    """A set's file with the loader that reads it, and the card that says what it is."""

    source: Source
    loader: Loader
    card: Card


@dataclass(frozen=True, slots=True)
class Found:
    """All of a set's questions, in the file's order, and where its passages are kept."""

    source: Source
    card: Card
    name: str
    questions: tuple[Question, ...]
    labels: tuple[str, ...]
    corpus: Path | None


def opened(
    where: str | Path, table: Mapping[str, Loader], cards: Mapping[str, Card], *, split: str, cache: Path | None
) -> Opened:
    """The set in that place. Raises `BadInput`, `UnknownName`, `DownloadError`."""
    named, place = _named(where, cards)
    path, member = _path(place, cache)
    if named and named not in table:
        named = ""  # a set that is read in the uniform form alone
    for source in _sources(path, member, table.get(named), split):
        head = source.head()
        if (loader := _loader(head, table, source)) is None:
            continue
        card = cards.get(str(head.get("dataset")), loader.card) if loader is uniform.LOADER else loader.card
        if named and card is not table[named].card:
            raise BadInput(
                f"{source} is no file of {table[named].card.title}: it looks like {card.title.lower()}."
                if loader is own.LOADER
                else f"{source} is no file of {table[named].card.title}: it looks like {card.title}.",
                hint=f"Its files: {', '.join(table[named].card.files)}, from {table[named].card.addresses[0]}.",
            )
        return Opened(source, loader, card)
    raise BadInput(
        f"There are no questions in {path} that can be read.",
        hint=f"Give an official file of {', '.join(table)}, or your own. {own.HINT}",
    )


def _named(where: str | Path, cards: Mapping[str, Card]) -> tuple[str, str]:
    """A set's name ("" where none is given) and the place. Raises `BadInput`, `UnknownName`."""
    text = str(where).strip()
    if text.lower() in cards and not Path(text).exists():
        card = cards[text.lower()]
        raise BadInput(
            f"'{text}' names a set, and says not where it is.",
            hint=f"Give {card.name}:PATH. Its authors publish it at {', '.join(card.addresses)}.",
        )
    match = _NAMED.fullmatch(text)
    if isinstance(where, Path) or match is None or _WEB.match(text):
        return "", text
    if match[1].lower() in cards:
        return cards[match[1].lower()].name, match[2]
    if Path(text).exists():
        return "", text
    raise UnknownName(f"There is no data set named '{match[1]}'.", hint=f"Data sets: {', '.join(sorted(cards))}.")


def _path(place: str, cache: Path | None) -> tuple[Path, str]:
    """The place on this machine, and the file in it that is named behind a "#". Raises `BadInput`, `DownloadError`."""
    base, _, member = place.partition("#")
    if _WEB.match(place) or place.lower().startswith(("file:", "data:")):
        if cache is None:
            raise BadInput(f"{place} is to be downloaded, and no folder is given for it.", hint="Give its path.")
        return fetched(base, cache / "downloads"), member
    try:
        if Path(place).exists():
            return Path(place), ""
        if place and Path(base).exists():
            return Path(base), member
    except (OSError, ValueError) as fault:
        raise BadInput(f"'{place[:80]}' is no path: {fault}.") from fault
    raise BadInput(f"There is no file or folder {place}.", hint="Check the spelling, or give a https:// address.")


def _sources(path: Path, member: str, loader: Loader | None, split: str) -> list[Source]:
    """The files in which the questions may stand, the likeliest first."""
    if not path.is_dir() and not is_zip(path):
        return [Source(path)]
    members = Source(path).members()
    if member:
        members = [one for one in members if one.member == member or one.name == member]
        if not members:
            raise BadInput(f"{path} holds no file '{member}'.", hint="Name one of those in it behind the #.")
    patterns = ("questions.jsonl", *(loader.card.files if loader else ()))

    def order(source: Source) -> tuple[bool, int, bool, str]:
        fits = [i for i, pattern in enumerate(patterns) if fnmatch.fnmatch(source.name, pattern)]
        return (
            bool(split) and named_split(source) != split,
            min(fits, default=99),
            "dev" not in source.name,
            source.member,
        )

    return sorted(members, key=order)


def named_split(source: Source) -> str:
    """The split that a file's name names, "" where it names none."""
    words = re.split(r"[^a-z]+", source.name.lower())
    return next((SPLITS[word] for word in words if word in SPLITS), "")


def _loader(head: Mapping[str, object], table: Mapping[str, Loader], source: Source) -> Loader | None:
    """Who reads a file that begins with this row. A user's own form comes last; in an archive it is not looked for."""
    for loader in (uniform.LOADER, *table.values()):
        if loader.is_row(head):
            return loader
    alone = not source.member
    return own.LOADER if alone else None


def gathered(found: Opened, *, corpus: Path | None, cache: Path | None, split: str) -> Found:
    """Its questions, with the ids of their documents, and its passages in one file. Raises `BadInput`, `EnvironmentFault`."""
    entries: list[Entry] = []
    given = Source(corpus) if corpus is not None else _beside(found)
    if corpus is not None and not corpus.exists():
        raise BadInput(f"There are no passages at {corpus}.", hint="Check the path.")
    reading = _entries(found)
    file: Path | None = None
    same: Mapping[str, str] = {}
    if given is not None:
        entries.extend(replace(one, passages=()) for one in reading)
        if cache is not None:
            file, same = _kept(cache, found, [given], corpora.read(given, found.card.name))
    elif cache is not None:
        companions = [found.source, *_companions(found)]
        file, same = _kept(cache, found, companions, _passages(found, reading, entries))
    entries.extend(replace(one, passages=()) for one in reading)
    questions = _unique(_of_split(entries, found.source, split), found.source)
    if given is not None and file is not None:
        questions = _documented(questions, file, same, replaced=corpus is not None)
    card = found.card
    labels = card.labels or (own.labels(questions) if questions[0].kind == "claim" else ())
    metrics = ("label", "recall_hops") if questions[0].kind == "claim" and not card.labels else card.metrics
    return Found(found.source, replace(card, metrics=metrics), _name(found), questions, labels, file)


def _entries(found: Opened) -> Iterator[Entry]:
    """The entries of the file; what is wrong with a row is said with its place."""
    if found.loader is own.LOADER:
        yield from own.entries(found.source.path)
        return
    make = found.loader.opened(found.source)
    for where, row in found.source.rows():
        try:
            yield make(row)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as fault:
            why = f'"{fault.args[0]}" is missing' if isinstance(fault, KeyError) and fault.args else str(fault)
            raise BadInput(
                f"{where} is no question of {found.card.title}: {why}.", hint="Is it the official file, and whole?"
            ) from fault


def _passages(found: Opened, reading: Iterator[Entry], entries: list[Entry]) -> Iterator[Paragraph]:
    """All passages of the set; the entries they came with are put aside on the way."""
    if found.loader.pages is not None:
        yield from found.loader.pages(found.source)
    for one in reading:
        entries.append(replace(one, passages=()))
        yield from one.passages


def _kept(
    cache: Path, found: Opened, sources: Sequence[Source], passages: Iterable[Paragraph]
) -> tuple[Path | None, Mapping[str, str]]:
    """The file of these passages, written where it is not there yet; None where there are no passages."""
    file = corpora.place(cache / "corpora", found.card.name, sources)
    same = corpora.again(file)
    if same is None:
        same = corpora.kept(passages, file)
    return (file if file.stat().st_size else None), same


def _beside(found: Opened) -> Source | None:
    """Passages with ids of their own, found beside the questions."""
    if found.loader is uniform.LOADER:
        if (near := found.source.beside("corpus.jsonl.gz", "corpus.jsonl")) is not None:
            return near
        folder = found.source.path if found.source.member else found.source.path.parent
        near_by = [folder.resolve().parent / name for name in INTROS] if found.card.labels else []
        return next((Source(path) for path in near_by if path.is_file()), None)
    if found.card.name == "fever" and not found.source.member:
        return found.source.beside("wiki-pages.zip", "wiki-pages.jsonl")
    return None


def _companions(found: Opened) -> list[Source]:
    patterns = found.loader.companions
    file = found.source.beside(*patterns) if patterns else None
    return [file] if file is not None else []


def _of_split(entries: Sequence[Entry], source: Source, split: str) -> list[Entry]:
    if not split:
        return list(entries)
    wanted, fallback = SPLITS.get(split, split), named_split(source)
    chosen = [one for one in entries if (one.split or fallback) in (split, wanted)]
    if not chosen:
        there = Counter(one.split or fallback or "unnamed" for one in entries)
        raise BadInput(f"There is no split '{split}' in {source}.", hint=f"It holds: {', '.join(sorted(there))}.")
    return chosen


def _unique(entries: Sequence[Entry], source: Source) -> tuple[Question, ...]:
    """The questions. Raises `BadInput` for none, for an id that stands twice, and for claims among questions."""
    if not entries:
        raise BadInput(f"There is no question in {source}.", hint=own.HINT)
    kinds = {entry.question.kind for entry in entries}
    if len(kinds) > 1:
        raise BadInput(f"{source} mixes claims with questions.", hint="Put each in a file of its own.")
    counted = Counter(entry.question.id for entry in entries)
    twice = next((name for name, times in counted.items() if times > 1), None)
    if twice is not None:
        raise BadInput(f"The id '{twice[:80]}' stands twice in {source}.", hint="Give each question its own id.")
    return tuple(entry.question for entry in entries)


def _documented(
    questions: Sequence[Question], file: Path, same: Mapping[str, str], *, replaced: bool
) -> tuple[Question, ...]:
    """Ids of gold passages in that file: those the set names, else by title where each title is that of one passage."""
    ids = corpora.by_title(file, {title for one in questions for title in one.supporting})
    done = []
    for one in questions:
        if one.documents and not replaced:
            documents = tuple(dict.fromkeys(same.get(name, name) for name in one.documents))
            parts = tuple(replace(part, document=same.get(part.document, part.document)) for part in one.parts)
            done.append(replace(one, documents=documents, parts=parts))
            continue
        found = [ids.get(corpora.plain(title), ()) for title in one.supporting]
        known = bool(found) and all(len(each) == 1 for each in found)
        parts = tuple(replace(part, document="") for part in one.parts)
        done.append(replace(one, documents=tuple(each[0] for each in found) if known else (), parts=parts))
    return tuple(done)


def _name(found: Opened) -> str:
    if found.loader is own.LOADER or found.card is uniform.CARD:
        return found.source.path.resolve().name.split(".")[0] or "questions"
    return found.card.name


def whole(found: Found) -> str:
    """The set and its file in words."""
    return f"{found.card.title}, {found.source.name}"
