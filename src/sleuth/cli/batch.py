"""``sleuth ask --file``: a line for each question in the file's order, how far it is, and what failed at the end."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from sleuth.cli.answers import ANSWERED, ENVIRONMENT, NO_ANSWER, as_json, many
from sleuth.cli.screen import Output, prints_apart, put, stderr, stdout
from sleuth.cli.text import one_line
from sleuth.errors import BadInput

if TYPE_CHECKING:
    from sleuth.app.batch import Again, Outcome
    from sleuth.app.batch_folder import Questions
    from sleuth.app.batching import Batching
    from sleuth.app.settings import Settings

EVERY = 30.0
"""Seconds between two lines of progress where stderr is no terminal."""
LISTED = 20
"""Kinds of failure that are shown."""
NAMED = 5
"""Questions that are named for each."""
MOST = 64 << 20
"""Bytes of standard input that are read."""
TABLE = re.compile(rb"[^\n]*\bquestion\b[^\n?]*(?:\n|$)", re.IGNORECASE)
"""The first line of a CSV on standard input."""


def ask_file(
    file: Path,
    folder: Path | None,
    *,
    params: Mapping[str, Any],
    tools: Sequence[str],
    at_once: int,
    again: Again,
    given: Settings,
    quiet: bool,
    output: Output,
) -> int:
    """Ask them all.

    Exit status 0 when every question has an answer, 3 when none has because the model or a source failed, else 1.
    """
    from sleuth.app.batching import arranged

    questions = read(file)
    batch = arranged(questions, folder=folder, params=params, tools=tools, at_once=at_once, again=again, given=given)
    with Told(questions, batch.folder.results, as_rows=output.json) as told:
        with prints_apart(), Line(stderr(), batch, quiet=quiet):
            batch.wait(told)
        if not quiet:
            told.put_end()
    return told.exit_status()


def read(file: Path) -> Questions:
    """The questions of a file, or of standard input for "-". Raises `BadInput` that names every bad line."""
    from sleuth.bench.tasks import read_questions

    if str(file) != "-":
        return read_questions(file)
    data = sys.stdin.buffer.read(MOST + 1)
    if len(data) > MOST:
        raise BadInput(f"More than {MOST >> 20} MB came in.", hint="Split it into several files.")
    kind = ".jsonl" if data.lstrip()[:1] in (b"{", b"[") else ".csv" if TABLE.match(data.lstrip()) else ".txt"
    with tempfile.TemporaryDirectory() as scratch:
        kept = Path(scratch) / f"input{kind}"
        kept.write_bytes(data)
        try:
            return read_questions(kept)
        except BadInput as fault:
            text = fault.message.replace(str(kept), "Standard input")
            raise BadInput(text, hint=fault.hint, **fault.details) from None


class Told:
    """What came of each question: printed in the file's order as soon as it can be, and kept as a row in the results.

    Left (also by an error), it puts the rows that there are in order.
    """

    def __init__(self, questions: Questions, results: Path, *, as_rows: bool) -> None:
        self._questions, self._results, self._as_rows = questions, results, as_rows
        self._texts = dict(questions)
        self._rows = _Rows(results)
        self._plain: dict[str, str] = {}
        self._next = 0
        self._why: dict[str, list[str]] = defaultdict(list)
        self._statuses: Counter[str] = Counter()
        self._inside = False
        self._stdout, self._console = sys.stdout, stdout()

    def __enter__(self) -> Told:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._rows.settle([key for key, _ in self._questions])

    def __call__(self, outcome: Outcome) -> None:
        """Called in the background loop, one at a time."""
        answer = outcome.answer
        status = answer.status if answer is not None else "failed"
        why = f"{type(outcome.error).__name__}: {outcome.error}"
        if answer is not None:
            why = answer.ended.replace("_", " ") + (f": {answer.note}" if answer.note else "")
        self._statuses[status] += 1
        self._inside |= answer is None or status == "answered" or answer.ended not in ("model_error", "source_error")
        if status != "answered":
            self._why[f"{status}, {one_line(why, 200)}"].append(outcome.key)
        row = {"id": outcome.key, "question": self._texts[outcome.key], "trace": str(outcome.trace)}
        row |= as_json(answer) if answer is not None else {"answer": "", "status": "failed", "note": why}
        self._rows.keep(outcome.key, f"{json.dumps(row)}\n".encode())
        self._plain[outcome.key] = answer.text if answer is not None and answer.text else f"({status})"
        self._put_ready()

    def _put_ready(self) -> None:
        """Print what has come, up to the first question that has not."""
        while self._next < len(self._questions) and (key := self._questions[self._next][0]) in self._plain:
            text = self._plain.pop(key)
            if self._as_rows:
                print(self._rows.read(key).decode(), end="", flush=True, file=self._stdout)
            else:
                put(self._console, (f"{one_line(self._texts[key], 70)}  ", "dim"), one_line(text))
            self._next += 1

    def put_end(self) -> None:
        """How many ended how, which have no answer, why and how often, and where everything is."""
        err = stderr()
        counts = ", ".join(f"{count:,} {status}" for status, count in self._statuses.most_common())
        put(err, (f"{many(self._statuses.total(), 'question')}: ", "bold"), counts)
        kinds = sorted(self._why.items(), key=lambda kind: -len(kind[1]))
        for why, keys in kinds[:LISTED]:
            more = f" and {len(keys) - NAMED:,} more" if len(keys) > NAMED else ""
            put(
                err,
                (f"  {len(keys):,} times  ", "yellow"),
                f"{why} ({', '.join(one_line(k, 40) for k in keys[:NAMED])}{more})",
            )
        if len(kinds) > LISTED:
            put(err, f"  and {len(kinds) - LISTED} other reasons; all of them are in the results.")
        put(err, ("results  ", "dim"), str(self._results))
        if self._statuses["failed"]:
            put(err, ("next     ", "dim"), "the same command with --again failed asks the failed ones once more")

    def exit_status(self) -> int:
        """0, 1 or 3: see `ask_file`."""
        return ANSWERED if not self._why else NO_ANSWER if self._inside else ENVIRONMENT


class _Rows:
    """The results' rows: written beside their place as they come, put there in order at the end; none is held in memory."""

    def __init__(self, results: Path) -> None:
        self._results, self._half = results, results.with_name(results.name + ".half")
        self._file: BinaryIO | None = None
        self._at: dict[str, tuple[int, int]] = {}

    def keep(self, key: str, row: bytes) -> None:
        """Add a row."""
        if self._file is None:
            self._file = self._half.open("w+b")
        self._at[key] = (self._file.seek(0, 2), len(row))
        self._file.write(row)

    def read(self, key: str) -> bytes:
        """A row that is kept. Raises KeyError."""
        start, length = self._at[key]
        if self._file is None:
            raise KeyError(key)
        self._file.seek(start)
        return self._file.read(length)

    def settle(self, keys: Sequence[str]) -> None:
        """Put the rows that there are in order, also of a batch that was stopped."""
        if self._file is None:
            return
        ordered = self._results.with_name(self._results.name + ".new")
        with self._file, ordered.open("wb") as file:
            file.writelines(self.read(key) for key in keys if key in self._at)
        ordered.replace(self._results)
        self._half.unlink(missing_ok=True)


class Line:
    """How far a batch is, on stderr: live on a terminal, a plain line now and then elsewhere."""

    def __init__(self, console: Console, batch: Batching, *, quiet: bool) -> None:
        self._console, self._batch, self._quiet = console, batch, quiet
        self._over = threading.Event()
        self._live: Live | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Line:
        if self._quiet:
            return self
        if self._console.is_terminal:
            self._live = Live(console=self._console, get_renderable=self.text, refresh_per_second=2, transient=True)
            self._live.start()
        else:
            self._thread = threading.Thread(target=self._tell, name="batch progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._over.set()
        if self._live is not None:
            self._live.stop()
        if self._thread is not None:
            self._thread.join(1)
        if error is not None and not self._quiet and self._batch.so_far().done:
            put(self._console, f"{self.text()}. The same command goes on from here ({self._batch.folder.folder}).")

    def text(self) -> Text:
        """One line."""
        from sleuth.cli.bench.shown import duration

        now = self._batch.so_far()
        words = [f"{now.done:,} of {now.total:,} questions", f"{now.answered:,} answered"]
        words += [f"{now.failed:,} failed"] if now.failed else []
        words += [f"{now.running:,} running"] if now.running > 1 else []
        words += [f"{duration(now.left)} left"] if now.left is not None and now.done < now.total else []
        return Text(", ".join(words))

    def _tell(self) -> None:
        while not self._over.wait(EVERY):
            put(self._console, str(self.text()))
