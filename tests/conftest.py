"""Fixtures for every test: the embedded model's files, one loaded model, and the network closed where it must be."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import platformdirs
import pytest

if TYPE_CHECKING:
    from sleuth.models.local import LocalModel

# read here, before a test gives itself an environment of its own
MODELS = Path(
    os.environ.get("SLEUTH_TEST_MODELS")
    or Path(os.environ.get("SLEUTH_HOME") or platformdirs.user_data_path("sleuth", appauthor=False)) / "models"
)
WANTING = "for want of a model: "


@pytest.fixture(scope="session")
def model_file() -> Callable[[str], Path]:
    """``model_file("smollm2-135m")``: the path of a catalogue file; the test is skipped where it or xllamacpp is missing."""
    from sleuth.models.files import CATALOGUE

    def find(name: str) -> Path:
        path = MODELS / CATALOGUE[name].file
        if importlib.util.find_spec("xllamacpp") is None:
            pytest.skip(f"{WANTING}xllamacpp is not installed (extra `local`)")
        if not path.is_file():
            pytest.skip(
                f"{WANTING}{path} is missing (sleuth models pull {name}, or name its folder in SLEUTH_TEST_MODELS)"
            )
        return path

    return find


@pytest.fixture(scope="session")
def embedded(model_file: Callable[[str], Path]) -> Iterator[LocalModel]:
    """The default model, loaded once for all the tests that only ask it."""
    from sleuth.models.local import LocalModel

    model = LocalModel(model_file("qwen2.5-coder-1.5b"), context=4096)
    yield model
    anyio.run(model.aclose)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests were skipped for want of a model: a run without them has not tested everything."""
    reports = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and WANTING in report.longrepr[2]
    ]
    if not reports:
        return
    terminalreporter.section(f"{len(reports)} tests skipped for want of a model")
    for reason, number in Counter(report.longrepr[2].partition(WANTING)[2] for report in reports).items():
        terminalreporter.line(f"{number}: {reason}")
    for report in reports:
        terminalreporter.line(f"  {report.nodeid}")


@pytest.fixture(autouse=True)
def _network_closed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In unit tests only this machine can be reached."""
    if "unit" not in request.path.parts:
        return
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, _only_loopback(getattr(socket.socket, name)))


def _only_loopback(connect: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not ipaddress.ip_address(address[0]).is_loopback:
            raise RuntimeError(f"the network is closed in unit tests: {address}")
        return connect(self, address)

    return guarded
