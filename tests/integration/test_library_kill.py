"""Kill -9 at any moment of `index` leaves the library as it was last committed, and the next `index` completes it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sleuth.library import Library, index, store
from sleuth.library.store import Snapshot
from sleuth.types import Search

PAGES = 900
PROGRAM = """
import sys
from pathlib import Path
from sleuth.library import index
print("begun", flush=True)
index([sys.argv[1]], Path(sys.argv[2]))
print("done", flush=True)
"""


def write(folder: Path, version: int) -> None:
    """The same pages in another version; each names the next, so that links change with them."""
    folder.mkdir(exist_ok=True)
    for part in range(3):
        rows = [
            {
                "id": f"{n}",
                "title": f"Page {n} Of{version}",
                "text": f"Version v{version}x here. See Page {n + 3} Of{version}. " + "A word. " * 30,
            }
            for n in range(part, PAGES, 3)
        ]
        (folder / f"part{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))


def held(folder: Path) -> str:
    """The one version that a library holds, in passages, links and file states alike."""
    snapshot = Snapshot.open(folder)
    rows = [store.to_row(stored) for stored in snapshot.everything()]
    assert len(rows) == PAGES
    versions = {row.title.split("Of")[1] for row in rows} | {name.split("of")[1] for row in rows for name in row.links}
    assert len(versions) == 1, "a reader sees all of an update or nothing"
    assert sum(len(row.links) for row in rows) == PAGES - 3
    assert len(snapshot.states()) == 3
    (version,) = versions
    library = Library.open(
        folder
    )  # an update may have ended since the snapshot: this is another version, but a whole one
    found = [
        len(library.search(Search(f"v{n}x", 10, together=True)))
        for n in range(max(0, int(version) - 1), int(version) + 2)
    ]
    assert sorted(found) == [0] * (len(found) - 1) + [10]
    return version


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_killed_at_20_random_moments_the_library_opens_and_the_next_index_completes(tmp_path: Path) -> None:
    source, library, dice = tmp_path / "source", tmp_path / "library", random.Random(1889)
    write(source, 0)
    began = time.monotonic()
    index([source], library)
    length = 1.5 * (time.monotonic() - began)
    outcomes = []
    for version in range(1, 21):
        write(source, version)
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, source, library], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "begun\n"
            time.sleep(dice.uniform(0, length))
            child.send_signal(signal.SIGKILL)
            finished = child.stdout.read() == "done\n"
        seen = held(library)
        assert seen in ((f"{version}",) if finished else (f"{version - 1}", f"{version}"))
        outcomes.append(seen == f"{version}")
        after = index([source], library)
        assert after.changed == (0 if seen == f"{version}" else 3)
        assert held(library) == f"{version}"
    assert False in outcomes, "at least one kill came before the commit"
    assert len(list(library.iterdir())) < 200, "what killed writers left behind is cleared away"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_killed_during_the_first_index_the_next_one_completes(tmp_path: Path) -> None:
    source, dice = tmp_path / "source", random.Random(7)
    write(source, 5)
    for number in range(5):
        library = tmp_path / f"library{number}"
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, source, library], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(dice.uniform(0, 0.4))
            child.send_signal(signal.SIGKILL)
        index([source], library)
        assert held(library) == "5"


@pytest.mark.slow
def test_readers_open_one_whole_version_at_any_moment_of_an_update(tmp_path: Path) -> None:
    source, library = tmp_path / "source", tmp_path / "library"
    write(source, 0)
    index([source], library)
    kept = Library.open(library)
    for version in (1, 2):
        write(source, version)
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, source, library], stdout=subprocess.PIPE, text=True
        ) as child:
            seen = {held(library)}
            while child.poll() is None:
                seen.add(held(library))
                assert len(kept.search(Search("v0x", 10, together=True))) == 10
        assert child.returncode == 0
        assert seen <= {f"{version - 1}", f"{version}"}
        assert held(library) == f"{version}"
