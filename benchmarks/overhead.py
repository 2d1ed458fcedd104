"""What Sleuth costs on top of the bare `openai` client, and how long ``import sleuth`` takes.

    python benchmarks/overhead.py                 # a minute; prints a table
    python benchmarks/overhead.py --check         # exit status 1 when a target is missed
    python benchmarks/overhead.py --profile FILE  # cProfile of Sleuth's side alone, for pstats or snakeviz

One unit of work is a run of five model calls in Self-Ask form: a head of about 5 kB, each call 300 characters longer
than the one before. *Bare* sends the prompts with ``AsyncOpenAI().completions.create`` (or ``chat``), in a loop.
*Sleuth* runs a flow that yields them as `Generate` requests through `Engine`, `OpenAIModel` and a `TraceWriter` that
writes and flushes every event; opening and closing the run and its trace file are counted. Both talk to the same
stub server, which is a process of its own and answers at once, in the same order of rounds, taking turns. CPU time is
``time.process_time`` of this process (all threads, user and system), so the server's and other processes' work is
not in it. (Bare parses answers into the client's typed models, as any program that uses the client does; `OpenAIModel`
goes past them, which is how it makes up for part of its own work.) The figure to compare is the ratio, per pair of rounds: median, and the quartiles as spread.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import openai  # noqa: E402  after the path is set, with the rest

from sleuth.engine import Engine  # noqa: E402
from sleuth.models.openai import OpenAIModel  # noqa: E402
from sleuth.models.wire import Dialect, chat_turns, raw_prompt  # noqa: E402
from sleuth.trace import TraceWriter  # noqa: E402
from sleuth.types import Answer, Flow, Message  # noqa: E402
from sleuth.verbs import generate  # noqa: E402

MOST_RATIO = 1.3
MOST_IMPORT = 100.0  # milliseconds
CALLS = 5
STOP = ("\nIntermediate answer:", "\n\n")
REPLY = " Yes.\nFollow up: When was the tower in question completed, and by whom?"
EXAMPLE = (
    "Question: Who was born first, the author of the one book or the painter of the other picture?\n"
    "Are follow up questions needed here: Yes.\nFollow up: When was the author born?\n"
    "Intermediate answer: The author was born in the spring of 1801.\nFollow up: When was the painter born?\n"
    "Intermediate answer: The painter was born in the autumn of 1799.\nSo the final answer is: the painter\n\n"
)
Round = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Spread:
    """Median and quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def __str__(self) -> str:
        return f"{self.median:8.3f}   ({self.low:.3f} to {self.high:.3f})"


def dialogue() -> list[tuple[Message, ...]]:
    """The messages of each call of one run."""
    head = (Message("system", EXAMPLE * 12), Message("user", "Question: Who ruled when it was completed?\n"))
    turns: tuple[Message, ...] = ()
    calls = []
    for number in range(CALLS):
        calls.append((*head, *turns, Message("assistant", "Follow up:")))
        said = Message("assistant", f"Follow up: What is the name of number {number}?")
        turns += (said, Message("observation", "\nIntermediate answer: " + "a passage's words, " * 13 + "\n"))
    return calls


def chain(calls: list[tuple[Message, ...]]) -> Flow[Answer]:
    text = ""
    for messages in calls:
        completion = yield from generate(messages, stop=STOP, max_tokens=64)
        text = completion.text
    return Answer(text, "answered", "final_answer")


def sleuth_round(model: OpenAIModel, folder: Path, runs: int) -> Round:
    calls = dialogue()

    async def work() -> None:
        for number in range(runs):
            with TraceWriter(folder / f"{time.monotonic_ns()}-{number}.jsonl") as sink:
                answer = await Engine(model, sinks=[sink]).run(chain(calls), question="Who ruled?")
            assert answer.text == REPLY, answer

    return work


def bare_round(client: openai.AsyncOpenAI, dialect: Dialect, runs: int) -> Round:
    prompts = [raw_prompt(messages) for messages in dialogue()]
    turns = [chat_turns(messages) for messages in dialogue()]
    stop = list(STOP)

    async def raw() -> None:
        for _ in range(runs):
            for prompt in prompts:
                done = await client.completions.create(
                    model="stub", prompt=prompt, max_tokens=64, temperature=0.0, stop=stop
                )
                assert done.choices[0].text == REPLY

    async def chat() -> None:
        for _ in range(runs):
            for messages in turns:
                sent: list[openai.types.chat.ChatCompletionMessageParam] = messages  # type: ignore[assignment]
                done = await client.chat.completions.create(
                    model="stub", messages=sent, max_tokens=64, temperature=0.0, stop=stop
                )
                assert done.choices[0].message.content == REPLY

    return raw if dialect == "raw" else chat


@contextmanager
def stub_server() -> Iterator[str]:
    """The stub server's address; it runs in a process of its own."""
    command = [sys.executable, str(ROOT / "tests" / "support" / "stub_server.py"), "--reply", REPLY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


async def measure(url: str, dialect: Dialect, rounds: int, runs: int) -> tuple[list[float], list[float]]:
    """CPU milliseconds a call, bare and Sleuth, round by round."""
    client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    model = OpenAIModel("stub", base_url=url, dialect=dialect)
    bare: list[float] = []
    ours: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        pair = (bare_round(client, dialect, runs), bare), (sleuth_round(model, Path(folder), runs), ours)
        for work, _ in pair:  # warm up: connections, imports, caches
            await work()
        for number in range(rounds):
            for work, costs in pair if number % 2 else pair[::-1]:
                gc.collect()
                start = time.process_time()
                await work()
                costs.append((time.process_time() - start) * 1e3 / (runs * CALLS))
    await model.aclose()
    await client.close()
    return bare, ours


async def profile(url: str, dialect: Dialect, runs: int, file: Path) -> None:
    model = OpenAIModel("stub", base_url=url, dialect=dialect)
    with tempfile.TemporaryDirectory() as folder:
        work = sleuth_round(model, Path(folder), runs)
        await work()
        profiler = cProfile.Profile(time.process_time)
        profiler.enable()
        await work()
        profiler.disable()
        profiler.dump_stats(file)
    await model.aclose()


def import_time(module: str, times: int) -> Spread:
    """Milliseconds ``import module`` takes in a fresh process, the start of Python not counted."""
    script = f"import sys, time; sys.path.insert(0, {str(ROOT / 'src')!r}); t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    taken = []
    for _ in range(times + 1):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        taken.append(float(done.stdout) * 1e3)
    return Spread.of(taken[1:])  # the first may write bytecode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="pairs of rounds (default: 15)")
    parser.add_argument("--runs", type=int, default=40, help="runs of five calls a round (default: 40)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="exit status 1 when a target is missed")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="write a cProfile of Sleuth's side, and end")
    options = parser.parse_args()
    figures: dict[str, Spread] = {}
    dialects: tuple[Dialect, ...] = ("raw", "chat")
    with stub_server() as url:
        if options.profile:
            asyncio.run(profile(url, "raw", options.runs, options.profile))
            return 0
        for dialect in dialects:
            bare, ours = asyncio.run(measure(url, dialect, options.rounds, options.runs))
            figures[f"{dialect}: bare openai client, CPU ms a call"] = Spread.of(bare)
            figures[f"{dialect}: sleuth, traced, CPU ms a call"] = Spread.of(ours)
            ratios = [mine / theirs for mine, theirs in zip(ours, bare, strict=True)]
            figures[f"{dialect}: ratio (at most {MOST_RATIO})"] = Spread.of(ratios)
    figures[f"import sleuth, ms (at most {MOST_IMPORT:g})"] = import_time("sleuth", options.rounds)
    figures["import openai, ms"] = import_time("openai", 3)
    if options.json:
        print(json.dumps({name: asdict(spread) for name, spread in figures.items()}, indent=2))
    else:
        for name, spread in figures.items():
            print(f"{name:44}{spread}")
    ratios_held = all(spread.median <= MOST_RATIO for name, spread in figures.items() if "ratio" in name)
    held = ratios_held and figures[f"import sleuth, ms (at most {MOST_IMPORT:g})"].median <= MOST_IMPORT
    return int(options.check and not held)


if __name__ == "__main__":
    sys.exit(main())
