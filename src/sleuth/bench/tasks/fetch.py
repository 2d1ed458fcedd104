"""A data set's file from its authors' address: fetched once, whole or not at all, its checksum kept beside it."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

from sleuth.errors import BadInput, DownloadError
from sleuth.models.job import Job, Lock

if TYPE_CHECKING:
    import httpx2 as http

MOST_BYTES = 4 << 30
MOST_SECONDS = 3600.0
QUIET_SECONDS = 30.0
"""Longest wait for the next byte."""
MOST_REDIRECTS = 5


def fetched(address: str, folder: Path, *, most_bytes: int = MOST_BYTES, most_seconds: float = MOST_SECONDS) -> Path:
    """The file behind a http or https address, kept in `folder`; asked for only where it is not there yet.

    What came of a broken download is continued the next time, if the server still has the same file. Beside the file
    stands NAME.json with its address, size and SHA-256; a kept file that no longer has them is fetched anew. Raises
    `BadInput` for an address that is none, `DownloadError` for what cannot be had.
    """
    url = checked(address)
    target = folder / _name(url)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with Lock(Job(), folder / f".{target.name}.lock"):
            if not _is_kept(target):
                _bring(url, target, most_bytes, time.monotonic() + most_seconds)
    except OSError as error:
        raise DownloadError(f"{url} could not be kept in {folder}: {error.strerror or error}.") from error
    return target


def checked(address: str) -> str:
    """The address without its fragment, if it is one that may be asked. Raises `BadInput`."""
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good or any(ord(letter) <= 32 for letter in address):
        raise BadInput(f"'{address}' is no address of a file.", hint="Give one that begins with https://, or a path.")
    return parts._replace(fragment="").geturl()


def _name(url: str) -> str:
    """A file name for an address: the end of its path, and a digest of all of it."""
    end = re.sub(r"[^A-Za-z0-9._-]+", "_", unquote(urlsplit(url).path).rsplit("/", 1)[-1]).strip("._")[-60:]
    return f"{hashlib.blake2b(url.encode(), digest_size=5).hexdigest()}-{end or 'file'}"


def _about(target: Path) -> Path:
    return target.with_name(target.name + ".json")


def _is_kept(target: Path) -> bool:
    try:
        row = json.loads(_about(target).read_text(encoding="utf-8"))
        return bool(row["bytes"] == target.stat().st_size and row["sha256"] == sha256(target))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def sha256(path: Path) -> str:
    """The checksum of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _bring(url: str, target: Path, most_bytes: int, until: float) -> None:
    import httpx2 as http

    part, mark = target.with_name(target.name + ".part"), target.with_name(target.name + ".mark")
    timeout = http.Timeout(QUIET_SECONDS)
    try:
        with http.Client(timeout=timeout, follow_redirects=False) as client:
            _follow(client, url, part, mark, most_bytes, until)
    except http.HTTPError as error:
        raise DownloadError(
            f"{url} could not be fetched: {error or type(error).__name__}.",
            hint="Try again: what came so far is kept. Or download it yourself and give its path.",
        ) from error
    row = {"address": url, "bytes": part.stat().st_size, "sha256": sha256(part), "fetched": time.time()}
    part.replace(target)
    half = target.with_name(target.name + ".half")
    half.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    half.replace(_about(target))
    mark.unlink(missing_ok=True)


def _follow(client: http.Client, url: str, part: Path, mark: Path, most_bytes: int, until: float) -> None:
    """Ask, follow redirects that stay on the web (and never from https to http), and write what comes."""
    asked, headers = url, {"User-Agent": "sleuth", "Accept-Encoding": "identity", **_continued(part, mark)}
    for _ in range(MOST_REDIRECTS + 1):
        with client.stream("GET", asked, headers=headers) as reply:
            if reply.is_redirect:
                asked = _next(asked, reply.headers.get("location", ""))
                continue
            if reply.status_code == 416:  # the kept part is not one of this file: begin anew
                part.unlink(missing_ok=True)
                raise DownloadError(f"{url} is another file than the part kept of it.", hint="Try again.")
            if reply.status_code not in (200, 206):
                raise DownloadError(
                    f"{url} could not be fetched: the server answered {reply.status_code}.",
                    hint="Check the address, or download the file yourself and give its path.",
                )
            _keep(reply, url, part, mark, most_bytes, until)
            return
    raise DownloadError(f"{url} sends on and on to other addresses.", hint="Download it yourself and give its path.")


def _next(asked: str, location: str) -> str:
    try:
        to = checked(urljoin(asked, location))
    except (BadInput, ValueError) as fault:
        raise DownloadError(f"{asked} sends on to '{location}', which is no web address.") from fault
    if asked.startswith("https:") and not to.startswith("https:"):
        raise DownloadError(f"{asked} sends on to an address without encryption, {to}.")
    return to


def _continued(part: Path, mark: Path) -> Mapping[str, str]:
    """Headers that ask for the rest, where a part is kept and the server named the file it is of."""
    try:
        named, have = mark.read_text(encoding="ascii"), part.stat().st_size
    except (OSError, UnicodeError):
        return {}
    return {"Range": f"bytes={have}-", "If-Range": named} if have and named else {}


def _keep(reply: http.Response, url: str, part: Path, mark: Path, most_bytes: int, until: float) -> None:
    if reply.headers.get("content-encoding", "identity") != "identity":
        raise DownloadError(f"{url} came in an encoding that was not asked for.", hint="Download it yourself.")
    start = _begin(reply, url, part)
    named = reply.headers.get("etag", "")
    mark.write_text(named if named.isascii() and named.startswith('"') else "", encoding="ascii")
    size, done = _told(reply), start
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        file.truncate()
        for block in reply.iter_raw():
            done += len(block)
            if done > most_bytes:
                raise _too_large(url, most_bytes, part)
            if time.monotonic() > until:
                raise DownloadError(f"{url} takes too long.", hint="Try again: what came so far is kept.")
            file.write(block)
    if size is not None and done - start != size:
        raise DownloadError(f"{url} ended after {done:,} bytes, before its end.", hint="Try again.")


def _begin(reply: http.Response, url: str, part: Path) -> int:
    """At which byte of the file the reply begins."""
    if reply.status_code == 200:
        return 0
    have = part.stat().st_size if part.exists() else 0
    match = re.match(r"bytes (\d+)-", reply.headers.get("content-range", ""))
    if match is None or int(match[1]) != have:
        part.unlink(missing_ok=True)
        raise DownloadError(f"{url} answered with another part of the file.", hint="Try again.")
    return have


def _told(reply: http.Response) -> int | None:
    told: Any = reply.headers.get("content-length", "")
    return int(told) if told.isdigit() else None


def _too_large(url: str, most: int, part: Path) -> DownloadError:
    part.unlink(missing_ok=True)
    return DownloadError(f"{url} is larger than {most:,} bytes.", hint="Download it yourself and give its path.")
