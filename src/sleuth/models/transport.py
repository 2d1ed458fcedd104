"""The official client, set up so that nothing it does is hidden and no answer can fill the memory.

Imported where a model is first called: it loads the `openai` package (about 0.5 s).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2 as http
import openai

Response = http.Response

_INFLATES = 1032
"""The most that deflate makes of a byte (zlib's technical details)."""


class AnswerTooLong(openai.OpenAIError):
    """The answer has more bytes than are read. An `OpenAIError`, so that the client passes it on as it is."""


class _Bounded(http.AsyncByteStream):
    """An answer's bytes, up to a limit."""

    def __init__(self, inner: Any, most: int) -> None:
        self._inner, self._left = inner, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._left -= len(part)
            if self._left < 0:
                raise AnswerTooLong
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Client(openai.DefaultAsyncHttpxClient):
    """The client's own HTTP client (its time-outs, proxies and pools), with bounded answers."""

    most_bytes = 0
    keyless = False

    async def send(self, request: http.Request, *, stream: bool = False, **options: Any) -> http.Response:
        if self.keyless:  # the client insists on a key; a server that needs none is sent none
            request.headers.pop("Authorization", None)
        response = await super().send(request, stream=True, **options)
        packed = response.headers.get("content-encoding", "identity") != "identity"
        response.stream = _Bounded(response.stream, self.most_bytes // _INFLATES if packed else self.most_bytes)
        if not stream:
            try:
                await response.aread()
            except BaseException:  # whatever it is, it is raised again
                await response.aclose()
                raise
        return response


def connect(
    base_url: str, key: str | None, timeout: float, most_bytes: int, headers: Mapping[str, str]
) -> openai.AsyncOpenAI:
    """A client for one event loop. `timeout`: seconds without a byte; connecting takes at most 10 of them."""
    limits = http.Timeout(timeout, connect=min(10.0, timeout))
    inner = _Client(timeout=limits, limits=http.Limits(max_connections=1000, max_keepalive_connections=100))
    inner.most_bytes, inner.keyless = most_bytes, key is None
    sent: dict[str, Any] = {"Accept-Encoding": "identity", **headers}
    if not base_url.startswith(("https://api.openai.com/",)):  # what the environment holds is for OpenAI alone
        sent |= {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
    return openai.AsyncOpenAI(
        base_url=base_url,
        api_key=key or "none",
        timeout=limits,
        max_retries=0,
        default_headers=sent,
        http_client=inner,
    )
