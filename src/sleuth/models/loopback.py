"""Just enough HTTP to speak with the embedded model's process on this machine.

One request a connection, so nothing is bound to an event loop, and closing the connection is what tells the process
to stop. For anything beyond loopback there is the `openai` client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

LINE_LIMIT = 1 << 24


class Gone(Exception):
    """The process does not answer, or hung up in the middle of its reply."""


class Exchange:
    """One request (GET without a payload, else POST) and its reply: ``async with Exchange(...) as exchange`` sends, then `status` is known."""

    def __init__(self, address: str, key: str, path: str, payload: Mapping[str, Any] | None) -> None:
        self._address = address
        method = "GET" if payload is None else "POST"
        self._head = f"{method} {path} HTTP/1.1\r\nHost: loopback\r\nAuthorization: Bearer {key}\r\n"
        self._payload = b"" if payload is None else json.dumps(payload).encode()
        self._rest = b""
        self._left: int | None = None
        self.status = 0

    async def __aenter__(self) -> Exchange:
        url = urlsplit(self._address)
        try:
            self._stream: SocketStream = await anyio.connect_tcp(url.hostname or "127.0.0.1", url.port or 80)
        except OSError as error:
            raise Gone(str(error)) from error
        try:
            await self._send()
        except BaseException:  # whatever it is, it is raised again
            await anyio.aclose_forcefully(self._stream)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await anyio.aclose_forcefully(self._stream)

    async def _send(self) -> None:
        tail = f"Content-Type: application/json\r\nContent-Length: {len(self._payload)}\r\nConnection: close\r\n\r\n"
        self._reader = BufferedByteReceiveStream(self._stream)
        try:
            await self._stream.send((self._head + tail).encode() + self._payload)
            head = (await self._reader.receive_until(b"\r\n\r\n", LINE_LIMIT)).decode("latin-1").split("\r\n")
        except (OSError, anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead) as error:
            raise Gone("no reply") from error
        self.status = int(head[0].split()[1])
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        self._left = (
            None if "chunked" in fields.get("transfer-encoding", "") else int(fields.get("content-length", "0"))
        )

    async def _block(self) -> bytes:
        """The next block of the body; b"" at its end."""
        try:
            if self._left is not None:
                size, self._left = self._left, 0
                return await self._reader.receive_exactly(size) if size else b""
            size = int((await self._reader.receive_until(b"\r\n", 100)).split(b";")[0], 16)
            data = await self._reader.receive_exactly(size) if size else b""
            await self._reader.receive_until(b"\r\n", 100)
        except (OSError, anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead) as error:
            raise Gone("it hung up") from error
        return data

    async def line(self) -> bytes | None:
        """The next line of the body, without its end; None when there is none."""
        while b"\n" not in self._rest:
            block = await self._block()
            if not block:
                rest, self._rest = self._rest, b""
                return rest or None
            self._rest += block
        line, _, self._rest = self._rest.partition(b"\n")
        return line.rstrip(b"\r")

    async def body(self) -> Any:
        """The whole body, read as JSON."""
        parts = [self._rest]
        while block := await self._block():
            parts.append(block)
        return json.loads(b"".join(parts) or b"null")


async def post(address: str, key: str, path: str, payload: Mapping[str, Any]) -> tuple[int, Any]:
    """Status and JSON body of one request. Raises `Gone`."""
    async with Exchange(address, key, path, payload) as exchange:
        return exchange.status, await exchange.body()
