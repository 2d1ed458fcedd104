"""Jobs that will not end: the caller waits only so long, and the next one gets a new loop."""

import asyncio
import threading
import time
from collections.abc import Iterator

import anyio
import pytest

from sleuth.app import portal as portals
from sleuth.app.keep import Keep
from sleuth.app.portal import Portal, portal
from sleuth.errors import Cancelled


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(portals, "PATIENCE", 0.2)
    yield
    portals._close(portal())


async def quick(keep: Keep) -> str:
    return "done"


def test_the_same_portal_serves_every_job() -> None:
    assert portal() is portal()
    assert portal().submit(quick).result() == "done"


def test_what_the_work_raises_is_raised_to_the_one_who_waits() -> None:
    async def broken(keep: Keep) -> str:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        portal().submit(broken).result()


def test_a_job_cancelled_before_it_began_never_runs_on() -> None:
    async def long(keep: Keep) -> str:
        await anyio.sleep(30)
        return "late"

    job = portal().submit(long)
    job.cancel()
    with pytest.raises(Cancelled):
        job.result()


def test_work_that_resists_cancellation_is_abandoned_and_a_new_portal_made() -> None:
    release = threading.Event()

    async def stubborn(keep: Keep) -> str:
        while not release.is_set():
            time.sleep(0.01)  # noqa: ASYNC251  it blocks the loop on purpose
        return "at last"

    async def impatient() -> None:
        with anyio.move_on_after(0.1):
            await portal().submit(stubborn).outcome()

    old = portal()
    began = time.monotonic()
    asyncio.run(impatient())
    assert time.monotonic() - began < 5
    assert portal() is not old
    assert portal().submit(quick).result() == "done"
    release.set()
    old.close()


def test_a_closed_portal_frees_its_thread_and_may_be_closed_twice() -> None:
    own = Portal()
    assert own.submit(quick).result() == "done"
    own.close()
    assert not own._thread.is_alive()
    own.close()
