"""One run: flows driven, requests given their identity, forks looked after, cancellation carried to every wait.

What makes a replay exact, and must be kept: between telling a request's outcome and telling the flow's next request
nothing is awaited, so whatever ends a run meanwhile meets every flow *at* a request; a forked flow always comes to
its first request, even when it is given up at once (it is refused there); a task is given up in the same breath as
its `Cancel` is told; and what a flow leaves unread of a
`Listen`ed reply is told at its end as one more `Read`, which bears the bill.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from sleuth.engine.control import Control
from sleuth.engine.ending import answer_of, failure_of, fault_of
from sleuth.engine.journal import ROOT, Journal
from sleuth.engine.perform import Hearing, Performer, Ports
from sleuth.engine.replay import STILL_TICK, STILL_TICKS, Recording, Replay
from sleuth.engine.tasks import INNER, Board, Branch, Outcome, Step
from sleuth.errors import Cancelled, CassetteMiss, DeadlineExceeded, Ended, ModelError, SleuthError, WrongUse
from sleuth.events import Attempt, Body, Closed, Failed, Finished, Noted, Opened, Sink, Span, Started
from sleuth.types import Budget, Cancel, Completion, Flow, Fork, Join, Listen, Listening, Next, Note, Read, Request


class Run:
    """One flow, driven to its end. Used once."""

    def __init__(
        self,
        ports: Ports,
        flow: Flow[Any],
        *,
        run: str,
        sinks: Iterable[Sink],
        budget: Budget,
        recording: Recording | None,
        deltas: bool,
    ) -> None:
        self._journal = Journal(run, sinks)
        self._replay = Replay(recording, self._journal)
        self._strict = self._replay.strict
        self._budget = Budget() if self._strict else budget
        self._performer = Performer(ports, self._budget, self._journal, deltas=deltas)
        self._root = Branch("", flow)
        self._board = Board(self._root)
        self._control = Control(self._board)
        self._hearings: dict[Listening, Hearing] = {}
        self._group = anyio.create_task_group()
        self._ending: Ended | None = None
        self._fatal: Exception | None = None
        self._finished = False
        self._steps = 0

    # --- the run as a whole -------------------------------------------------------------------------------------

    async def go(self, question: str, about: Mapping[str, Any]) -> Any:
        """Drive it, from `Opened` to `Closed`; see `Engine.run` for what is returned and raised."""
        self._journal.write(ROOT, self._replay.opened or Opened(question, about))
        try:
            async with anyio.create_task_group() as outer:
                outer.start_soon(self._supervise)
                outer.start_soon(self._main, outer.cancel_scope)
        finally:
            error = self._fatal or self._root.error
            if error is None and not self._root.returned:
                error = Cancelled("The run was stopped.")
            answer = answer_of(self._root.value, error, self._journal.total, self._journal.run)
            self._journal.write(ROOT, Closed(answer))
        if error is not None and not failure_of(error):
            raise error
        if self._journal.complaint is not None:
            raise self._journal.complaint
        return answer if error is not None or isinstance(self._root.value, type(answer)) else self._root.value

    def end(self, reason: Ended) -> None:
        """Cancel what all branches wait for; they are told `reason` there, and at whatever they ask for from then on."""
        if self._ending is not None or self._finished:
            return
        self._ending = reason
        if self._strict:
            self.abort(reason)
        for branch in self._board.branches.values():
            if not branch.returned:
                branch.halt(reason)

    def abort(self, error: Exception) -> None:
        """Stop everything where it stands, and raise this (a bug, or a replay that cannot go on)."""
        if self._fatal is None:
            self._fatal = error
        self._group.cancel_scope.cancel()

    async def _main(self, around: anyio.CancelScope) -> None:
        """The flow and its forks, shielded: a cancellation from outside reaches them through `_supervise`."""
        with anyio.CancelScope(shield=True):
            async with self._group:
                await self._drive(self._root)
        self._finished = True
        around.cancel()

    async def _supervise(self) -> None:
        """Wait for the deadline, for a stand-still of the replay, or to be cancelled from outside."""
        try:
            if self._strict:
                await self._watch()
            if (seconds := self._budget.seconds) is not None:
                await anyio.sleep(seconds)
                self.end(DeadlineExceeded(f"The {seconds:g} seconds of the budget are over."))
            await anyio.sleep_forever()
        finally:
            self.end(Cancelled("The run was cancelled."))

    async def _watch(self) -> None:
        still, seen = 0, -1
        while still < STILL_TICKS:
            await anyio.sleep(STILL_TICK)
            moves = self._steps + self._replay.turnstile.moves
            still, seen = (still + 1 if moves == seen else 0), moves
        text = f"The replay stands still: {self._replay.turnstile.next_text()}."
        self.abort(CassetteMiss(text, hint="Was the strategy changed, or the run killed, since it was recorded?"))

    # --- one branch ---------------------------------------------------------------------------------------------

    async def _drive(self, branch: Branch) -> None:
        """From the flow's first request to the end of it and of all that it began. Raises nothing."""
        try:
            if branch is self._root:
                branch.advance(Outcome())
            while not branch.returned:
                if (reason := self._replay.cut_off(branch.request)) is not None:
                    branch.close(reason)
                    break
                outcome = await self._perform(branch, branch.request)
                self._steps += 1
                branch.advance(outcome)
            await self._reap(branch)
        except Exception as bug:  # noqa: BLE001  (whatever escapes a flow or a port ends the run, which raises it)
            self.abort(bug)
        finally:
            branch.abandon()
            self._replay.turnstile.leave(branch.path)
            self._board.ended(branch)

    async def _reap(self, branch: Branch) -> None:
        """A flow has returned: cancel the forks that still run, and settle the replies that it did not read."""
        for child in branch.children:
            child.give_up(Cancelled(f"The task {child.path} was given up: the flow that forked it has ended."))
        await self._board.wait(branch, branch.children, free=False)
        for hearing in branch.hearings:
            if not hearing.told:
                await self._perform(branch, Read(hearing.listening))
                hearing.told = True

    def _launch(self, child: Branch) -> None:
        """Bring a forked flow to its first request at once, so that no timing decides whether it gets there."""
        try:
            child.advance(Outcome())
        except Exception as bug:  # noqa: BLE001  (a bug in the flow, as in `_drive`)
            self.abort(bug)
        if child.returned:
            self._board.ended(child)
        else:
            self._group.start_soon(self._drive, child)

    # --- one request --------------------------------------------------------------------------------------------

    async def _perform(self, branch: Branch, request: Request[Any]) -> Outcome:
        if isinstance(request, Note):
            await checkpoint()
            await self._tell(Span(branch.path, branch.count), Noted(request.kind, request.text, request.data))
            return Outcome()
        try:
            step = branch.step(request)
        except SleuthError as error:
            await checkpoint()
            return Outcome(error=error)
        step.recorded = self._replay.look(step)
        await self._tell(step.span, Started(step.request, step.digest, step.ordinal))
        if isinstance(request, Cancel):
            self._control.give_up(request.task)
        try:
            outcome = await (self._replayed(step) if self._strict else self._live(step))
        except BaseException as error:  # a bug, or the run's abort
            if not self._strict:
                self._journal.write(step.span, Failed(fault_of(step.request, error), step.charge))
            raise
        if not outcome.silent:
            await self._tell(step.span, outcome.body())
        if isinstance(request, Fork) and outcome.error is None:
            self._launch(self._board.branches[outcome.value.branch])
        step.over = not isinstance(request, Listen) or outcome.error is not None
        return outcome

    async def _tell(self, span: Span, body: Body) -> None:
        if self._strict:
            await self._replay.turnstile.turn(span, body)
        else:
            self._journal.write(span, body)

    async def _live(self, step: Step) -> Outcome:
        """Perform it, unless the branch gets nothing more; cancelled, it has failed for the reason of that."""
        branch = step.branch
        if (reason := self._refusal(step)) is not None:
            return Outcome(error=reason)
        with anyio.CancelScope() as scope:
            branch.scope = scope
            try:
                await checkpoint()
                value = await self._value(step)
                return Outcome(value, bill=step.charge)
            except SleuthError as error:
                return Outcome(error=error, bill=step.charge)
            finally:
                branch.scope = None
        return Outcome(error=self._why(branch), bill=step.charge)

    async def _value(self, step: Step) -> Any:
        if (found := self._reused(step)) is not None:
            self._journal.write(step.span, Attempt("cache", "answered from the recording"))
            step.bill = found.usage
            self._follow(step, found)
            if isinstance(found, Failed):
                raise found.error.again()
            return found.value
        match step.request:
            case Fork() | Join() | Next() | Cancel():
                return await self._control.perform(step)
            case Listen():
                return await self._listen(step, step.request)
            case Read(listening, until):
                return await self._read(step, listening, until)
        return await self._performer.perform(step)

    def _refusal(self, step: Step) -> SleuthError | None:
        """A branch that has to end may still look after its tasks; what it left unread is settled when it has ended."""
        branch = step.branch
        if branch.ending is None or branch.returned or isinstance(step.request, INNER):
            return None
        return branch.ending.again()

    @staticmethod
    def _why(branch: Branch) -> SleuthError:
        if branch.stuck is not None:
            stuck, branch.stuck = branch.stuck, None
            return stuck
        return branch.ending.again() if branch.ending is not None else Cancelled("The request was cancelled.")

    # --- replies read while they are written --------------------------------------------------------------------

    async def _listen(self, step: Step, request: Listen) -> Listening:
        reserved = await self._performer.reserve(step, request.generate)
        hearing = self._hearing(step)
        self._group.start_soon(self._hear, hearing, request, self._performer, reserved)
        return hearing.listening

    async def _hear(self, hearing: Hearing, request: Listen, performer: Performer, reserved: Any) -> None:
        step = hearing.step
        with hearing.scope:
            try:
                completion = await performer.generate(step, request.generate, reserved, performer.hear(hearing))
                hearing.end(completion=completion)
            except SleuthError as error:
                hearing.end(error=error)
            except Exception as bug:  # noqa: BLE001  (a bug in the model, as in `_drive`)
                hearing.end(error=ModelError(f"{type(bug).__name__}: {bug}"))
                self.abort(bug)
        if not hearing.ended:
            hearing.end(error=Cancelled("The call was given up before its end."))
        step.over = True

    async def _read(self, step: Step, listening: Listening, until: str | None) -> str | Completion:
        hearing = self._hearings.get(listening)
        if hearing is None:
            raise WrongUse(f"Nothing is being listened to under the name {listening.id!r}.")
        try:
            piece = await (hearing.close() if step.branch.returned else hearing.read(until))
        except SleuthError:
            step.bill = hearing.bill()
            raise
        if isinstance(piece, Completion):
            step.bill = hearing.bill()
        return piece

    def _hearing(self, step: Step) -> Hearing:
        hearing = Hearing(Listening(f"{step.span.branch or 'run'}-{step.digest}-{step.ordinal}"), step)
        self._hearings[hearing.listening] = hearing
        step.branch.hearings.append(hearing)
        return hearing

    # --- from a recording ---------------------------------------------------------------------------------------

    async def _replayed(self, step: Step) -> Outcome:
        """The recorded outcome. What was started and never ended waits until it is cancelled."""
        found, request = step.recorded, step.request
        if found is None:
            return await self._parked(step.branch)
        self._follow(step, found)
        if isinstance(found, Failed):
            return Outcome(error=found.error.again(), bill=found.usage)
        if not isinstance(request, Fork | Join | Next | Cancel):
            return Outcome(found.value, bill=found.usage)
        try:
            return Outcome(await self._control.perform(step), bill=found.usage)
        except SleuthError as error:
            return Outcome(error=error, bill=found.usage)

    async def _parked(self, branch: Branch) -> Outcome:
        with anyio.CancelScope() as branch.scope:
            if branch.ending is None:
                await anyio.sleep_forever()
        branch.scope = None
        return Outcome(error=self._why(branch), silent=True)

    def _reused(self, step: Step) -> Finished | Failed | None:
        """In a resume, the outcome to give again. One that is tried again carries what it was charged."""
        found, request = step.recorded, step.request
        if found is None or isinstance(request, Fork | Join | Next | Cancel):
            return None
        self._performer.ledger.charge(found.usage)
        usable = self._replay.is_reusable(found)
        if isinstance(request, Listen) and isinstance(found, Finished):
            usable = self._replay.heard(found.value) is not None
        if isinstance(request, Read):
            hearing = self._hearings.get(request.listening)
            usable = usable and hearing is not None and hearing.recorded
        step.carried = found.usage if not usable else step.carried
        return found if usable else None

    def _follow(self, step: Step, found: Finished | Failed) -> None:
        """Keep the books of a listened reply whose pieces come from the recording."""
        if isinstance(step.request, Listen) and isinstance(found, Finished):
            hearing = self._hearing(step)
            hearing.recorded, hearing.completion = True, self._replay.heard(found.value)
        if isinstance(step.request, Read) and step.request.listening in self._hearings:
            hearing = self._hearings[step.request.listening]
            hearing.told = hearing.told or found.usage.calls > 0
