"""The command line: one file a group of commands, all over `sleuth.app`."""

from __future__ import annotations

from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run a command; see `sleuth.cli.entry.main`. Loading it takes a moment, in which Ctrl-C may come, too."""
    try:
        from sleuth.cli import entry
    except KeyboardInterrupt:
        return 130
    return entry.main(words)
