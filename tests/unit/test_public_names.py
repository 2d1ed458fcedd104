"""The public names: true, few, and cheap to import."""

import subprocess
import sys
import tomllib
from pathlib import Path

import sleuth


def test_every_public_name_is_there() -> None:
    for name in sleuth.__all__:
        assert getattr(sleuth, name) is not None, name


def test_no_name_stands_twice_and_there_are_few() -> None:
    assert len(sleuth.__all__) == len(set(sleuth.__all__)) <= 41


def test_the_lazy_table_and_all_agree() -> None:
    assert set(sleuth._HOME_OF) == set(sleuth.__all__)


def test_the_version_is_the_projects() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert sleuth.__version__ == tomllib.loads(project.read_text())["project"].get("version", sleuth.__version__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(sleuth, "no_such_name")


def test_public_names_show_in_dir() -> None:
    assert set(sleuth.__all__) <= set(dir(sleuth))


def test_import_brings_in_none_of_the_heavy_packages() -> None:
    heavy = "{'anyio', 'openai', 'pydantic', 'rich', 'cyclopts', 'tantivy', 'asyncio'}"
    code = f"import sys; before = set(sys.modules); import sleuth; print(({heavy} & set(sys.modules)) - before)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


def test_import_takes_under_100_ms() -> None:
    code = "import time; t = time.process_time(); import sleuth; print(time.process_time() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    assert min(float(run.stdout) for run in runs) < 0.1
