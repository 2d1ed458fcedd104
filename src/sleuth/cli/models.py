"""``sleuth models``: the local model files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import App, Parameter

from sleuth.cli.index import bytes_bar
from sleuth.cli.live import Tenths
from sleuth.cli.screen import Output, put, put_json, put_table, stderr, stdout

app = App(
    name="models",
    help="The local model files: list them, fetch one.",
    help_epilogue="Example: sleuth models pull",
)


@app.command(name="list", help_epilogue="Example: sleuth models list")
def list_(output: Output = Output()) -> None:  # noqa: B008  a frozen value
    """List the model files that can be fetched, and the other .gguf files in the models folder."""
    from sleuth.app import settings
    from sleuth.app.models import megabytes
    from sleuth.models.files import CATALOGUE

    folder = settings.load().models
    known = [(name, file.file, file.size, (folder / file.file).is_file()) for name, file in CATALOGUE.items()]
    names = {file.file for file in CATALOGUE.values()}
    others = sorted(path for path in folder.glob("*.gguf") if path.name not in names)
    known += [(path.name, path.name, path.stat().st_size, True) for path in others]
    if output.json:
        put_json(
            [
                {"name": n, "model": f"local:{n}", "file": f, "bytes": size, "present": here}
                for n, f, size, here in known
            ]
        )
        return
    rows = [(n, f"local:{n}", megabytes(size), "here" if here else "not fetched") for n, _, size, here in known]
    put_table(("name", "use as --model", "size", ""), rows)


@app.command(help_epilogue="Example: sleuth models pull smollm2-135m")
def pull(
    name: Annotated[str, Parameter(help="A name from sleuth models list; the default model if none is given.")] = "",
    offline: Annotated[bool, Parameter(help="Only verify what is there.", negative="")] = False,
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), help="No progress on stderr.", negative="")] = False,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> int:
    """Fetch a model file, resuming where an earlier attempt stopped, and verify its checksum."""
    from sleuth.app import settings
    from sleuth.app.models import announcement, catalogue_name, megabytes
    from sleuth.models.files import fetch

    chosen = settings.load(offline=offline or None)
    file = catalogue_name(name)
    if not quiet and not (chosen.models / file.file).is_file():
        put(stderr(), announcement(file, chosen.models))
    with bytes_bar("fetching", quiet=quiet) as progress:
        task, tenths = progress.add_task(file.name, total=file.size), Tenths()
        in_lines = not quiet and not progress.console.is_terminal

        def show(done: int, total: int, what: str) -> None:
            progress.update(task, completed=done, total=total, description=what)
            if in_lines and tenths.another(done, total):
                put(progress.console, f"  {what}: {megabytes(done)} of {megabytes(total)}")

        path: Path = anyio.run(partial(fetch, file, chosen.models, progress=show, offline=chosen.offline))
    if output.json:
        put_json({"name": file.name, "file": str(path), "bytes": path.stat().st_size, "verified": True})
    else:
        put(stdout(), f"{file.name} is in {path}, its checksum is right.")
    return 0
