"""A home folder of its own for a test: no settings, libraries or runs of the machine are seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def private(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Point the settings, the home and the working directory into the folder; returns the home."""
    for name in list(os.environ):
        if name.startswith(("SLEUTH_", "OPENAI_", "OLLAMA_")):
            monkeypatch.delenv(name)
    project, home = folder / "project", folder / "home"
    project.mkdir()
    monkeypatch.setenv("SLEUTH_HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.chdir(project)
    return home
