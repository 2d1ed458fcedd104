"""A bench's report, as one HTML page and as Markdown, from its folder alone: nothing is asked.

    for file in report.build(BenchFolder(Path("bench-questions"))):
        print(file)

The same folder gives the same bytes. Needs the extra ``bench``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sleuth.bench.folder import BenchFolder
from sleuth.bench.report.html import html
from sleuth.bench.report.markdown import markdown
from sleuth.bench.report.reading import Reading, read
from sleuth.bench.report.sections import report as sections
from sleuth.errors import BadInput

FORMS = ("html", "markdown")
_ENDINGS = {"html": ".html", "markdown": ".md"}

__all__ = ["FORMS", "Reading", "build", "html", "markdown", "read", "sections"]


def build(
    folder: BenchFolder,
    *,
    output: Path | None = None,
    metrics: Sequence[str] = (),
    against: str = "",
    forms: Sequence[str] = FORMS,
    version: str = "",
) -> tuple[Path, ...]:
    """Write the report and give its files: FOLDER/report.html and report.md, or `output` with these endings.

    `metrics` stand in place of the tasks' own, the first decides. With `against`, each method is tested against that one
    alone. `version` is told as that of the Sleuth that scores. Raises `BadInput` for a bench that cannot be read or a place
    that cannot be written, `UnknownName` for a method that is not there, `EnvironmentFault` without the extra.
    """
    blocks = sections(read(folder, metrics, version), against)
    base = output or folder.folder / "report"
    if base.suffix in _ENDINGS.values():
        base = base.with_suffix("")
    written = []
    for form in forms:
        text = html(blocks) if form == "html" else markdown(blocks)
        file = base.with_name(base.name + _ENDINGS[form])
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        except OSError as fault:
            raise BadInput(
                f"{file} cannot be written: {fault.strerror or fault}.", hint="Give another --output."
            ) from fault
        written.append(file)
    return tuple(written)
