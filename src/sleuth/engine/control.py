"""Requests about tasks: `Fork`, `Join`, `Next`, `Cancel`. They touch no port, and are performed in a replay too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sleuth.engine.tasks import Board, Branch, Step
from sleuth.errors import Cancelled, WrongUse
from sleuth.events import Finished
from sleuth.types import Cancel, Fork, Join, Next, Task


class Control:
    """Performs them on one run's board."""

    def __init__(self, board: Board) -> None:
        self._board = board

    async def perform(self, step: Step) -> Any:
        """What is sent back. Raises a joined task's failure as a fresh exception, caused by the original."""
        match step.request:
            case Fork(flow):
                child = step.branch.fork(flow)
                self._board.add(child)
                return Task(child.path)
            case Join(task):
                target = self._target(task)
                await self._board.wait(step.branch, (target,))
                if target.error is not None:
                    raise target.error.again() from target.error
                return target.value
            case Next(tasks):
                return await self._next(step, tasks)
            case Cancel(task):
                target = self._target(task)
                if step.branch.is_within(target):
                    raise Cancelled(f"The task {target.path} was given up.")
                await self._board.wait(step.branch, (target,))
        return None

    def give_up(self, task: Task[Any]) -> None:
        """Cancel the task, if there is one, and all below it; `perform` then waits for their end."""
        target = self._board.branches.get(task.branch)
        if target is not None and target.path:
            target.give_up(Cancelled(f"The task {target.path} was given up."))

    async def _next(self, step: Step, tasks: Iterable[Task[Any]]) -> Task[Any]:
        """Whichever ended first; where a recording says which did, that one."""
        targets = [self._target(task) for task in tasks]
        if not targets:
            raise WrongUse("Next needs at least one task.")
        if isinstance(step.recorded, Finished):
            targets = [self._target(step.recorded.value)]
        await self._board.wait(step.branch, targets, every=False)
        return Task(self._board.first(targets).path)

    def _target(self, task: Task[Any]) -> Branch:
        target = self._board.branches.get(task.branch)
        if target is None or not target.path:
            raise WrongUse(f"There is no task {task.branch!r} in this run.")
        return target
