"""Libraries by name, under the home folder; the sample library is built from the packaged articles when it is first used."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
import threading
from pathlib import Path

from sleuth.app.names import listing, suggestion
from sleuth.app.settings import Settings
from sleuth.errors import BadInput, EnvironmentFault, NoLibrary
from sleuth.ports import Source

SAMPLE = "sample"
_STAMP = "sample.built-from"
_building = threading.Lock()
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def names(settings: Settings) -> list[str]:
    """The libraries that exist, in order; the sample is always among them."""
    there = (path.name for path in settings.libraries.glob("*") if path.is_dir() and _NAME.fullmatch(path.name))
    return sorted({SAMPLE, *there})


def existing(library: str | Path, settings: Settings) -> Path:
    """The folder of a library: by name, or by a path. The sample is built if it must be. Raises `NoLibrary`."""
    if isinstance(library, Path) or os.sep in library:
        folder = Path(library).expanduser()
        if folder.is_dir():
            return folder
        raise NoLibrary(f"There is no library in {folder}.", hint=_how(settings))
    if library == SAMPLE:
        return sample(settings)
    folder = settings.libraries / library
    if not _NAME.fullmatch(library) or not folder.is_dir():
        raise NoLibrary(
            f"There is no library named '{library}'.",
            hint=f"{suggestion(library, names(settings))} {_how(settings)}".strip(),
        )
    return folder


def new(name: str, settings: Settings) -> Path:
    """The folder that a library of one's own is indexed into. Raises `BadInput` for a name that cannot be one."""
    if name == SAMPLE:
        raise BadInput("The library 'sample' is Sleuth's own.", hint="Choose another name with --library NAME.")
    if not _NAME.fullmatch(name):
        raise BadInput(f"'{name}' cannot name a library.", hint="Use letters, digits, dots, dashes and underscores.")
    return settings.libraries / name


def remove(name: str, settings: Settings) -> Path:
    """Delete a library of that name (never a folder elsewhere). Raises `NoLibrary`."""
    if not _NAME.fullmatch(name):
        raise NoLibrary(f"There is no library named '{name}'.", hint=_how(settings))
    folder = settings.libraries / name
    if not folder.is_dir():
        raise NoLibrary(
            f"There is no library named '{name}'.", hint=f"{suggestion(name, names(settings))} {_how(settings)}".strip()
        )
    shutil.rmtree(folder)
    return folder


def sample(settings: Settings) -> Path:
    """The sample library's folder, built anew when the packaged articles have changed.

    It is built beside its place and moved there whole, so another process never sees half of it.
    """
    from sleuth.sample import articles_path

    folder, stamp = settings.libraries / SAMPLE, settings.libraries / _STAMP
    articles = articles_path()
    digest = hashlib.blake2b(articles.read_bytes(), digest_size=16).hexdigest()
    with _building:
        if not (folder.is_dir() and stamp.is_file() and stamp.read_text() == digest):
            try:
                settings.libraries.mkdir(parents=True, exist_ok=True)
                _build(articles, folder)
                stamp.write_text(digest)
            except OSError as error:
                raise _unwritable(settings, error) from error
    return folder


def _build(articles: Path, folder: Path) -> None:
    from sleuth.library import index

    fresh = Path(tempfile.mkdtemp(prefix=f".{SAMPLE}-", dir=folder.parent))
    try:
        index([articles], fresh)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # another process was faster: its build is as good
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def open_source(folder: Path) -> Source:
    """The library in that folder, to be searched. Raises `NoLibrary`, `LibraryFault`."""
    from sleuth.library import Library
    from sleuth.sources.library import LibrarySource

    return LibrarySource(Library.open(folder))


def _how(settings: Settings) -> str:
    return f"Libraries: {listing(names(settings))}. Make one with: sleuth index PATH --library NAME"


def _unwritable(settings: Settings, error: OSError) -> EnvironmentFault:
    return EnvironmentFault(
        f"The sample library cannot be built in {settings.libraries}: {error.strerror or error}.",
        hint="Free some space, or name another folder in SLEUTH_HOME.",
    )
