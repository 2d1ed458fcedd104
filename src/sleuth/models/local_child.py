"""What runs in the embedded model's own process: llama.cpp's server on loopback, behind a random key.

Started by `sleuth.models.local`, which writes one line of JSON to standard input and keeps that pipe open for as
long as it wants the model. One line of JSON comes back on standard output: ``{"address": ...}`` or ``{"error": ...}``.
Everything llama.cpp prints goes to standard error. Uses the standard library and xllamacpp alone, so that it starts
quickly and can be run as a plain file.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import Any, NoReturn

PARENT_CHECK_SECONDS = 1.0


def main() -> None:
    """Read the settings, serve until the parent is gone."""
    answers = _take_standard_output()
    settings = json.loads(sys.stdin.buffer.readline() or b"null")
    if settings is None:
        sys.exit(0)
    _leave_with_parent()
    try:
        server = _serve(settings)
    except Exception as error:  # noqa: BLE001 - whatever went wrong is told to the parent, in its words
        _tell(answers, error=str(error) or type(error).__name__)
        os._exit(1)
    _tell(answers, address=server.listening_address)
    _hold_signals()
    while True:
        time.sleep(3600)


def _take_standard_output() -> int:
    """Keep standard output for our one line; whatever llama.cpp prints goes to standard error."""
    answers = os.dup(1)
    os.dup2(2, 1)
    return answers


def _tell(answers: int, **fields: str) -> None:
    os.write(answers, json.dumps(fields).encode() + b"\n")
    os.close(answers)


def _serve(settings: dict[str, Any]) -> Any:
    sys.path.extend(settings["import_from"])
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before the import: a spinning thread starves its neighbours
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["key"]]
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["context"] * settings["slots"]  # shared out among the slots
    params.n_batch = params.n_ubatch = settings["batch"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_ram_mib = 0  # the default keeps gigabytes of old prompts
    params.cache_idle_slots = False
    params.ui = False
    params.verbosity = 2
    return xllamacpp.Server(params)


def _hold_signals() -> None:
    """Undo llama.cpp's handlers: Ctrl-C is the parent's affair, SIGTERM ends the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _leave_with_parent() -> None:
    """End this process when the pipe from the parent closes, or when the parent's process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch_pipe, daemon=True).start()
    if os.name == "posix":
        threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()


def _watch_pipe() -> NoReturn:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)


def _watch_parent(parent: int) -> NoReturn:
    while os.getppid() == parent:  # a fork of the parent may still hold the pipe open
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
