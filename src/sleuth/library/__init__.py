"""Files to documents to passages to an index, and back: `index` makes or updates a library, `Library.open` reads it."""

from sleuth.library.reader import Info, Library
from sleuth.library.update import IndexSummary, Skipped, index

__all__ = ["IndexSummary", "Info", "Library", "Skipped", "index"]
