"""Settings: sleuth.toml, then the environment (``SLEUTH_*``), then arguments. Nothing else reads the environment."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from sleuth.app.guarding import guards
from sleuth.app.names import listing, suggestion
from sleuth.errors import BadInput, EnvironmentFault
from sleuth.strategies import DEFAULT
from sleuth.types import Budget, Guards

FILE = "sleuth.toml"
PREFIX = "SLEUTH_"


def _home() -> Path:
    return platformdirs.user_data_path("sleuth", appauthor=False)


class Settings(BaseSettings):
    """What a run is made of when nothing else is said.

    `home` holds libraries, models and runs. `model` answers; `plan_model`, `read_model` and `judge_model` take over
    calls of that role. `calls`, `tokens`, `usd` and `seconds` are the default budget. `threads` and `context`
    (tokens) are for the local model; `price_read`, `price_cached` and `price_written` (US dollars a million tokens) for
    one behind a server. `guards` is a table: fields of `sleuth.Guards`, for strategies whose setting says nothing of them.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, validate_default=False
    )

    home: Path = Field(default_factory=_home)
    strategy: str = DEFAULT
    setting: str = "default"
    model: str = "local"
    plan_model: str | None = None
    read_model: str | None = None
    judge_model: str | None = None
    library: str = "sample"
    calls: int | None = Field(None, ge=1)
    tokens: int | None = Field(None, ge=1)
    usd: float | None = Field(None, gt=0)
    seconds: float | None = Field(None, gt=0)
    threads: int | None = Field(None, ge=1, le=1024)
    context: int = Field(8192, ge=512, le=1 << 20)
    price_read: float | None = Field(None, ge=0)
    price_cached: float | None = Field(None, ge=0)
    price_written: float | None = Field(None, ge=0)
    guards: dict[str, Any] = Field(default={})
    trace: bool = True
    offline: bool = False

    @property
    def libraries(self) -> Path:
        return self.home / "libraries"

    @property
    def models(self) -> Path:
        return self.home / "models"

    @property
    def runs(self) -> Path:
        return self.home / "runs"

    @property
    def budget(self) -> Budget:
        return Budget(calls=self.calls, tokens=self.tokens, usd=self.usd, seconds=self.seconds)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        files = tuple(InitSettingsSource(settings_cls, _table(path)) for path in files_read())
        return (init_settings, env_settings, *files)


def load(**given: Any) -> Settings:
    """The settings; `given` (None means not given) wins over environment and files.

    Raises `BadInput` for an unknown key or a value that cannot be used, saying where it stands.
    """
    arguments = {key: value for key, value in given.items() if value is not None}
    _known_keys(arguments, "the arguments")
    _no_near_misses()
    try:
        settings = Settings(**arguments)
    except ValidationError as error:
        raise BadInput(_said(error, arguments), hint="Correct it and try again.") from error
    except SettingsError as error:
        raise BadInput(
            f"SLEUTH_GUARDS is no JSON object: {error}.", hint='Write {"compress": 0}, for example.'
        ) from error
    guards(Guards(), settings.guards, where="the settings")
    return settings.model_copy(update={"home": _folder(settings.home)})


def _folder(home: Path) -> Path:
    """The home as a whole path. Raises `EnvironmentFault` when it cannot be a folder."""
    try:
        path = home.expanduser().absolute()
        blocked = next((each for each in (path, *path.parents) if each.exists() and not each.is_dir()), None)
    except (RuntimeError, ValueError, OSError) as error:  # no such user; a NUL; a name too long; no access
        raise EnvironmentFault(
            f"The home folder {home} cannot be used: {error}.", hint="Name another in SLEUTH_HOME."
        ) from error
    if blocked is not None:
        raise EnvironmentFault(
            f"The home folder {path} cannot be used: {blocked} is a file.", hint="Name another in SLEUTH_HOME."
        )
    return path


def files_read() -> list[Path]:
    """The sleuth.toml files that exist, strongest first: the project's, then the user's."""
    users = platformdirs.user_config_path("sleuth", appauthor=False) / FILE
    found = [path for path in (_project_file(), users) if path is not None and path.is_file()]
    return list(dict.fromkeys(found))


def secret(*names: str) -> str | None:
    """The first of these environment variables that is set: for keys, which stand nowhere else.

    Spaces and line ends around it are dropped. Raises `BadInput` for one that no HTTP header can carry; it is not shown.
    """
    for name in names:
        value = os.environ.get(name, "").strip()
        if value and not (value.isascii() and value.isprintable()):
            raise BadInput(f"{name} holds a character that cannot be sent.", hint="Set it again, by copy and paste.")
        if value:
            return value
    return None


def _project_file() -> Path | None:
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        if (folder / "pyproject.toml").exists() or (folder / ".git").exists():
            return None
    return None


def _table(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{path} is not readable TOML: {error}.", hint="Correct that place, or remove the file."
        ) from error
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror}.", hint="Mend its permissions, or remove it."
        ) from error
    _known_keys(table, str(path))
    return table


def _known_keys(table: Mapping[str, Any], where: str) -> None:
    known = Settings.model_fields
    for key in table:
        if key not in known:
            hint = f"{suggestion(key, known)} Settings: {listing(known)}.".strip()
            raise BadInput(f"Unknown setting '{key}' in {where}.", hint=hint)


def _no_near_misses() -> None:
    """Other programs may own SLEUTH_ variables; one that looks like a setting, but is none, is a slip of the pen."""
    known = {PREFIX + key.upper() for key in Settings.model_fields}
    for name in os.environ:
        if name.startswith(PREFIX) and name not in known and (close := _slip(name, known)):
            raise BadInput(f"Unknown setting {name} in the environment.", hint=f"Did you mean {close}?")


def _slip(name: str, known: set[str]) -> str | None:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.9)
    return close[0] if close else None


def _short(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number with thousands of digits
        return "a number of that size"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _said(error: ValidationError, arguments: Mapping[str, Any]) -> str:
    first = error.errors()[0]
    key = str(first["loc"][0]) if first["loc"] else "?"
    variable = PREFIX + key.upper()
    if key in arguments:
        where = "the arguments"
    elif variable in os.environ:
        where = f"the environment ({variable})"
    else:
        where = next((str(path) for path in files_read() if key in _table(path)), "the settings")
    return f"The setting '{key}' in {where} cannot be {_short(first['input'])}: {first['msg'].lower()}."
