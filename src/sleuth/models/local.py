"""The embedded model: any GGUF file, run by llama.cpp (xllamacpp) in a process of its own.

Messages are read as raw text: their contents one after the other, each tokenised by itself (so a growing transcript
keeps its tokens, and the prefix cache), none with special tokens (so text from outside cannot speak as the scaffold).
"""

from __future__ import annotations

import json
import time
import weakref
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.lowlevel import RunVar

from sleuth.errors import BadInput, ContextTooLong, ModelError
from sleuth.models.child import Child, check_file
from sleuth.models.loopback import Exchange, Gone, post
from sleuth.models.machine import usable_cores
from sleuth.models.shapes import constraint
from sleuth.models.slots import Slots
from sleuth.models.tally import Tally
from sleuth.ports import Pieces, Report
from sleuth.types import Completion, Finish, Generate, Json, Message, Usage

REMEMBERED_TEXTS = 4096
STOPPED: dict[str, Finish] = {"word": "label", "eos": "end", "limit": "limit"}


class LocalModel:
    """A GGUF file as a model (`sleuth.ports.Model`).

    The process is started by the first call and again after a crash; `aclose`, the end of this process, even by
    kill -9, end it. `context` is the window in tokens of each of the `slots`, which are the calls that can be in
    flight at once (others queue) and the prompts whose prefix is kept. `threads` defaults to the physical cores.
    `batch` is how many prompt tokens are read in one go: more are cheaper to read, fewer are sooner cancelled (the
    default takes half a second).

    Shapes: `Choice`, `Grammar` and `Verbatim` become grammars; with `Json` the schema alone ends the reply, and stop
    texts are not used. A summed log-probability is that of the model unconstrained. At a temperature above 0 the
    reply is drawn from the whole distribution, seeded by `sample`.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        threads: int | None = None,
        context: int = 8192,
        slots: int = 2,
        batch: int | None = None,
    ) -> None:
        self._path = Path(path)
        self._name = name or f"local:{self._path.stem}"
        self._threads = threads or usable_cores()
        self._context = context
        self._batch = batch
        self._slots = Slots(slots)
        self._gate: RunVar[anyio.Semaphore] = RunVar("sleuth_local_model_gate")
        self._child: Child | None = None
        self._awaited = 0
        self._tokens: OrderedDict[str, tuple[int, ...]] = OrderedDict()

    @property
    def name(self) -> str:
        return self._name

    @property
    def process(self) -> int | None:
        """The id of the model's process while it runs."""
        child = self._child
        return child.pid if child is not None and child.alive else None

    def price(self, read: int, written: int) -> float:
        """Always 0.0."""
        return 0.0

    async def aclose(self) -> None:
        """End the model's process. A later call starts it anew."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    async def count(self, messages: Sequence[Message]) -> int:
        """Tokens of these messages, exactly as `generate` would send them."""
        child = await self._ready(_silent)
        return len(await self._prompt(child, messages))

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        """One call. Raises `BadInput`, `ModelError`, `ContextTooLong`."""
        began = time.monotonic()
        child = await self._ready(report)
        prompt = await self._prompt(child, request.messages)
        if len(prompt) >= child.window:
            raise _too_long(len(prompt), child.window)
        async with self._turn():
            with self._slots.take(prompt, request.role) as slot:
                order = _order(request, prompt, slot.number)
                tally = Tally(request.logprob)
                final = await self._exchange(child, order, tally, pieces)
                slot.tokens = (*prompt, *tally.tokens)
        stop = final["stopping_word"] if final["stop_type"] == "word" else None
        timings = final["timings"]
        return Completion(
            tally.text,
            finish=STOPPED.get(final["stop_type"], "end"),
            stopped_by=stop,
            usage=Usage(
                calls=1,
                read=timings["prompt_n"],
                cached=timings["cache_n"],
                written=timings["predicted_n"],
                seconds=time.monotonic() - began,
            ),
            logprob=tally.logprob(),
            model=self._name,
        )

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """At most so many calls in flight as there are slots; the others queue."""
        try:
            gate = self._gate.get()
        except LookupError:
            gate = anyio.Semaphore(len(self._slots))
            self._gate.set(gate)
        async with gate:
            yield

    async def _exchange(
        self, child: Child, order: dict[str, Any], tally: Tally, pieces: Pieces | None
    ) -> dict[str, Any]:
        """Send a completion request, read its stream to the end, and give the closing record."""
        try:
            async with Exchange(child.address, child.key, "/completion", order) as exchange:
                if exchange.status != 200:
                    raise _refused(exchange.status, await exchange.body())
                while (line := await exchange.line()) is not None:
                    if not line.startswith(b"data: "):
                        continue
                    event = json.loads(line[6:])
                    if "error" in event:
                        raise _refused(int(event["error"].get("code", 500)), event)
                    if "prompt_progress" in event:
                        continue
                    text = tally.add(event)
                    if text and pieces is not None:
                        pieces(text)
                    if event["stop"]:
                        await self._measure_tail(child, tally)
                        return dict(event)
        except Gone as error:
            raise await self._lost(child) from error
        raise await self._lost(child)

    async def _measure_tail(self, child: Child, tally: Tally) -> None:
        for token in tally.unmeasured():
            _, body = await post(child.address, child.key, "/detokenize", {"tokens": [token]})
            tally.measure(token, len(body["content"].encode()))

    async def _lost(self, child: Child) -> ModelError:
        """The error for a process that stopped answering; it is not used again."""
        if child.closed:
            return ModelError("The embedded model was closed in the middle of a call.")
        ended = await child.settle()
        how = child.ended_by() if ended else "it stopped answering"
        child.kill()
        if how == "signal 9":
            how = "killed, as happens when memory runs out"
        return ModelError(
            f"The embedded model's process ended in the middle of a call ({how}). {child.last_words()}".strip(),
            hint="The next call starts it again.",
        )

    async def _prompt(self, child: Child, messages: Sequence[Message]) -> tuple[int, ...]:
        tokens = list(child.opening)
        for message in messages:
            tokens.extend(await self._tokenise(child, message.content))
        if not tokens:
            raise BadInput("The prompt is empty.")
        return tuple(tokens)

    async def _tokenise(self, child: Child, text: str) -> tuple[int, ...]:
        if not text:
            return ()
        known = self._tokens.get(text)
        if known is None:
            known = await self._ask_tokens(child, text)
            self._tokens[text] = known
            if len(self._tokens) > REMEMBERED_TEXTS:
                self._tokens.popitem(last=False)
        else:
            self._tokens.move_to_end(text)
        return known

    async def _ask_tokens(self, child: Child, text: str, special: bool = False) -> tuple[int, ...]:
        clean = text.encode("utf-8", "replace").decode()  # a lone surrogate has no bytes
        order = {"content": clean, "add_special": special, "parse_special": False}
        try:
            status, body = await post(child.address, child.key, "/tokenize", order)
        except Gone as error:
            raise await self._lost(child) from error
        if status != 200:
            raise _refused(status, body)
        return tuple(body["tokens"])

    async def _ready(self, report: Report) -> Child:
        """The running process, started and loaded if need be."""
        child = self._child
        if child is None or not child.alive:
            check_file(self._path)
            size = self._path.stat().st_size
            child = self._child = Child(
                self._path,
                threads=self._threads,
                context=self._context,
                slots=len(self._slots),
                batch=self._batch or _batch(size, self._threads),
            )
            weakref.finalize(self, child.kill)
            self._slots.clear()
        if not child.loaded:
            await self._load(child, report)
        return child

    async def _load(self, child: Child, report: Report) -> None:
        report("load", f"loading {self._path.name}", bytes=self._path.stat().st_size)
        began = time.monotonic()
        self._awaited += 1
        try:
            await child.ready()
            await self._look_around(child)
        finally:
            self._awaited -= 1
            if not child.loaded and not self._awaited:
                child.kill()  # nobody waits for it any more
        seconds = time.monotonic() - began
        report("load", f"loaded {self._path.name} in {seconds:.1f} s", seconds=seconds)

    async def _look_around(self, child: Child) -> None:
        """Learn the window (a model may allow less than was asked) and the token every prompt begins with, if any."""
        try:
            async with Exchange(child.address, child.key, "/props", None) as exchange:
                settings = await exchange.body()
        except Gone as error:
            raise await self._lost(child) from error
        child.window = settings["default_generation_settings"]["n_ctx"]
        child.opening = (await self._ask_tokens(child, "", special=True))[:1]
        child.loaded = True


def _silent(kind: str, text: str, **data: Any) -> None:
    """A report nobody reads."""


def _batch(size: int, threads: int) -> int:
    """Prompt tokens evaluated in one go: half a second of work, since a cancelled call goes on for at most two goes.

    From measurements: 33 tokens a second and core with a file of 1.1 GB, inversely to the size. Small goes cost
    processor time: 12% more at 32 tokens than at 128, 4% at 64. Very small models are slower than their size says.
    """
    speed = 33 * threads * 1.1e9 / max(size, 1)
    return max(32, min(128, int(0.5 * speed) // 8 * 8))


def _order(request: Generate, prompt: Sequence[int], slot: int) -> dict[str, Any]:
    """The completion request in llama.cpp's own form."""
    stop = [] if isinstance(request.shape, Json) else [text for text in request.stop if text]
    order: dict[str, Any] = {
        "prompt": list(prompt),
        "id_slot": slot,
        "cache_prompt": True,
        "stream": True,
        "return_progress": True,  # a cancelled call is noticed while the prompt is read
        "return_tokens": True,
        "n_predict": max(1, request.max_tokens),
        "temperature": request.temperature,
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "seed": request.sample % 0xFFFFFFFF,
        "stop": stop,
        **constraint(request.shape, tuple(stop)),
    }
    if request.logprob:
        order["n_probs"] = 1
    return order


def _too_long(tokens: int, window: int) -> ContextTooLong:
    return ContextTooLong(
        f"The prompt has {tokens:,} tokens and the model's window is {window:,}.",
        hint="Ask for fewer passages or hops.",
        tokens=tokens,
        window=window,
    )


def _refused(status: int, body: Any) -> BadInput | ModelError:
    """The error for a reply that is not 200."""
    fault = body.get("error", {}) if isinstance(body, dict) else {}
    words = str(fault.get("message", body))[:500]
    if fault.get("type") == "exceed_context_size_error":
        return _too_long(int(fault.get("n_prompt_tokens", 0)), int(fault.get("n_ctx", 0)))
    if status == 400:
        return BadInput(f"The embedded model cannot work with this request: {words}")
    return ModelError(f"The embedded model failed: {words} (status {status}).")
