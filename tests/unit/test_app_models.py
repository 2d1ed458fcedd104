"""Models by name; the local file that is fetched when it is first used; models kept between runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.homes import private

import sleuth
from sleuth.app import models, settings
from sleuth.app.keep import Keep
from sleuth.app.models import Fetched, LocalName, RemoteName, parse
from sleuth.errors import BadInput, DownloadError, UnknownName
from sleuth.models.files import CATALOGUE
from sleuth.ports import Report
from sleuth.types import Generate, Message

ASK = Generate((Message("user", "?"),))


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return private(monkeypatch, tmp_path)


def named(text: str) -> LocalName | RemoteName:
    return parse(text, settings.load())


def test_local_is_the_catalogues_default_in_the_home_folder(home: Path) -> None:
    found = named("local")
    assert isinstance(found, LocalName)
    assert found.file is CATALOGUE["qwen2.5-coder-1.5b"]
    assert found.path == home / "models" / found.file.file


def test_local_names_a_catalogue_file_a_path_or_a_file_in_the_home(home: Path, tmp_path: Path) -> None:
    (home / "models").mkdir(parents=True)
    (home / "models" / "own.gguf").touch()
    (tmp_path / "else.gguf").touch()
    found = [named(text) for text in ("local:smollm2-135m", f"local:{tmp_path / 'else.gguf'}", "local:own.gguf")]
    paths = [each.path for each in found if isinstance(each, LocalName)]
    assert paths == [
        home / "models" / CATALOGUE["smollm2-135m"].file,
        tmp_path / "else.gguf",
        home / "models" / "own.gguf",
    ]


def test_servers_by_provider_and_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("SLEUTH_API_KEY", "other-secret")
    openai, ollama, own = named("openai:gpt"), named("ollama:qwen:7b"), named("http://127.0.0.1:1/v1#a/b")
    assert isinstance(openai, RemoteName)
    assert isinstance(ollama, RemoteName)
    assert isinstance(own, RemoteName)
    assert (openai.name, openai.base_url, openai.key) == ("gpt", None, "sk-secret")
    assert (ollama.name, ollama.base_url) == ("qwen:7b", "http://127.0.0.1:11434/v1")
    assert (own.name, own.base_url, own.key) == ("a/b", "http://127.0.0.1:1/v1", "other-secret")


def test_a_key_never_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "sk-secret" not in repr(named("openai:gpt"))


def test_the_key_for_openai_goes_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    found = named("http://127.0.0.1:1/v1#m")
    assert isinstance(found, RemoteName)
    assert found.key != "sk-secret"


@pytest.mark.parametrize("text", ["openai:", "ollama:", "http://127.0.0.1:1/v1", "https://127.0.0.1/v1#"])
def test_a_provider_without_a_model_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        named(text)


@pytest.mark.parametrize("text", ["", "gpt-9", "qwen2.5-coder-1.5b", "anthropic:x", "locla:x", "local:smollm"])
def test_an_unknown_model_says_what_can_be_named(text: str) -> None:
    with pytest.raises(UnknownName, match=r"local|smollm2-135m"):
        named(text)


def test_offline_and_missing_is_told_before_the_run(home: Path) -> None:
    offline = parse("local", settings.load(offline=True))
    with pytest.raises(DownloadError, match=r"offline.*sleuth models pull"):
        models.check_present(offline)
    assert isinstance(offline, LocalName)
    offline.path.parent.mkdir(parents=True)
    offline.path.touch()
    models.check_present(offline)


def test_the_announcement_says_name_size_source_and_place(tmp_path: Path) -> None:
    text = models.announcement(CATALOGUE["qwen2.5-coder-1.5b"], tmp_path)
    for part in ("qwen2.5-coder-1.5b", "1,117 MB", "Hugging Face", "Python packages", str(tmp_path)):
        assert part in text


def told(into: list[str]) -> Report:
    def report(kind: str, text: str, **data: Any) -> None:
        into.append(f"{kind}: {text}")

    return report


def test_a_missing_file_is_fetched_once_by_the_first_call_and_reported() -> None:
    loads, said, texts = [], list[str](), list[str]()

    async def fetch(report: Report) -> None:
        report("download", "Fetching x (1 MB)")
        await anyio.sleep(0.01)

    def load() -> sleuth.Script:
        loads.append(1)
        return sleuth.Script(["a", "b"])

    model = Fetched("local:x", fetch=fetch, load=load)

    async def once() -> None:
        texts.append((await model.generate(ASK, report=told(said))).text)

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(once)
            tasks.start_soon(once)
        await model.aclose()

    anyio.run(both)
    assert (sorted(texts), said, loads) == (["a", "b"], ["download: Fetching x (1 MB)"], [1])


def test_a_failed_fetch_is_tried_again_by_the_next_call() -> None:
    tries = []

    async def fetch(report: Report) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise DownloadError("no network")

    async def twice() -> str:
        model = Fetched("local:x", fetch=fetch, load=lambda: sleuth.Script(["a"]))
        with pytest.raises(DownloadError):
            await model.generate(ASK, report=told([]))
        return (await model.generate(ASK, report=told([]))).text

    assert anyio.run(twice) == "a"


class Closing(sleuth.Script):
    """Notes its closing; the first one fails at it."""

    closed: list[str]

    def __init__(self, closed: list[str], name: str) -> None:
        super().__init__([], name=name)
        self.closed = closed

    async def aclose(self) -> None:
        self.closed.append(self.name)
        raise OSError("already gone")

    async def count(self, messages: Sequence[Message]) -> int:
        return 0


def test_kept_models_are_made_once_and_all_closed() -> None:
    closed: list[str] = []
    keep = Keep()
    first = keep.model("a", lambda: Closing(closed, "a"))
    assert keep.model("a", lambda: Closing(closed, "never")) is first
    keep.model("b", lambda: Closing(closed, "b"))
    anyio.run(keep.aclose)
    assert sorted(closed) == ["a", "b"]


def test_kept_models_can_be_closed_from_outside_their_loop() -> None:
    closed: list[str] = []
    keep = Keep()
    keep.model("a", lambda: Closing(closed, "a"))
    keep.kill()
    assert closed == ["a"]


def test_one_server_has_one_limiter() -> None:
    keep = Keep()
    assert keep.limiter("http://a") is keep.limiter("http://a")
    assert keep.limiter("http://a") is not keep.limiter("http://b")
