"""The embedded model's process: killed, crashed, orphaned, interrupted, forked, and quiet through all of it."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from sleuth.errors import ModelError
from sleuth.models.local import LocalModel
from sleuth.models.loopback import post
from sleuth.models.machine import usable_cores
from sleuth.types import Completion, Generate, Message

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")]

STORY = "Once upon a time there was a little tower. "


@pytest.fixture
def path(model_file: Callable[[str], Path]) -> Path:
    return model_file("smollm2-135m")


@pytest.fixture
def model(path: Path) -> Iterator[LocalModel]:
    model = LocalModel(path, context=2048)
    yield model
    anyio.run(model.aclose)


def silent(kind: str, text: str, **data: Any) -> None:
    """A report nobody reads."""


async def ask(model: LocalModel, prompt: str = STORY, tokens: int = 4) -> Completion:
    return await model.generate(Generate((Message("user", prompt),), max_tokens=tokens), report=silent)


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    return anyio.run(work)


def pid_of(model: LocalModel) -> int:
    assert model.process is not None
    return model.process


def gone(pid: int, within: float) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


async def used_until_idle(pid: int, within: float = 20.0) -> float:
    """Processor seconds the process uses until it has been idle for half a second."""
    process, began, quiet = psutil.Process(pid), time.monotonic(), 0
    first = last = sum(process.cpu_times()[:2])
    while quiet < 10:
        assert time.monotonic() - began < within, "it does not stop"
        await anyio.sleep(0.05)
        now = sum(process.cpu_times()[:2])
        quiet = quiet + 1 if now == last else 0
        last = now
    return last - first


@pytest.mark.parametrize("prompt", [STORY, STORY * 140], ids=["while writing", "while reading"])
def test_cancelling_stops_the_model_within_a_second_and_leaves_it_usable(model: LocalModel, prompt: str) -> None:
    async def work() -> None:
        await ask(model)
        pid = pid_of(model)
        with anyio.move_on_after(0.5) as scope:
            await ask(model, prompt, tokens=1000)
        assert scope.cancelled_caught
        assert await used_until_idle(pid) < 1.0 * usable_cores()
        assert (await ask(model)).usage.written == 4
        assert pid_of(model) == pid

    run(work)


def test_what_was_cached_before_a_cancelled_call_is_still_right(model: LocalModel) -> None:
    async def work() -> None:
        fresh = await ask(model, STORY * 30, tokens=12)
        with anyio.move_on_after(0.3):
            await ask(model, STORY * 30 + "The end. " * 300, tokens=1000)
        again = await ask(model, STORY * 30, tokens=12)
        assert again.text == fresh.text
        assert again.usage.cached > 0.9 * fresh.usage.read

    run(work)


def test_a_crash_is_a_clear_error_and_the_next_call_starts_a_new_process(model: LocalModel) -> None:
    async def work() -> None:
        await ask(model)
        first = pid_of(model)

        async def crash() -> None:
            await anyio.sleep(0.3)
            os.kill(first, signal.SIGKILL)

        async with anyio.create_task_group() as group:
            group.start_soon(crash)
            with pytest.raises(ModelError, match=r"ended in the middle of a call \(killed.*starts it again"):
                await ask(model, tokens=1000)
        assert (await ask(model)).text
        assert pid_of(model) != first

    run(work)


def test_a_crash_between_calls_is_not_noticed(model: LocalModel) -> None:
    async def work() -> None:
        await ask(model)
        os.kill(pid_of(model), signal.SIGKILL)
        with anyio.fail_after(5):
            while model.process is not None:  # noqa: ASYNC110 - a process has no event to wait for
                await anyio.sleep(0.02)
        assert (await ask(model)).text

    run(work)


def test_ctrl_c_and_a_stranger_without_the_key_do_not_reach_it(model: LocalModel) -> None:
    async def work() -> None:
        await ask(model)
        os.kill(pid_of(model), signal.SIGINT)
        assert os.getpgid(pid_of(model)) != os.getpgid(0)
        child = model._child
        assert child is not None
        status, _ = await post(child.address, "guessed", "/completion", {"prompt": "x", "n_predict": 1})
        assert status == 401
        assert (await ask(model)).text

    run(work)


def test_closing_ends_it_and_may_be_done_twice(model: LocalModel) -> None:
    async def work() -> None:
        await ask(model)
        pid = pid_of(model)
        await model.aclose()
        await model.aclose()
        assert gone(pid, 1.0)
        assert (await ask(model)).text

    run(work)


def test_a_model_that_is_forgotten_takes_its_process_along(path: Path) -> None:
    model = LocalModel(path, context=2048)
    run(partial(ask, model))
    pid = pid_of(model)
    del model
    gc.collect()
    assert gone(pid, 1.0)


def test_one_model_serves_successive_event_loops(model: LocalModel) -> None:
    pids = set()
    for _ in range(3):
        assert run(lambda: ask(model)).text
        pids.add(pid_of(model))
    assert len(pids) == 1


def test_more_calls_than_slots_queue(model: LocalModel) -> None:
    async def work() -> None:
        await ask(model)
        done: list[str] = []

        async def one(i: int) -> None:
            done.append((await ask(model, f"{STORY} Number {i} says:", tokens=8)).text)

        async with anyio.create_task_group() as group:
            for i in range(7):
                group.start_soon(one, i)
        assert len(done) == 7

    run(work)


def test_loading_is_reported_and_may_be_given_up(model: LocalModel) -> None:
    said: list[tuple[str, str]] = []

    async def work() -> None:
        request = Generate((Message("user", STORY),), max_tokens=1)
        with anyio.move_on_after(0.05):
            await model.generate(request, report=silent)
        assert model.process is None
        await model.generate(request, report=lambda kind, text, **data: said.append((kind, text)))
        await model.generate(request, report=lambda kind, text, **data: said.append((kind, text)))

    run(work)
    assert [kind for kind, _ in said] == ["load", "load"]
    assert "SmolLM2" in said[0][1]


def test_a_damaged_file_is_a_clear_error(tmp_path: Path, path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(path.read_bytes()[:3_000_000])
    model = LocalModel(damaged)
    with pytest.raises(ModelError, match=r"damaged\.gguf could not be loaded.*It said: ") as caught:
        run(partial(ask, model))
    assert "memory" not in str(caught.value)


# --- in a program of its own --------------------------------------------------------------------------------------

PROGRAM = """
import anyio, os, signal, sys, time
from pathlib import Path
from sleuth.models.local import LocalModel
from sleuth.types import Generate, Message

def silent(kind, text, **data): pass
model = LocalModel(Path(sys.argv[1]), context=2048)
async def ask(tokens=4):
    return await model.generate(Generate((Message("user", "Once upon a time"),), max_tokens=tokens), report=silent)
"""


def program(body: str, path: Path, **options: Any) -> subprocess.Popen[str]:
    """The program with this body, started; what it prints can be read."""
    text = PROGRAM + textwrap.dedent(body)
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", text, str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def outcome(process: subprocess.Popen[str]) -> tuple[int, list[str], str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out.split(), err


def test_kill_9_of_the_program_ends_the_model(path: Path) -> None:
    process = program("anyio.run(ask); print(model.process, flush=True); anyio.run(ask, 100_000)", path)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    time.sleep(0.3)
    process.kill()
    process.communicate()
    assert gone(pid, 3.0)


def test_kill_9_while_loading_ends_the_model(path: Path) -> None:
    body = """
    async def load():
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.sleep(0.1)
            print(model.process, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    anyio.run(load)
    """
    _, out, _ = outcome(program(body, path))
    assert gone(int(out[0]), 8.0)


def test_kill_9_ends_the_model_though_a_fork_of_the_program_lives_on(path: Path) -> None:
    body = """
    anyio.run(ask)
    other = os.fork()
    if other == 0:
        time.sleep(8)
        os._exit(0)
    print(model.process, flush=True)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)
    """
    process = program(body, path)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.wait()
    assert gone(pid, 3.0)
    process.communicate()


def test_leaving_the_program_ends_the_model_and_nothing_is_printed(path: Path) -> None:
    code, out, err = outcome(program("anyio.run(ask); print(model.process)", path))
    assert (code, err) == (0, "")
    assert len(out) == 1
    assert gone(int(out[0]), 1.0)


def test_a_fork_has_a_process_of_its_own_and_leaves_its_parents_alone(path: Path) -> None:
    body = """
    anyio.run(ask)
    first = model.process
    other = os.fork()
    if other == 0:
        assert model.process is None
        anyio.run(ask)
        assert model.process not in (None, first)
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) == 7
    anyio.run(ask)
    print(first == model.process)
    """
    code, out, err = outcome(program(body, path))
    assert (code, out, err) == (0, ["True"], "")


def test_too_little_memory_while_loading_is_a_clear_error(path: Path) -> None:
    body = """
    import resource
    from sleuth.errors import ModelError
    resource.setrlimit(resource.RLIMIT_AS, (500_000_000, 500_000_000))
    model = LocalModel(Path(sys.argv[1]), context=8192)
    try:
        anyio.run(ask)
    except ModelError as error:
        print(error)
    """
    code, out, err = outcome(program(body, path))
    assert (code, err) == (0, "")
    assert "not enough memory" in " ".join(out)


def test_the_child_alone_ends_when_nobody_speaks_to_it() -> None:
    from sleuth.models import local_child

    ended = subprocess.run(
        [sys.executable, local_child.__file__], stdin=subprocess.DEVNULL, capture_output=True, timeout=10
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_the_child_tells_what_it_lacks() -> None:
    from sleuth.models import local_child

    command = [sys.executable, "-S", local_child.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"import_from": []}\n')
        process.stdin.flush()
        assert "xllamacpp" in json.loads(process.stdout.readline())["error"]
