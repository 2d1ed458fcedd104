"""The command line: one file a group of commands, all over `sleuth.app`."""

from sleuth.cli.entry import main as main
