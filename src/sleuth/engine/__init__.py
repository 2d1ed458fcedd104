"""The engine: drives a flow, performs its requests, keeps the budget, tells the sinks. The only driver there is.

engine.py    the face: `Engine`                  drive.py     one run: branches, identity, cancellation
perform.py   requests that touch a port          tasks.py     branches, and who waits for whom
budget.py    reserve before, settle after        replay.py    the recorded order, held to again
journal.py   events out to the sinks
"""

from sleuth.engine.engine import Engine, new_run
from sleuth.engine.replay import Recording

__all__ = ["Engine", "Recording", "new_run"]
