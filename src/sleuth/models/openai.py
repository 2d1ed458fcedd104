"""Models behind OpenAI-compatible servers: OpenAI, vLLM, llama.cpp, Ollama, LM Studio, OpenRouter and others.

The official client carries the requests (address, key, headers, connections, event streams); its own retries are
off, because `sleuth.models.retry` makes them visible. Requests and answers go past its typed models: an answer with
missing or unknown fields is read as far as it goes.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sleuth.errors import ModelError
from sleuth.models import faults, reply, wire
from sleuth.types import Completion, Generate, Message, Shape, Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from sleuth.ports import Pieces, Report

_Known: TypeAlias = tuple[wire.Dialect | None, frozenset[str]]

OPENAI = "https://api.openai.com/v1"
MESSAGE_OVERHEAD = 16
"""Tokens counted for a message's role marks; chat templates write 3 to 8."""
DIALOGUE_OVERHEAD = 96
"""Tokens counted for what a chat template adds on its own, such as a default system sentence."""


class OpenAIModel:
    """A model of an OpenAI-compatible server. Implements `sleuth.ports.Model`.

    What the endpoint takes is found out by calling it and remembered for this object: raw completions or chat turns
    (``/completions`` is tried once; the OpenAI service itself gets chat), ``stop``, ``temperature``, ``logprobs``,
    constrained replies, a system turn, a trailing assistant turn, the name of the token limit. Each part an endpoint
    refuses is left out from then on and reported as a ``repair``.

    `name`: the model's name at the server. `base_url`: up to and with ``/v1``; None is the OpenAI service.
    `timeout`: seconds without a byte from the server (connecting: at most 10 of them). `dialect`: "raw" or "chat",
    None to find out. `price_read`, `price_cached`, `price_written`: US dollars per million tokens; 0 unless given,
    since no price list stays true; `price_cached` is `price_read` unless given. `most_bytes`: a longer answer is an error.
    `headers`: sent with each request. May be used from several event loops; each has its own connections.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        dialect: wire.Dialect | None = None,
        price_read: float = 0.0,
        price_cached: float | None = None,
        price_written: float = 0.0,
        most_bytes: int = 16_000_000,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._model = name
        self._base_url = (base_url or OPENAI).rstrip("/")
        self._where = faults.address(self._base_url)
        self._official = self._base_url.startswith("https://api.openai.com/")
        self._key = api_key
        self._timeout = timeout
        self._dialect: wire.Dialect | None = "chat" if self._official and dialect is None else dialect
        self._refused = frozenset({"max_tokens", "grammar"}) if self._official else frozenset[str]()
        self._told: set[type[Shape]] = set()
        self._prices = (price_read, price_read if price_cached is None else price_cached, price_written)
        self._most_bytes = most_bytes
        self._headers = dict(headers or {})
        self._clients: dict[asyncio.AbstractEventLoop, AsyncOpenAI] = {}

    def __repr__(self) -> str:
        return f"OpenAIModel({self._model!r}, base_url={self._where!r})"

    @property
    def name(self) -> str:
        return f"openai:{self._model}" if self._official else f"{self._where}#{self._model}"

    @property
    def dialect(self) -> wire.Dialect | None:
        """The form requests are sent in; None until the first call has found out."""
        return self._dialect

    @property
    def refused(self) -> frozenset[str]:
        """Parts of a request that the endpoint is known not to take ("stop", "temperature", ...)."""
        return self._refused

    def price(self, read: int, written: int) -> float:
        """US dollars for so many tokens, by the prices given, none of them read from cache."""
        return (read * self._prices[0] + written * self._prices[2]) / 1e6

    async def count(self, messages: Sequence[Message]) -> int:
        """An upper bound: the UTF-8 bytes (no byte-level or byte-fallback tokeniser makes more than a token a byte),
        and `MESSAGE_OVERHEAD` a message and `DIALOGUE_OVERHEAD` for chat templates. English has about 4 bytes a token."""
        return sum(len(m.content.encode()) + MESSAGE_OVERHEAD for m in messages) + DIALOGUE_OVERHEAD

    async def aclose(self) -> None:
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        """One call; streamed when `pieces` is given. Raises `ModelError` and its kin, with ``details["retryable"]``."""
        if self._official and not self._key:
            raise ModelError("The OpenAI service needs an API key.", hint="Set OPENAI_API_KEY.", retryable=False)
        while True:
            started = time.perf_counter()
            known = self._dialect, self._refused
            dialect = "chat" if request.tools else self._dialect or "raw"
            self._note_shape(request, dialect, report)
            body = wire.render(request, self._model, dialect, self._refused, stream=pieces is not None)
            growing = reply.Growing(request.stop, "" if dialect == "raw" else wire.prefix_of(request.messages))
            answer = await self._post(dialect, body, growing, pieces)
            if isinstance(answer, faults.Refusal):
                await self._repair(answer, body, known, report)
                continue
            if self._dialect is None and not request.tools:
                self._dialect = dialect
            written, told = answer
            if self._cut_while_thinking(written, body):
                self._leave_out("stop", "a stop text cut the reply off while it was thinking aloud", report)
                continue
            return await self._complete(request, body, growing, written, told, time.perf_counter() - started)

    # --- one request --------------------------------------------------------------------------------------------

    async def _post(
        self, dialect: wire.Dialect, body: wire.Body, growing: reply.Growing, pieces: Pieces | None
    ) -> tuple[reply.Written, Any] | faults.Refusal:
        """Send it; what was written and the usage told, or the refusal."""
        import openai  # 0.5 s: only when a model is called

        from sleuth.models.transport import AnswerTooLong

        path = "/completions" if dialect == "raw" else "/chat/completions"
        try:
            if pieces is None:
                return self._whole(await self._send(path, body))
            return await self._streamed(path, body, growing, pieces)
        except openai.APIStatusError as error:
            return faults.read_refusal(error.status_code, error.response.text, error.response.headers, self._key)
        except openai.APITimeoutError as error:
            connecting = type(error.__cause__).__name__ in ("ConnectTimeout", "PoolTimeout")
            seconds = min(10.0, self._timeout) if connecting else self._timeout
            raise faults.timed_out(self._where, seconds, connecting) from None
        except openai.APIConnectionError as error:
            raise faults.unreachable(self._where, error.__cause__) from None
        except openai.APIError as error:  # an error in the middle of an event stream
            return faults.refusal_in(200, error.body, self._key)
        except AnswerTooLong:
            text = f"more than {self._most_bytes:,} bytes, the most that is read"
            raise ModelError(f"{self._where} answered {text}.", retryable=False) from None

    async def _send(self, path: str, body: wire.Body) -> Any:
        client = self._client()
        from sleuth.models.transport import Response

        return await client.post(path, cast_to=Response, body=body)

    def _whole(self, response: Any) -> tuple[reply.Written, Any] | faults.Refusal:
        """An answer that came in one piece."""
        try:
            answer = json.loads(response.content)
        except (ValueError, RecursionError):
            refusal = faults.read_refusal(200, response.text, response.headers, self._key)
            if refusal.html:
                raise faults.answered_html(self._where, 200) from None
            what = f"something that is not JSON, or is cut off ({response.text[:60]!r})"
            raise faults.broken_answer(self._where, faults.shown(what, self._key)) from None
        if isinstance(answer, Mapping) and answer.get("error") and not answer.get("choices"):
            return faults.refusal_in(200, answer, self._key, faults.retry_after(response.headers))
        choices = answer.get("choices") if isinstance(answer, Mapping) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            raise faults.broken_answer(self._where, "without a reply (no choices)")
        return reply.read_choice(choices[0]), answer.get("usage")

    async def _streamed(
        self, path: str, body: wire.Body, growing: reply.Growing, pieces: Pieces
    ) -> tuple[reply.Written, Any] | faults.Refusal:
        """An answer read while it is written; the connection is closed as soon as a stop text is cut here."""
        import openai

        stream: Any = await self._client().post(
            path, cast_to=object, body=body, stream=True, stream_cls=openai.AsyncStream[object]
        )
        try:
            kind = stream.response.headers.get("content-type", "")
            if "event-stream" not in kind:  # it does not stream: the answer is whole
                await stream.response.aread()
                whole = self._whole(stream.response)
                if not isinstance(whole, faults.Refusal):
                    _hand(pieces, growing.add(whole[0].text) + growing.rest())
                return whole
            return await self._listen(stream, growing, pieces)
        finally:
            await stream.close()

    async def _listen(
        self, stream: AsyncIterator[object], growing: reply.Growing, pieces: Pieces
    ) -> tuple[reply.Written, Any]:
        coming = reply.Coming()
        try:
            async for chunk in stream:
                _hand(pieces, growing.add(coming.add(chunk)))
                if growing.stopped:
                    break
        except (ValueError, RecursionError):
            raise faults.broken_answer(self._where, "a stream that is not JSON") from None
        if not coming.begun:
            raise faults.broken_answer(self._where, "without a reply (an empty stream)")
        if not (growing.stopped or coming.ended):
            raise faults.unreachable(self._where, None)
        _hand(pieces, growing.rest())
        return coming.written(growing.written), coming.usage

    def _client(self) -> AsyncOpenAI:
        """This event loop's client; connections cannot be shared between loops, or with a forked process."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            from sleuth.models.transport import connect

            client = connect(self._base_url, self._key, self._timeout, self._most_bytes, self._headers)
            self._clients = {old: kept for old, kept in self._clients.items() if not old.is_closed()}
            self._clients[loop] = client
        return client

    # --- what the endpoint does not take ------------------------------------------------------------------------

    async def _repair(self, refusal: faults.Refusal, body: wire.Body, known: _Known, report: Report) -> None:
        """Remember what to leave out and return, or raise the refusal as an error.

        `known` is what was known when the request was made: a call beside it may have learnt the same meanwhile.
        """
        dialect, refused = known
        if "prompt" in body and dialect is None and refusal.no_dialect:
            if self._dialect != "chat":
                self._dialect = "chat"
                text = "the endpoint has no raw completions for this model: chat turns from now on"
                report("repair", text, status=refusal.status)
            return
        if refusal.status in (400, 422) and not refusal.too_long:
            part = wire.refusal(body, refusal.message, refusal.param)
            if part is not None and part not in refused:
                self._leave_out(part, refusal.message, report)
                return
        if refusal.no_model:
            raise await self._no_model(refusal)
        raise faults.error_of(refusal, self._model, self._where)

    def _leave_out(self, part: str, why: str, report: Report) -> None:
        if part not in self._refused:
            self._refused |= {part}
            report("repair", f"the endpoint does not take {part!r}: left out from now on ({why})", part=part)

    def _note_shape(self, request: Generate, dialect: wire.Dialect, report: Report) -> None:
        """Say once for each kind of shape that it cannot be asked of this endpoint at all."""
        shape = request.shape
        if shape is None or "shape" in self._refused or type(shape) in self._told:
            return
        if not wire.shape_fields(shape, dialect, grammars="grammar" not in self._refused):
            self._told.add(type(shape))
            text = f"the endpoint offers no {type(shape).__name__} constraint: the reply is free"
            report("repair", text, part="shape")

    def _cut_while_thinking(self, written: reply.Written, body: wire.Body) -> bool:
        if "stop" not in body or "stop" in self._refused or written.finish != "stop":
            return False
        parts = reply.visible(written.text, ())
        return bool(written.reasoning or parts.start) and not parts.text.strip() and not written.calls

    async def _no_model(self, refusal: faults.Refusal) -> ModelError:
        """The error for an unknown model, with some that the server does have, if it tells."""
        import openai

        names: list[str] = []
        try:
            answer: Any = await self._client().get("/models", cast_to=object, options={"timeout": 5.0})
            names = [str(entry["id"]) for entry in answer["data"]][:8]
        except (openai.APIError, ValueError, TypeError, KeyError):
            names = []
        hint = f"It has: {', '.join(names)}." if names else "Check the model's name."
        text = f"{self._where} has no model named {self._model!r}."
        return ModelError(text, hint=hint, status=refusal.status, retryable=False, models=names)

    # --- the reply ----------------------------------------------------------------------------------------------

    async def _complete(
        self,
        request: Generate,
        body: wire.Body,
        growing: reply.Growing,
        written: reply.Written,
        told: Any,
        seconds: float,
    ) -> Completion:
        if written.refusal or written.finish == "content_filter":
            said = f' It said: "{faults.shown(written.refusal, self._key)}"' if written.refusal else ""
            raise ModelError(f"{self._where} declined to answer (content filter).{said}", retryable=False)
        tokens = reply.tokens_of(told)
        if tokens is None:
            text = written.text + written.reasoning + "".join(call.arguments for call in written.calls)
            tokens = await self.count(request.messages), 0, len(text.encode())
        usd = sum(count * price for count, price in zip(tokens, self._prices, strict=True)) / 1e6
        usage = Usage(calls=1, read=tokens[0], cached=tokens[1], written=tokens[2], usd=usd, seconds=seconds)
        return reply.completion(
            written,
            usage,
            self.name,
            stops=request.stop,
            sent=body.get("stop", ()),
            prefix=growing.prefix,
            logprob=request.logprob,
        )


def _hand(pieces: Pieces, text: str) -> None:
    if text:
        pieces(text)
