"""How near a parallel plan's wall time comes to its critical path.

Two staggered chains of model calls, 100 ms then 600 beside 600 then 100: the critical path is 700 ms; run in waves,
which wait for the slowest of each, they would take 1,200. Prints the median, the worst and the overhead of `--runs`
runs, and what a bare anyio task group takes for the same sleeps on this machine.

    python benchmarks/critical_path.py --runs 20
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio

from sleuth.engine import Engine
from sleuth.events import Event
from sleuth.models.script import Script
from sleuth.types import Answer, Flow, Message
from sleuth.verbs import fork, generate, join

CHAINS = ((100, 600), (600, 100))
CRITICAL_MS = 700.0
WAVES_MS = 1200.0
ALLOWED = 0.05


def chain(delays: tuple[int, ...]) -> Flow[str]:
    """One call after the other; the prompt says how many milliseconds each takes."""
    text = ""
    for delay in delays:
        completion = yield from generate([Message("user", str(delay))])
        text += completion.text
    return text


def plan() -> Flow[Answer]:
    """The two chains beside each other."""
    tasks = []
    for delays in CHAINS:
        tasks.append((yield from fork(chain(delays))))
    text = ""
    for task in tasks:
        text += yield from join(task)
    return Answer(text, "answered", "final_answer")


class Sleeping(Script):
    """Takes as many milliseconds as its prompt says."""

    def __init__(self) -> None:
        super().__init__(lambda request: "done")

    async def generate(self, request: Any, **how: Any) -> Any:
        await anyio.sleep(int(request.messages[0].content) / 1000)
        return await super().generate(request, **how)


async def through_the_engine() -> None:
    """One run, with a sink that keeps every event."""
    events: list[Event] = []
    await Engine(Sleeping(), sinks=[events.append]).run(plan())


async def bare() -> None:
    """The same sleeps in a task group."""

    async def sleeps(delays: tuple[int, ...]) -> None:
        for delay in delays:
            await anyio.sleep(delay / 1000)

    async with anyio.create_task_group() as group:
        for delays in CHAINS:
            group.start_soon(sleeps, delays)


def measure(work: Callable[[], Coroutine[Any, Any, None]], runs: int) -> list[float]:
    """Wall milliseconds of each run, in one event loop."""

    async def all_runs() -> list[float]:
        taken = []
        for _ in range(runs):
            begun = time.perf_counter()
            await work()
            taken.append((time.perf_counter() - begun) * 1000)
        return taken

    return anyio.run(all_runs)


def main() -> int:
    """Print the measurement; 1 when the median is more than 5% over the critical path."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    chosen = parser.parse_args()
    measure(through_the_engine, 1)
    engine, yardstick = measure(through_the_engine, chosen.runs), measure(bare, chosen.runs)
    over = statistics.median(engine) / CRITICAL_MS - 1
    figures = {
        "runs": chosen.runs,
        "median_ms": round(statistics.median(engine), 1),
        "worst_ms": round(max(engine), 1),
        "bare_median_ms": round(statistics.median(yardstick), 1),
        "over_critical_path": round(over, 4),
    }
    if chosen.json:
        print(json.dumps(figures))
    else:
        print(f"critical path {CRITICAL_MS:g} ms, in waves {WAVES_MS:g} ms; {chosen.runs} runs")
        print(f"engine: median {figures['median_ms']} ms ({over:+.1%}), worst {figures['worst_ms']} ms")
        print(f"bare task group: median {figures['bare_median_ms']} ms")
    return 0 if over <= ALLOWED else 1


if __name__ == "__main__":
    raise SystemExit(main())
