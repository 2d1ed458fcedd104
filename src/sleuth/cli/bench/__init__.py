"""``sleuth bench``: strategies, models and tasks measured side by side, on questions with gold."""

from __future__ import annotations

import importlib

from cyclopts import App

COMMANDS = ("run", "list", "power", "report", "errors", "label", "blame")
"""The modules of this package that hold commands, in the order of the help; each has ``add_to(app)``."""

app = App(
    name="bench",
    help="Measure strategies and models on questions with gold: run, report, errors, blame.",
    help_epilogue="Example: sleuth bench run questions.jsonl --library notes --strategy react --strategy link-then-read",
)

for _name in COMMANDS:
    importlib.import_module(f"{__name__}.{_name}").add_to(app)
