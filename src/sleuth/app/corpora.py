"""A task's passages as a library under the home folder: built once, found again by the content of its files."""

from __future__ import annotations

import errno
import hashlib
import shutil
import tempfile
from pathlib import Path

from sleuth.app.settings import Settings
from sleuth.bench.folder import slug
from sleuth.bench.questions import Task
from sleuth.errors import BadInput, EnvironmentFault


def library_name(task: Task) -> str:
    """What the library of the task's corpus is called: by the task and a digest of what the corpus holds. Raises `BadInput`."""
    if task.corpus is None:
        raise BadInput(
            f"The task '{task.name}' has no passages of its own.", hint="Name a library: --library NAME (sleuth index)."
        )
    return f"bench-{slug(task.name)[:30]}-{_digest(task.corpus)}"


def built(task: Task, settings: Settings) -> str:
    """The name of that library, which is indexed first where it is not there. Raises `BadInput`, `LibraryFault`, `EnvironmentFault`.

    It is built beside its place and moved there whole, so another process never sees half of it.
    """
    name = library_name(task)
    folder = settings.libraries / name
    if folder.is_dir() or task.corpus is None:
        return name
    try:
        settings.libraries.mkdir(parents=True, exist_ok=True)
        _build(task.corpus, folder)
    except OSError as error:
        raise EnvironmentFault(
            f"The passages of '{task.name}' cannot be indexed in {settings.libraries}: {error.strerror or error}.",
            hint="Free some space, or name another folder in SLEUTH_HOME.",
        ) from error
    return name


def _build(corpus: Path, folder: Path) -> None:
    from sleuth.library import index

    fresh = Path(tempfile.mkdtemp(prefix=".bench-", dir=folder.parent))
    try:
        index([corpus], fresh)
        fresh.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # another process was faster: its build is as good
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _digest(corpus: Path) -> str:
    """Of the bytes of a file, or of all files in a folder and their names."""
    found = hashlib.blake2b(digest_size=6)
    files = sorted(path for path in corpus.rglob("*") if path.is_file()) if corpus.is_dir() else [corpus]
    try:
        for path in files:
            if path != corpus:
                found.update(f"{path.relative_to(corpus)}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as stream:
                while piece := stream.read(1 << 20):
                    found.update(piece)
    except OSError as error:
        raise BadInput(f"The passages in {corpus} cannot be read: {error.strerror or error}.") from error
    return found.hexdigest()
