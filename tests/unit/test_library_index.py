"""Indexing is incremental, whole or not at all, and says what it did."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth.errors import BadInput, LibraryFault, NoLibrary
from sleuth.library import IndexSummary, Library, index, store, update
from sleuth.library.store import Snapshot
from sleuth.types import Page, Search, Similar

OLD = 1_600_000_000


def put(path: Path, text: str, time: int = OLD) -> Path:
    """Write a file as of long ago, so that its time stamp can be trusted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (time, time))
    return path


def counts(summary: IndexSummary) -> tuple[int, int, int, int]:
    return summary.added, summary.changed, summary.unchanged, summary.removed


def found(folder: Path, query: str) -> list[str]:
    return [passage.id for passage in Library.open(folder).search(Search(query))]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    put(tmp_path / "notes/tower.md", "# Eiffel Tower\n\nThe tower was completed in 1889 in Paris.")
    put(tmp_path / "notes/deep/bridge.txt", "The bridge at Quebec fell down twice. The Eiffel Tower did not.")
    put(
        tmp_path / "notes/pages.jsonl", json.dumps({"id": "p1", "title": "Gustave Eiffel", "text": "He built bridges."})
    )
    return tmp_path / "notes"


@pytest.fixture
def library(tmp_path: Path, notes: Path) -> Path:
    index([notes], tmp_path / "library")
    return tmp_path / "library"


def test_a_first_index_counts_files_documents_passages_and_links(tmp_path: Path, notes: Path) -> None:
    put(notes / "image.txt", "\0\1")
    told: list[tuple[int, int, str]] = []
    summary = index([notes], tmp_path / "new", progress=lambda *now: told.append(now))
    assert (counts(summary), summary.documents, summary.passages, summary.links) == ((3, 0, 0, 0), 3, 3, 1)
    assert [(Path(one.path).name, one.reason) for one in summary.skipped] == [
        ("image.txt", "it is a binary file, not text")
    ]
    assert told[0][0] == 0
    assert told[-1] == (told[-1][1], told[-1][1], "")
    info = Library.open(tmp_path / "new").info()
    assert (info.name, info.documents, info.passages, info.links, info.size > 1000) == ("new", 3, 3, 1, True)


def test_unchanged_files_are_not_read_and_nothing_is_written(
    notes: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> Iterator[object]:
        raise AssertionError("read again")

    monkeypatch.setattr(update, "documents", never)
    monkeypatch.setattr(update.hashlib, "file_digest", never)
    monkeypatch.setattr(update, "writing", never)
    assert counts(index([notes], library)) == (0, 0, 3, 0)


def test_changed_files_are_replaced_new_ones_added_vanished_ones_removed(notes: Path, library: Path) -> None:
    put(notes / "tower.md", "# Eiffel Tower\n\nThe lattice was painted.", OLD + 9)
    put(notes / "new.txt", "A canal through Panama.")
    (notes / "deep/bridge.txt").unlink()
    assert counts(index([notes], library)) == (1, 1, 1, 1)
    assert found(library, "completed Quebec") == []
    assert found(library, "lattice canal") == ["notes/new.txt", "notes/tower.md"]


def test_a_file_that_can_no_longer_be_read_is_removed(notes: Path, library: Path) -> None:
    put(notes / "tower.md", "\0", OLD + 9)
    assert [one.reason for one in index([notes], library).skipped] == ["it is a binary file, not text"]
    assert found(library, "completed") == []


def test_the_same_content_with_another_time_is_unchanged_and_trusted_afterwards(
    notes: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(notes / "tower.md", (notes / "tower.md").read_text(), OLD + 9)
    assert counts(index([notes], library)) == (0, 0, 3, 0)
    monkeypatch.setattr(update.hashlib, "file_digest", lambda *_: pytest.fail("read again"))
    assert counts(index([notes], library)) == (0, 0, 3, 0)
    assert found(library, "completed 1889") == ["notes/tower.md"]


def test_a_file_written_a_moment_ago_is_compared_by_content(notes: Path, library: Path) -> None:
    path = notes / "tower.md"
    path.write_text("# Eiffel Tower\n\nOne thing.")
    index([notes], library)
    stamp = path.stat().st_mtime_ns
    path.write_text("# Eiffel Tower\n\nOne other.")
    os.utime(path, ns=(stamp, stamp))
    assert counts(index([notes], library)) == (0, 1, 2, 0)


def test_other_files_of_the_library_stay(tmp_path: Path, library: Path) -> None:
    extra = put(tmp_path / "extra/canal.txt", "A canal through Panama.")
    assert counts(index([extra], library)) == (1, 0, 0, 0)
    assert found(library, "canal completed") == ["canal.txt", "notes/tower.md"]


def test_new_titles_are_linked_from_kept_passages(notes: Path, library: Path) -> None:
    put(notes / "quebec.md", "# Quebec\n\nA city.")
    assert index([notes], library).links == 2
    rows = {row.id: row.links for row in map(store.to_row, Snapshot.open(library).everything())}
    assert rows["notes/deep/bridge.txt"] == ("quebec", "eiffel tower")
    assert counts(index([notes], library)) == (0, 0, 4, 0)


def test_an_update_equals_a_fresh_index(tmp_path: Path, notes: Path, library: Path) -> None:
    put(notes / "a.md", "# Paris\n\nThe Eiffel Tower stands here, and Gustave Eiffel lived here.")
    put(
        notes / "pages.jsonl",
        json.dumps({"id": "p2", "title": "Bridge", "text": "Like the one in Quebec or Paris."}),
        OLD + 1,
    )
    index([notes], library)
    index([notes], tmp_path / "fresh")
    put(tmp_path / "notes/pages.jsonl", json.dumps({"title": "Otter", "text": "Gustave Eiffel."}), OLD + 2)
    index([notes], library)
    index([notes], tmp_path / "fresh")
    both = [
        sorted(map(store.to_row, Snapshot.open(f).everything()), key=lambda r: r.id)
        for f in (library, tmp_path / "fresh")
    ]
    assert both[0] == both[1]


def test_ids_that_two_documents_share_are_told_apart(tmp_path: Path) -> None:
    line = json.dumps({"id": "same", "title": "T", "text": "An otter."}) + "\n"
    put(tmp_path / "one/a.jsonl", line * 2)
    put(tmp_path / "two/a.jsonl", line)
    index([tmp_path / "one"], tmp_path / "library")
    index([tmp_path / "two"], tmp_path / "library")
    ids = found(tmp_path / "library", "otter")
    assert len(set(ids)) == 3
    assert ids[0] == "same"


def test_nothing_to_read_is_bad_input_and_makes_no_library(tmp_path: Path) -> None:
    put(tmp_path / "in/x.txt", "\0")
    with pytest.raises(BadInput, match=r"x\.txt: it is a binary file"):
        index([tmp_path / "in"], tmp_path / "library")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"Give \.txt, \.md or \.jsonl"):
        index([tmp_path / "empty"], tmp_path / "library")
    with pytest.raises(BadInput):
        index([], tmp_path / "library")
    assert not (tmp_path / "library").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(BadInput, match="not a regular file"):
        index([tmp_path / "pipe.txt"], tmp_path / "library")


def test_a_library_that_is_missing_or_empty_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(NoLibrary, match="There is no library"):
        Library.open(tmp_path / "none")
    with store.writing(tmp_path / "empty", []):
        pass
    with pytest.raises(NoLibrary, match="holds nothing"):
        Library.open(tmp_path / "empty")


def test_a_second_writer_is_refused_and_readers_are_not(notes: Path, library: Path) -> None:
    put(notes / "new.txt", "A canal through Panama.")
    with store.locked(library), pytest.raises(LibraryFault, match=rf"Another process \({os.getpid()}\) is writing"):
        index([notes], library)
    with store.locked(library):
        assert found(library, "completed") == ["notes/tower.md"]
    assert counts(index([notes], library)) == (1, 0, 3, 0)


def test_an_open_library_stays_as_it_was_during_and_after_an_update(notes: Path, library: Path) -> None:
    reader = Library.open(library)
    for number in range(3):
        put(notes / "tower.md", f"# Eiffel Tower\n\nVersion {number} is different.", OLD + 1 + number)
        index([notes], library)
    assert [passage.text[-41:] for passage in reader.search(Search("completed"))] == [
        "The tower was completed in 1889 in Paris."
    ]
    assert isinstance(reader.open_page("Eiffel Tower"), Page)
    assert found(library, "completed") == []


@pytest.mark.parametrize("damage", ["meta", "about", "version", "store", "term", "missing"])
def test_a_damaged_library_says_how_to_rebuild_it(notes: Path, library: Path, damage: str) -> None:
    if damage == "meta":
        (library / "meta.json").write_text("{")
    elif damage == "about":
        (library / "library.json").unlink()
    elif damage == "version":
        (library / "library.json").write_text('{"format": 99, "roots": ["/some/where"]}')
    elif damage == "missing":
        (library / "meta.json").unlink()
    else:
        for path in library.glob(f"*.{damage}"):
            path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(LibraryFault) as caught:
        Library.open(library).search(Search("tower"))
    assert "`sleuth library remove library`, then `sleuth index" in str(caught.value)
    put(notes / "new.txt", "Something new.")
    with pytest.raises(LibraryFault):
        index([notes], library)


def test_a_full_disk_is_a_fault_and_the_library_stays(notes: Path, library: Path) -> None:
    """A limit on the size of files stands in for the full disk."""
    put(notes / "big.txt", "\n\n".join(f"Sentence {n} of a longer text about the otter." for n in range(20_000)))
    program = (
        "import resource, sys\nfrom pathlib import Path\nfrom sleuth.errors import LibraryFault\nfrom sleuth.library import index\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "try: index([sys.argv[1]], Path(sys.argv[2]))\n"
        "except LibraryFault as fault: sys.exit(str(fault))"
    )
    ran = subprocess.run([sys.executable, "-c", program, notes, library], capture_output=True, text=True, timeout=60)
    assert "could not be written" in ran.stderr.splitlines()[-1]
    assert found(library, "completed otter") == ["notes/tower.md"]
    assert counts(index([notes], library)) == (1, 0, 3, 0)


def test_errors_of_the_disk_are_told_apart(tmp_path: Path) -> None:
    full = store.fault(tmp_path, "write", OSError(errno.ENOSPC, "No space left on device"))
    assert "is full; the library is as it was before. Make room" in str(full)
    assert "is full" in str(store.fault(tmp_path, "write", ValueError("Io error: StorageFull")))


def test_access_denied_is_a_fault_that_says_so(tmp_path: Path) -> None:
    assert "Access to the library" in str(store.fault(tmp_path, "write", PermissionError(13, "Permission denied")))


def test_opening_unknown_titles_in_a_tiny_library(library: Path) -> None:
    assert Library.open(library).open_page("Eifel Towr") == Similar(("Eiffel Tower", "Gustave Eiffel"))
