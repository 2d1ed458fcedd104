"""Fixtures for every test: the embedded model's files, and the network closed where it must be."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs
import pytest

# read here, before a test gives itself an environment of its own
MODELS = Path(
    os.environ.get("SLEUTH_MODELS")
    or Path(os.environ.get("SLEUTH_HOME") or platformdirs.user_data_path("sleuth", appauthor=False)) / "models"
)


@pytest.fixture(scope="session")
def model_file() -> Callable[[str], Path]:
    """``model_file("smollm2-135m")``: the path of a catalogue file; the test is skipped where it or xllamacpp is missing."""
    from sleuth.models.files import CATALOGUE

    def find(name: str) -> Path:
        path = MODELS / CATALOGUE[name].file
        if importlib.util.find_spec("xllamacpp") is None:
            pytest.skip("xllamacpp is not installed (extra `local`)")
        if not path.is_file():
            pytest.skip(f"{path} is missing: sleuth models pull {name}, or name its folder in SLEUTH_MODELS")
        return path

    return find


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
