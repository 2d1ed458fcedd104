"""`LibrarySource`: a library as a `Source`. Its work is done in a worker thread, so the event loop stays free."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import to_thread

from sleuth.errors import LibraryFault, SourceError
from sleuth.library import Library
from sleuth.ports import Report
from sleuth.types import Open, Page, Passage, Search, Similar

T = TypeVar("T")


class LibrarySource:
    """Searches an opened `Library`. Raises `SourceError` (with the library's own hint) when the index is damaged."""

    def __init__(self, library: Library) -> None:
        self.library = library

    @property
    def name(self) -> str:
        """ "library:NAME"."""
        return f"library:{self.library.name}"

    async def search(self, request: Search, *, report: Report) -> tuple[Passage, ...]:
        """Passages for the query, best first; () when nothing is found."""
        return await self._work("search", lambda: self.library.search(request), report)

    async def open(self, request: Open, *, report: Report) -> Page | Similar:
        """The page with that title, or the five most similar titles."""
        return await self._work("open", lambda: self.library.open_page(request.title), report)

    async def aclose(self) -> None:
        """Nothing to free: the index is read through the file system."""

    async def _work(self, what: str, work: Callable[[], T], report: Report) -> T:
        try:
            return await to_thread.run_sync(work, abandon_on_cancel=True)
        except LibraryFault as fault:
            report("fault", f"{what} in {self.name}: {fault.message}")
            raise SourceError(fault.message, hint=fault.hint) from fault
