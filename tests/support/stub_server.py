"""A real HTTP server on loopback that speaks the OpenAI dialect, and misbehaves on request. Standard library only.

    with StubServer(reply="Paris") as server:
        server.faults.append(too_many(retry_after=1))      # the next POST is answered so; later ones are well
        ... OpenAIModel("stub", base_url=server.url) ...
        server.posts[-1].body["stop"]

`Manners` says what the endpoint can do at all; a `Fault` spoils one answer. As a program (``python stub_server.py``)
it prints its base address and serves until its standard input closes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

Body = dict[str, Any]
Reply = Callable[[Body], str]


@dataclass(frozen=True)
class Fault:
    """How one answer is spoiled. Seconds; `stall_after` and `close_after` count bytes of the answer's body."""

    status: int = 200
    body: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    stall_after: int | None = None
    stall: float = 30.0
    close_after: int | None = None
    no_answer: bool = False


def error(status: int, message: str, *, code: str | None = None, param: str | None = None, **headers: str) -> Fault:
    return Fault(status, _error(message, code, param), headers=headers)


def too_many(retry_after: float | str | None = None) -> Fault:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Fault(429, _error("Rate limit reached", "rate_limit_exceeded"), headers=headers)


def broken(status: int = 500) -> Fault:
    return Fault(status, b"upstream connect error", content_type="text/plain")


def html(status: int = 200) -> Fault:
    return Fault(status, b"<!doctype html><html><body>Welcome to nginx</body></html>", content_type="text/html")


def truncated() -> Fault:
    return Fault(200, b'{"id": "cmpl-1", "choices": [{"index": 0, "text": "half')


def wrong_type() -> Fault:
    """A good answer, labelled text/plain."""
    return Fault(content_type="text/plain")


def slow(seconds: float) -> Fault:
    return Fault(delay=seconds)


def stalls(after: int = 20, seconds: float = 30.0) -> Fault:
    return Fault(stall_after=after, stall=seconds)


def hangs_up(after: int | None = None) -> Fault:
    """Close the connection before an answer, or after so many bytes of its body."""
    return Fault(no_answer=True) if after is None else Fault(close_after=after)


def empty_choices() -> Fault:
    return Fault(200, b'{"id": "x", "choices": []}')


def huge(size: int) -> Fault:
    return Fault(200, b'{"choices": [{"text": "' + b"a" * size + b'"}]}')


def _error(message: str, code: str | None = None, param: str | None = None) -> bytes:
    return json.dumps({"error": {"message": message, "type": "x", "code": code, "param": param}}).encode()


@dataclass
class Manners:
    """What the endpoint can do at all. `rejects` names request fields answered with 400."""

    completions: str = "yes"  # or: "404", "405", "chat model" (as OpenAI says it), "400"
    chat: bool = True
    rejects: frozenset[str] = frozenset()
    ignores_stop: bool = False
    says_stop: str = ""  # the extra field that names the stop text: "stop_reason", "matched_stop", "stopping_word"
    thinks: str = ""  # "tags", "field"
    usage: bool = True
    cached: int | None = None
    extras: bool = False
    repeats_prefix: bool = False
    no_prefix: bool = False
    finish: str | None = None
    models: tuple[str, ...] = ("stub", "other-model")
    key: str | None = None
    context: int | None = None  # characters
    streams: bool = True
    tool_calls: tuple[tuple[str, str, str], ...] = ()  # id, name, arguments
    chunk: int = 4  # characters a streamed piece
    pause: float = 0.0  # seconds between pieces


@dataclass(frozen=True)
class Post:
    path: str
    headers: Mapping[str, str]
    body: Body
    at: float


class StubServer:
    """Runs in a thread of its own; every POST is kept in `posts`."""

    def __init__(self, manners: Manners | None = None, *, reply: str | Reply = "Paris", port: int = 0) -> None:
        self.manners = manners or Manners()
        self.reply: Reply = reply if callable(reply) else lambda _: reply
        self.faults: deque[Fault] = deque()
        self.posts: list[Post] = []
        self.aborted: list[float] = []  # when clients went away while they were being answered
        self.connections = 0
        self.port = port
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="stub server", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> StubServer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._stopped, self._tasks = asyncio.get_running_loop(), asyncio.Event(), set[asyncio.Task[None]]()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        if method == "GET":
            await _send(writer, Fault(), self._models() if path == "/v1/models" else None)
            return True
        body = json.loads(raw)
        self.posts.append(Post(path, headers, body, time.monotonic()))
        fault = self.faults.popleft() if self.faults else Fault()
        return await self._answer(reader, writer, path, headers, body, fault)

    async def _answer(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        path: str,
        headers: Mapping[str, str],
        body: Body,
        fault: Fault,
    ) -> bool:
        if fault.no_answer or not await self._linger(reader, fault.delay):
            return False
        if fault.body is not None or fault.status != 200:
            await _send(writer, fault, fault.body or b"")
            return True
        refusal = self._refuse(path, headers, body)
        if refusal is not None:
            await _send(writer, refusal, refusal.body)
            return True
        answer = self._complete(path, body)
        if body.get("stream") and self.manners.streams:
            return await self._stream(reader, writer, answer, body, fault)
        data = json.dumps(answer).encode()
        if fault.stall_after is None and fault.close_after is None:
            await _send(writer, fault, data)
            return True
        cut = fault.close_after if fault.stall_after is None else fault.stall_after
        await _send(writer, fault, data[:cut], length=len(data))
        return await self._linger(reader, fault.stall) and False if fault.stall_after is not None else False

    async def _linger(self, reader: asyncio.StreamReader, seconds: float) -> bool:
        """Wait; False if the client goes away meanwhile."""
        if seconds <= 0:
            return True
        try:
            gone = await asyncio.wait_for(reader.read(1), seconds)
        except TimeoutError:
            return True
        except ConnectionError:
            gone = b""
        if not gone:
            self.aborted.append(time.monotonic())
        return False

    def _models(self) -> bytes:
        return json.dumps({"object": "list", "data": [{"id": name} for name in self.manners.models]}).encode()

    def _refuse(self, path: str, headers: Mapping[str, str], body: Body) -> Fault | None:
        can, chat = self.manners, path.endswith("/chat/completions")
        if can.key is not None and headers.get("authorization") != f"Bearer {can.key}":
            return error(401, f"Incorrect API key provided: {headers.get('authorization', '')}", code="invalid_api_key")
        if path not in ("/v1/completions", "/v1/chat/completions") or (chat and not can.chat):
            return Fault(404, b'{"detail": "Not Found"}')
        if not chat and can.completions != "yes":
            if can.completions == "chat model":
                return error(404, "This is a chat model and not supported in the v1/completions endpoint.")
            return error(int(can.completions), "Not supported")
        if body["model"] not in can.models:
            return error(404, f"The model `{body['model']}` does not exist", code="model_not_found")
        for name in sorted(can.rejects & set(body)):
            hint = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
            return error(400, f"Unsupported parameter: '{name}' is not supported with this model.{hint}", param=name)
        text = _prompt(body)
        if can.context is not None and len(text) > can.context:
            return error(400, f"This model's maximum context length is {can.context} tokens, reduce the max_tokens.")
        if chat and can.no_prefix and body["messages"][-1]["role"] == "assistant":
            return error(400, "Expected last role User or Tool (or Assistant with prefix True) for serving")
        return None

    def _complete(self, path: str, body: Body) -> Body:
        can, chat = self.manners, path.endswith("/chat/completions")
        text, finish, why = self.reply(body), "stop", None
        if can.repeats_prefix and chat and body["messages"][-1]["role"] == "assistant":
            text = body["messages"][-1]["content"] + text
        thought = "I should think."
        if can.thinks == "tags":
            text = f"<think>\n{thought}\n</think>\n\n{text}"
        if not can.ignores_stop:
            stops = body.get("stop") or []
            hits = [(text.find(s), s) for s in ([stops] if isinstance(stops, str) else stops) if s in text]
            if hits:
                at, why = min(hits)
                text = text[:at]
        tokens = re.findall(r"\s*\S+|\s+$", text)
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 1 << 30
        if len(tokens) > limit:
            text, finish, why, tokens = "".join(tokens[:limit]), "length", None, tokens[:limit]
        choice: Body = {"index": 0, "finish_reason": can.finish or finish}
        if can.says_stop:
            choice[can.says_stop] = why
        if chat:
            message: Body = {"role": "assistant", "content": text}
            if can.thinks == "field":
                message["reasoning_content"] = thought
            if can.tool_calls and body.get("tools"):
                choice["finish_reason"], message["content"] = "tool_calls", None
                message["tool_calls"] = [
                    {"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in can.tool_calls
                ]
            choice["message"] = message
            logs: Body = {"content": [{"token": token, "logprob": -0.5} for token in tokens]}
        else:
            choice["text"] = text
            logs = {"tokens": tokens, "token_logprobs": [-0.5] * len(tokens)}
        choice["logprobs"] = logs if body.get("logprobs") else None
        answer: Body = {"id": "x", "object": "text_completion", "model": body["model"], "choices": [choice]}
        if can.usage:
            answer["usage"] = {"prompt_tokens": len(_prompt(body).split()), "completion_tokens": len(tokens)}
            if can.cached is not None:
                answer["usage"]["prompt_tokens_details"] = {"cached_tokens": can.cached}
        if can.extras:
            answer |= {"timings": {"predicted_ms": 3}, "x_groq": None, "choices2": [1]}
            choice |= {"token_ids": [1, 2], "surprise": {"deep": []}}
        return answer

    async def _stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Body, body: Body, fault: Fault
    ) -> bool:
        choice = answer["choices"][0]
        message = choice.pop("message", None)
        logs, choice["logprobs"] = choice["logprobs"], None
        last = {**choice, "text": ""} if message is None else {**choice, "delta": {}}
        usage = answer.pop("usage", None)
        wanted = (body.get("stream_options") or {}).get("include_usage")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        sent = 0
        pieces = _pieces(message, choice.get("text", ""), self.manners.chunk)
        for piece in [*(_told(logs) if logs else pieces), last]:
            part = {**answer, "choices": [{"index": 0, "finish_reason": None, **piece}]}
            sent += await _chunk(writer, f"data: {json.dumps(part)}\n\n".encode())
            if not await self._linger(reader, self.manners.pause):
                return False
            if fault.close_after is not None and sent >= fault.close_after:
                return False
            if fault.stall_after is not None and sent >= fault.stall_after:
                await self._linger(reader, fault.stall)
                return False
        if usage and wanted:
            await _chunk(writer, f"data: {json.dumps({**answer, 'choices': [], 'usage': usage})}\n\n".encode())
        await _chunk(writer, b"data: [DONE]\n\n")
        await _chunk(writer, b"")
        return True


def _pieces(message: Body | None, text: str, size: int) -> list[Body]:
    if message is None:
        return [{"text": text[i : i + size]} for i in range(0, len(text), size)]
    parts: list[Body] = [{"delta": {"role": "assistant", "content": ""}}]
    if message.get("reasoning_content"):
        parts.append({"delta": {"reasoning_content": message["reasoning_content"]}})
    content = message.get("content") or ""
    parts += [{"delta": {"content": content[i : i + size]}} for i in range(0, len(content), size)]
    for index, call in enumerate(message.get("tool_calls", [])):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        head = {"index": index, "id": call["id"], "function": {"name": name, "arguments": ""}}
        parts.append({"delta": {"tool_calls": [head]}})
        for i in range(0, len(arguments), size):
            tail = {"index": index, "function": {"arguments": arguments[i : i + size]}}
            parts.append({"delta": {"tool_calls": [tail]}})
    return parts


def _told(logs: Body) -> list[Body]:
    """A token a piece, each with its log-probability."""
    if "content" in logs:
        return [{"delta": {"content": log["token"]}, "logprobs": {"content": [log]}} for log in logs["content"]]
    pairs = zip(logs["tokens"], logs["token_logprobs"], strict=True)
    return [{"text": token, "logprobs": {"tokens": [token], "token_logprobs": [log]}} for token, log in pairs]


def _prompt(body: Body) -> str:
    if "prompt" in body:
        return str(body["prompt"])
    return "".join(str(message["content"]) for message in body["messages"])


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> int:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()
    return len(data)


async def _send(writer: asyncio.StreamWriter, fault: Fault, data: bytes | None, *, length: int | None = None) -> None:
    status, data = (404, b'{"detail": "Not Found"}') if data is None else (fault.status, data)
    head = [f"HTTP/1.1 {status} X", f"Content-Type: {fault.content_type}", f"Content-Length: {length or len(data)}"]
    head += [f"{name}: {value}" for name, value in fault.headers.items()]
    writer.write("\r\n".join([*head, "", ""]).encode() + data)
    await writer.drain()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--reply", default="Paris")
    options = parser.parse_args()
    with StubServer(reply=options.reply, port=options.port) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
