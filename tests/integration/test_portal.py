"""The background loop in real processes: scripts, forks, pools, running loops, a notebook's kernel."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.asking import slow_flow
from tests.support.homes import private

import sleuth

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return private(monkeypatch, tmp_path)


def program(case: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(ROOT / "tests" / "support" / "asking.py"), case]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_script_that_asks_ends_by_itself_and_says_nothing_more() -> None:
    began = time.monotonic()
    told = program("once")
    assert (told.returncode, told.stdout, told.stderr) == (0, "1889\n", "")
    assert time.monotonic() - began < 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_ask_before_within_and_after_a_fork() -> None:
    told = program("fork")
    assert told.stdout.splitlines() == ["parent before", "child within", "parent after 0"], told.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_ask_in_a_forked_pool() -> None:
    told = program("pool")
    assert told.stdout == "['a', 'b', 'c', 'd']\n", told.stderr


def test_ask_in_a_running_loop_while_a_stream_is_open() -> None:
    async def both() -> tuple[str, str]:
        model = sleuth.Script(["streamed"], delay=0.3)
        run = sleuth.stream("When?", strategy=slow_flow, model=model, library=sleuth.Shelf({}))
        await anext(run)
        asked = sleuth.ask("When?", strategy=slow_flow, model=sleuth.Script(["asked"]), library=sleuth.Shelf({})).text
        events = [event async for event in run]
        assert isinstance(events[-1].body, sleuth.Closed)
        return events[-1].body.answer.text, asked

    assert asyncio.run(both()) == ("streamed", "asked")


def test_loops_may_come_and_go() -> None:
    async def once(reply: str) -> str:
        model = sleuth.Script([reply])
        return (await sleuth.aask("When?", strategy=slow_flow, model=model, library=sleuth.Shelf({}))).text

    assert [asyncio.run(once(reply)) for reply in "abc"] == ["a", "b", "c"]


# --- a notebook ---------------------------------------------------------------------------------------------------


@pytest.fixture
def kernel() -> Iterator[Any]:
    manager_module = pytest.importorskip("jupyter_client.manager", reason="jupyter-client is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    manager, client = manager_module.start_new_kernel(kernel_name="python3", startup_timeout=60)
    try:
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def printed(client: Any, cell: str, *, interrupt: Any = None) -> str:
    """Run a cell; what it printed, and the name of its error if it raised. `interrupt` is sent once "asking" is printed."""
    client.execute(textwrap.dedent(cell))
    said: list[str] = []
    while True:
        message = client.get_iopub_msg(timeout=60)
        content = message["content"]
        if message["msg_type"] == "stream" and content["name"] == "stdout":
            said.append(content["text"])
            if interrupt is not None and "asking" in content["text"]:
                time.sleep(0.5)
                interrupt()
        elif message["msg_type"] == "error":
            said.append(content["ename"])
        elif message["msg_type"] == "status" and content["execution_state"] == "idle" and said:
            return "".join(said)


@pytest.mark.filterwarnings("ignore")  # Jupyter's own
@pytest.mark.slow
def test_in_a_notebook_ask_and_await_work_and_an_interrupt_cancels(kernel: Any, home: Path) -> None:
    manager, client = kernel
    prelude = "import sleuth; from tests.support.asking import *; "
    assert printed(client, prelude + "print(ask('first')); print(ask('second'))").split() == ["first", "second"]
    cell = "a = await sleuth.aask('Who?', strategy=slow_flow, model=sleuth.Script(['third']), library=sleuth.Shelf({})); print(a.text)"
    assert printed(client, cell).strip() == "third"
    began = time.monotonic()
    said = printed(client, "print('asking', flush=True); ask('late', delay=30)", interrupt=manager.interrupt_kernel)
    assert said.split() == ["asking", "KeyboardInterrupt"]
    assert time.monotonic() - began < 10
    assert "cancelled" in newest(home / "runs").read_text()
    assert printed(client, "print(ask('fourth'))").strip() == "fourth"


def newest(folder: Path) -> Path:
    with contextlib.suppress(ValueError):
        return max(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    pytest.fail(f"no run was traced in {folder}")
