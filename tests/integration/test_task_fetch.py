"""Downloads from a real server on loopback that lies, stops, redirects and forbids: whole, or a clear error and no file."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from sleuth.bench import tasks
from sleuth.bench.tasks import fetch
from sleuth.bench.tasks.fetch import fetched
from sleuth.errors import BadInput, DownloadError

BODY = json.dumps(
    [{"uid": f"h{i}", "claim": f"Claim {i}.", "label": "SUPPORTED", "num_hops": 2} for i in range(2000)]
).encode()


class Handler(BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        self.close_connection = True
        Handler.asked.append((self.path, self.headers.get("Range", "")))
        getattr(self, f"say_{self.path.strip('/').split('.')[0]}")()

    def say(self, body: bytes, *, status: int = 200, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if length != -1:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def say_good(self) -> None:
        self.say(BODY)

    def say_packed(self) -> None:
        self.say(gzip.compress(BODY))

    def say_lies(self) -> None:
        self.say(BODY, length=len(BODY) + 1000)

    def say_modest(self) -> None:
        self.say(BODY, length=100)

    def say_gone(self) -> None:
        self.say(b"no", status=404)

    def say_moved(self) -> None:
        self.say(b"", status=302, Location="/good.json")

    def say_away(self) -> None:
        self.say(b"", status=302, Location="file:///etc/passwd")

    def say_round(self) -> None:
        self.say(b"", status=302, Location="/round")

    def say_endless(self) -> None:
        self.say(b"x" * 100_000, length=-1)

    def say_slow(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(200):
            self.wfile.write(b"[")
            self.wfile.flush()
            time.sleep(0.02)

    def say_halting(self) -> None:
        """Half of the file the first time; the rest to who asks for the rest of this very file."""
        start = self.headers.get("Range", "")
        if start and self.headers.get("If-Range") == '"v1"':
            begin = int(start.removeprefix("bytes=").rstrip("-"))
            told = f"bytes {begin}-{len(BODY) - 1}/{len(BODY)}"
            self.say(BODY[begin:], status=206, Content_Range=told, ETag='"v1"')
        else:
            self.say(BODY[: len(BODY) // 2], length=len(BODY), ETag='"v1"')

    def say_changing(self) -> None:
        """Half of one file, then the whole of another."""
        if self.headers.get("Range"):
            self.say(BODY, ETag='"v2"')
        else:
            self.say(b"y" * 500, length=len(BODY), ETag='"v1"')

    def say_wrong(self) -> None:
        """A part that was not asked for."""
        if self.headers.get("Range"):
            self.say(BODY[:10], status=206, Content_Range=f"bytes 0-9/{len(BODY)}")
        else:
            self.say(BODY[:50], length=len(BODY), ETag='"v1"')

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Handler.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.suffix not in (".part", ".mark", ".lock")]


def test_a_set_is_downloaded_once_and_its_checksum_kept(server: str, tmp_path: Path) -> None:
    for _ in range(2):
        assert len(tasks.load(f"hover:{server}/good.json", cache=tmp_path).questions) == 2000
    assert tasks.load(f"{server}/packed.gz", cache=tmp_path).name == "hover"
    assert [path for path, _ in Handler.asked] == ["/good.json", "/packed.gz"]
    (about,) = (tmp_path / "downloads").glob("*good.json.json")
    row = json.loads(about.read_text())
    assert row["sha256"] == hashlib.sha256(BODY).hexdigest()
    assert row["address"] == f"{server}/good.json"


def test_a_kept_file_that_was_changed_is_fetched_anew(server: str, tmp_path: Path) -> None:
    kept = fetched(f"{server}/good.json", tmp_path)
    kept.write_bytes(BODY.replace(b"Claim 7.", b"Claim 8."))
    assert fetched(f"{server}/good.json", tmp_path).read_bytes() == BODY
    assert len(Handler.asked) == 2


@pytest.mark.parametrize("name", ["lies", "halting", "wrong", "changing"])
def test_a_file_that_stops_in_the_middle_is_no_file(server: str, tmp_path: Path, name: str) -> None:
    with pytest.raises(DownloadError, match="Try again"):
        fetched(f"{server}/{name}", tmp_path)
    assert files(tmp_path) == []


def test_a_broken_download_goes_on_where_it_stopped(server: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError):
        fetched(f"{server}/halting", tmp_path)
    assert fetched(f"{server}/halting", tmp_path).read_bytes() == BODY
    assert Handler.asked[-1] == ("/halting", f"bytes={len(BODY) // 2}-")


def test_a_file_that_changed_meanwhile_is_not_mixed(server: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError):
        fetched(f"{server}/changing", tmp_path)
    assert fetched(f"{server}/changing", tmp_path).read_bytes() == BODY


def test_a_part_that_was_not_asked_for_is_refused(server: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError):
        fetched(f"{server}/wrong", tmp_path)
    with pytest.raises(DownloadError, match="another part"):
        fetched(f"{server}/wrong", tmp_path)
    assert files(tmp_path) == []


def test_redirects_are_followed_on_the_web_only(server: str, tmp_path: Path) -> None:
    assert fetched(f"{server}/moved", tmp_path).read_bytes() == BODY
    with pytest.raises(DownloadError, match="no web address"):
        fetched(f"{server}/away", tmp_path)
    with pytest.raises(DownloadError, match="on and on"):
        fetched(f"{server}/round", tmp_path)


def test_what_is_not_there_is_said_with_its_status(server: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="404"):
        tasks.load(f"hotpotqa:{server}/gone.json", cache=tmp_path)


def test_size_and_time_are_limited(server: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="larger than 5,000 bytes"):
        fetched(f"{server}/endless", tmp_path, most_bytes=5_000)
    with pytest.raises(DownloadError, match="too long"):
        fetched(f"{server}/slow", tmp_path, most_seconds=0.2)
    assert files(tmp_path) == []


def test_a_length_told_too_small_gives_no_question(server: str, tmp_path: Path) -> None:
    """The rest is cut off by the protocol; what came is then no whole JSON list."""
    with pytest.raises((BadInput, DownloadError)):
        tasks.load(f"{server}/modest", cache=tmp_path)


def test_an_address_nobody_listens_at_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "QUIET_SECONDS", 1.0)
    with pytest.raises(DownloadError, match="could not be fetched"):
        fetched("http://127.0.0.1:1/x.json", tmp_path)


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "ftp://example.org/x", "https://", "data:text/plain,x", "http://a b/c"]
)
def test_only_web_addresses_are_asked(address: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no address"):
        tasks.load(f"hotpotqa:{address}", cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_nothing_is_downloaded(server: str) -> None:
    with pytest.raises(BadInput, match="no folder"):
        tasks.load(f"{server}/good.json")
    assert Handler.asked == []
