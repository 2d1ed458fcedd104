"""A program that asks, for tests that need a process of their own: ``python asking.py CASE``.

Its model replies at once or after half a minute, from a script; nothing else is needed.
"""

from __future__ import annotations

import multiprocessing
import os
import sys

import sleuth
from sleuth.types import Answer, Flow


def slow_flow(question: str) -> Flow[Answer]:
    """A hop, then one call."""
    yield from sleuth.note("hop", question, query=question)
    reply = yield from sleuth.generate([sleuth.Message("user", question)])
    return Answer(reply.text, "answered", "final_answer")


def ask(reply: str = "1889", delay: float = 0.0) -> str:
    """One answer's text."""
    return sleuth.ask(
        "When?", strategy=slow_flow, model=sleuth.Script([reply], delay=delay), library=sleuth.Shelf({})
    ).text


def once() -> None:
    """Ask and end."""
    print(ask())


def fork() -> None:
    """Ask, fork, ask in the child (which ends as programs do), ask in the parent."""
    print("parent", ask("before"), flush=True)
    child = os.fork()
    if child == 0:
        print("child", ask("within"), flush=True)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    print("parent", ask("after"), os.waitstatus_to_exitcode(status), flush=True)


def pool() -> None:
    """Ask in the workers of a forked pool."""
    ask("before")
    with multiprocessing.get_context("fork").Pool(2) as workers:
        print(sorted(workers.map(ask, ["a", "b", "c", "d"])), flush=True)


def wait() -> None:
    """Ask a model that takes half a minute, to be interrupted."""
    print("asking", flush=True)
    try:
        ask("late", delay=30)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        print("again", ask("soon"), flush=True)
        sys.exit(130)


if __name__ == "__main__":
    {"fork": fork, "pool": pool, "wait": wait, "once": once}[sys.argv[1]]()
