"""A file from a hub over HTTP, continued where it stopped; given up at the first failure."""

from __future__ import annotations

import os
import re
import socket
import threading
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

from sleuth.models.job import Job, NotThere

CONNECT_SECONDS = 2.0
READ_SECONDS = 5.0
BLOCK = 1 << 18


def bring(job: Job, address: str, part: Path, size: int) -> None:
    """Append the rest of the file to `part`. Raises `NotThere`."""
    host = urlsplit(address).hostname or ""
    if not _reachable(address):
        raise NotThere(f"The hub {host} cannot be reached.")
    job.check()
    have = part.stat().st_size if part.exists() else 0
    if have == size:
        return
    if have > size:
        part.unlink()
        have = 0
    try:
        with _open(address, have) as reply:
            start = _begins_at(reply, size)
            if start not in (0, have):
                raise NotThere(f"The hub {host} answered with another part of the file.")
            _append(job, reply, part, start, size)
    except (OSError, HTTPException) as error:  # URLError and time-outs are OSErrors
        raise NotThere(f"The hub {host} did not give the file ({error}).") from error


def _reachable(address: str) -> bool:
    """Whether the host takes connections, found out in a short time even where names are not resolved."""
    from urllib.request import getproxies, proxy_bypass

    url = urlsplit(address)
    host, port = url.hostname or "", url.port or (80 if url.scheme == "http" else 443)
    if url.scheme in getproxies() and not proxy_bypass(host):
        return True
    connected = threading.Event()

    def connect() -> None:
        try:
            socket.create_connection((host, port), CONNECT_SECONDS).close()
        except OSError:
            return
        connected.set()

    thread = threading.Thread(target=connect, daemon=True)  # a name server that is silent must not be waited for
    thread.start()
    thread.join(CONNECT_SECONDS)
    return connected.is_set()


def _open(address: str, have: int) -> HTTPResponse:
    from urllib.request import Request, urlopen

    headers = {"User-Agent": "sleuth", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    reply: HTTPResponse = urlopen(Request(address, headers=headers), timeout=READ_SECONDS)  # noqa: S310 - https from our catalogue
    return reply


def _begins_at(reply: HTTPResponse, size: int) -> int:
    """At which byte of the file the reply's body begins. Raises `NotThere` when it is no part of that file."""
    told = reply.headers.get("Content-Range", "")
    match = re.match(r"bytes (\d+)-(\d+)/(\d+)$", told) if reply.status == 206 else None
    if match and int(match[3]) == size:
        return int(match[1])
    if reply.status == 200 and reply.headers.get("Content-Length") == str(size):
        return 0
    raise NotThere("The hub's file has another size.")


def _append(job: Job, reply: HTTPResponse, part: Path, start: int, size: int) -> None:
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        file.truncate()
        while block := reply.read1(BLOCK):
            file.write(block)
            job.tell(file.tell(), size, "from the hub")
        file.flush()
        os.fsync(file.fileno())
        if file.tell() != size:
            raise NotThere("The hub stopped in the middle of the file.")
