"""``sleuth library``: the libraries there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from sleuth.cli.screen import Output, put, put_json, put_table, stdout
from sleuth.errors import LibraryFault, NoLibrary

app = App(
    name="library",
    help="The libraries: list, show or remove them (sleuth index makes them).",
    help_epilogue="Example: sleuth library show sample",
)


@app.command(name="list", help_epilogue="Example: sleuth library list")
def list_(output: Output = Output()) -> None:  # noqa: B008  a frozen value
    """List the libraries and what they hold."""
    from sleuth.app import libraries, settings

    chosen = settings.load()
    found = [_facts(name, libraries.existing(name, chosen)) for name in libraries.names(chosen)]
    if output.json:
        put_json(found)
        return
    put_table(
        ("library", "documents", "passages", "built"), [[str(fact.get(key, "")) for key in _SHOWN] for fact in found]
    )


@app.command(help_epilogue="Example: sleuth library show notes --json")
def show(name: Annotated[str, Parameter(help="The library's name.")], output: Output = Output()) -> None:  # noqa: B008  a frozen value
    """Show what a library holds and where it is."""
    from sleuth.app import libraries, settings
    from sleuth.library import Library

    folder = libraries.existing(name, settings.load())
    Library.open(folder)  # a damaged one is an error here, not a line in a list
    facts = _facts(name, folder)
    if output.json:
        put_json(facts)
        return
    for key, value in facts.items():
        put(stdout(), (f"{key:<10}", "dim"), str(value))


@app.command(help_epilogue="Example: sleuth library remove notes")
def remove(name: Annotated[str, Parameter(help="The library's name.")], output: Output = Output()) -> None:  # noqa: B008  a frozen value
    """Delete a library. The files it was made from stay."""
    from sleuth.app import libraries, settings

    folder = libraries.remove(name, settings.load())
    if output.json:
        put_json({"removed": name, "folder": str(folder)})
    else:
        put(stdout(), f"Removed the library {name}.")


_SHOWN = ("library", "documents", "passages", "built")


def _facts(name: str, folder: Path) -> dict[str, Any]:
    from sleuth.library import Library

    try:
        info = Library.open(folder).info()
    except (LibraryFault, NoLibrary) as error:
        return {
            "library": name,
            "folder": str(folder),
            "documents": "-",
            "passages": "-",
            "built": f"unreadable: {error.message}",
        }
    return {
        "library": name,
        "folder": str(folder),
        "documents": info.documents,
        "passages": info.passages,
        "links": info.links,
        "built": info.built.isoformat(timespec="seconds"),
        "bytes": info.size,
    }
