"""What can go wrong, as a tree. Each error says what is wrong, where, and what to try next.

    SleuthError
    ├── WrongUse                 the caller can mend it            (exit status 2)
    │   ├── UnknownName          no strategy, library, model of that name
    │   ├── NoLibrary            the library does not exist, or holds nothing
    │   └── BadInput             a question, file or setting that cannot be used
    ├── EnvironmentFault         the surroundings must be mended   (exit status 3)
    │   ├── ModelError           the model could not answer
    │   │   ├── ModelTimeout     it took too long
    │   │   ├── ModelRateLimited it said "later" (retry_after)
    │   │   └── ContextTooLong   the prompt does not fit its window
    │   ├── SourceError          a search or page could not be had
    │   │   ├── SourceTimeout
    │   │   └── SourceRateLimited
    │   ├── ToolError            a tool failed or refused its arguments
    │   ├── LibraryFault         the index on disk is damaged, locked or full
    │   └── DownloadError        a model file could not be fetched or verified
    ├── Ended                    the run was stopped
    │   ├── BudgetExceeded       calls, tokens or dollars would pass the limit
    │   ├── DeadlineExceeded     the seconds are over
    │   └── Cancelled            Ctrl-C, or the task was given up
    ├── BadReply                 the model's reply does not follow the scaffold
    │   └── PlanFault            the plan in it cannot be run, its repair included
    └── CassetteMiss             a replay asked for what was never recorded

An error's fields are plain values, so that it can be stored in a trace and raised again as it was.
"""

from __future__ import annotations

from typing import Any, ClassVar


class SleuthError(Exception):
    """Base of all errors. ``str(error)`` is one paragraph fit for a user; `hint` is the next thing to try."""

    exit_status: ClassVar[int] = 3

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def again(self) -> SleuthError:
        """A fresh exception with the same content: one failure may be raised in several places."""
        return type(self)(self.message, hint=self.hint, **self.details)


class WrongUse(SleuthError):
    """The caller can mend it."""

    exit_status = 2


class UnknownName(WrongUse):
    """No strategy, library or model of that name."""


class NoLibrary(WrongUse):
    """The library does not exist, or holds nothing."""


class BadInput(WrongUse):
    """A question, file or setting that cannot be used."""


class EnvironmentFault(SleuthError):
    """The surroundings (model, source, network, disk) must be mended."""


class ModelError(EnvironmentFault):
    """The model could not answer."""


class ModelTimeout(ModelError):
    """The model took too long."""


class ModelRateLimited(ModelError):
    """The model's server said "later"; ``details["retry_after"]`` is in seconds, where it told."""


class ContextTooLong(ModelError):
    """The prompt does not fit the model's window."""


class SourceError(EnvironmentFault):
    """A search or a page could not be had. "Nothing found" is no error: it is an empty result."""


class SourceTimeout(SourceError):
    """The source took too long."""


class SourceRateLimited(SourceError):
    """The source said "later"; ``details["retry_after"]`` is in seconds, where it told."""


class ToolError(EnvironmentFault):
    """A tool failed, or refused its arguments."""


class LibraryFault(EnvironmentFault):
    """The index on disk is damaged, locked by another writer, or the disk is full."""


class DownloadError(EnvironmentFault):
    """A model file could not be fetched, or its checksum is wrong."""


class Ended(SleuthError):
    """The run was stopped from outside the flow."""

    exit_status = 1


class BudgetExceeded(Ended):
    """Calls, tokens or dollars would pass the limit; ``details["limit"]`` names which."""


class DeadlineExceeded(Ended):
    """The seconds of the budget are over."""


class Cancelled(Ended):
    """Ctrl-C, or the task was given up."""


class BadReply(SleuthError):
    """The model's reply does not follow the scaffold; ``details["reply"]`` is the whole reply."""

    exit_status = 1


class PlanFault(BadReply):
    """A plan that cannot be run, its repair included; ``details["findings"]`` says why."""


class CassetteMiss(SleuthError):
    """A replay asked for what was never recorded; the message shows the nearest request as a diff."""


def by_name(name: str) -> type[SleuthError]:
    """The error class of that name (used when a trace is read); `SleuthError` itself for an unknown one."""
    found = globals().get(name)
    return found if isinstance(found, type) and issubclass(found, SleuthError) else SleuthError
