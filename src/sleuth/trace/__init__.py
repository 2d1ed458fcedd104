"""Events as JSON lines: written by `TraceWriter`, read by `read_trace`, played back by `Cassette`, kept in a `RunStore`."""

from sleuth.trace.cassette import Cassette
from sleuth.trace.files import VERSION, TraceWriter, read_trace, salvage
from sleuth.trace.store import RunStore, StoredRun

__all__ = ["VERSION", "Cassette", "RunStore", "StoredRun", "TraceWriter", "read_trace", "salvage"]
