"""The built wheel is whole: it has the sample, its type marker, and works where the sources are not."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# runs the module in its argument with the sources' folder taken off the path (an editable install puts it there)
ELSEWHERE = """
import runpy, sys
sys.path = [place for place in sys.path if place != sys.argv[1]]
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""

pytestmark = pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="pip is not installed")


def pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    told = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert told.returncode == 0, told.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as a user's pip builds it, but with the tools that are here: no network is used."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


def test_every_file_of_the_package_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "sleuth").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"sleuth/py.typed", "sleuth/sample/articles.jsonl", "sleuth/sample/questions.jsonl"} <= wanted
    with zipfile.ZipFile(wheel) as opened:
        names = {name for name in opened.namelist() if ".dist-info/" not in name}
        metadata = next(opened.read(name).decode() for name in opened.namelist() if name.endswith("/METADATA"))
    assert names == wanted
    assert "\nLicense-Expression: Apache-2.0\n" in metadata


def test_installed_without_the_sources_it_works(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    pip("install", "--no-deps", "--no-index", "--target", str(target), str(wheel))
    environment = {**os.environ, "PYTHONPATH": str(target), "SLEUTH_HOME": str(tmp_path / "home")}

    def run(*words: str) -> str:
        command = [sys.executable, "-c", ELSEWHERE, str(ROOT / "src"), *words]
        told = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert told.returncode == 0, told.stderr
        return told.stdout

    assert "self-ask" in run("sleuth", "strategies", "list")
    assert "90" in run("sleuth", "library", "show", "sample")
