"""One instance while it is walked: what its rows say, and what is about to be written.

Rows are held back until something outside is about to happen (the next capability, a park, the end), so that a park
or an end is one write with the row before it, and rows that nothing outside separates share one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from flowx_runtime.authoring.authorization import Caller, Principal
from flowx_runtime.engine.documents import Documents
from flowx_runtime.engine.failures import Disowned, FlowFailure, SignalArrived, stored_error
from flowx_runtime.engine.identity import minted_at
from flowx_runtime.engine.live import Live
from flowx_runtime.engine.long_history import LONG, LongHistories
from flowx_runtime.engine.once.ledger import Ledger
from flowx_runtime.engine.redaction import may_hold_secrets
from flowx_runtime.engine.undo import ChildUndo, Undo, is_undo_of_child, undo_of_row
from flowx_runtime.journal.contract import Journal, NotStorable
from flowx_runtime.journal.records import (
    REOPENED,
    Commit,
    Committed,
    Delivery,
    History,
    Refusal,
    Refused,
    RowOutcome,
    StagedEvent,
    Started,
    State,
    StepRow,
    StoredError,
    Wait,
)
from flowx_runtime.plan.nodes import Step
from flowx_runtime.plan.plan import Plan

Key: TypeAlias = tuple[str, int]
"""Scope and index of a node."""

TIMED_OUT: Final = "flow.timed_out"
"""Capability id of the row by which a wait says that its timeout block ran, where no row in the block does."""

CHILD_FINISHED: Final = "flow.child_finished/"
"""Start of the signal ids by which an ended child wakes its parent."""

CHILD_DELIVERY: Final = "child/"
"""Start of the ids of their deliveries; nobody else's begin like that."""


_WITH_VALUE: Final = frozenset({RowOutcome.SUCCESS, RowOutcome.DEGRADED})
_PLAINLY: Final = Documents()


@dataclass(frozen=True, slots=True)
class Parent:
    """The step of another instance that waits for this one."""

    instance_id: UUID
    scope: str
    step_id: int


def children_waited_for(waits: Iterable[Wait]) -> tuple[UUID, ...]:
    """The children whose end would wake a parked instance."""
    signals = (wait.signal_id or "" for wait in waits)
    return tuple(UUID(signal.removeprefix(CHILD_FINISHED)) for signal in signals if signal.startswith(CHILD_FINISHED))


def child_ended(child: UUID) -> Delivery:
    """What a child leaves in its parent's inbox when it ends."""
    return Delivery(f"{CHILD_DELIVERY}{child}", f"{CHILD_FINISHED}{child}", "{}")


class Session:
    """Everything one pass over an instance reads and writes."""

    def __init__(
        self,
        plan: Plan[Any, Any],
        *,
        instance_id: UUID,
        input: Any,
        started: datetime,
        deadline: datetime | None,
        caller: Caller | None = None,
        documents: Documents = _PLAINLY,
        live: Live | None = None,
    ) -> None:
        self.plan = plan
        self.documents = documents
        self.live = live or Live()
        self.instance_id = instance_id
        self.input = input
        self.started = started
        self.deadline = deadline
        self.caller = caller
        self.application = ""
        self._ledger: Ledger | None = None
        self.depth: int | None = 0
        """How many inline parents it has; `None` where that is still to be looked up."""
        self.cancel_reason: str | None = None
        """Somebody asked to cancel the instance: it stops at the next boundary and goes back."""
        self.starting: dict[UUID, asyncio.Future[Started]] = {}
        """The inline children whose start was sent and has not been answered."""
        self.correlation_id = ""
        self.tenant_id: str | None = None
        self.parent: Parent | None = None
        self.state = State.RUNNING
        self.error: StoredError | None = None
        self.journal: Journal | None = None
        self.fence = 0
        self.done: dict[Key, StepRow] = {}
        self.failed: dict[Key, StepRow] = {}
        self.undone: set[Key] = set()
        self.undo_failures: dict[Key, int] = {}
        self.undo_stack: list[Undo | ChildUndo] = []
        self.waits: tuple[Wait, ...] = ()
        """The waits that the journal has of it."""
        self.recorded_waits: dict[Key, datetime] = {}
        self.overlapping = False
        """Whether several nodes of this instance may be under way at once."""
        self._attempts: dict[Key, int] = {}
        self._inbox: list[Delivery] = []
        self._rows: list[StepRow] = []
        self._events: list[StagedEvent] = []
        self._taken: list[str] = []
        self._entered: dict[str, set[int]] | None = None
        """By scope, the nodes in it or inside it that have left a row; made when it is first asked for."""
        self._mark_running = False
        self._length = 0
        self.long_histories: LongHistories | None = None
        self._writing = asyncio.Lock()

    @classmethod
    def of(
        cls,
        plan: Plan[Any, Any],
        history: History,
        *,
        input: Any,
        journal: Journal,
        fence: int,
        documents: Documents = _PLAINLY,
        live: Live | None = None,
    ) -> Session:
        """The session of an instance in a journal."""
        instance = history.instance
        session = cls(
            plan,
            instance_id=instance.instance_id,
            input=input,
            started=minted_at(instance.instance_id) or instance.created_at,
            deadline=instance.deadline_at,
            documents=documents,
            live=live,
        )
        session.journal = journal
        session.fence = fence
        session.state = instance.state
        session.error = instance.error
        session.cancel_reason = instance.cancel_reason
        session.correlation_id = instance.correlation_id
        session.tenant_id = instance.tenant_id
        if instance.parent_instance_id is not None and instance.parent_step_id is not None:
            session.parent = Parent(instance.parent_instance_id, instance.parent_scope, instance.parent_step_id)
        session.waits = instance.waits
        session.recorded_waits = {(wait.scope, wait.step_id): wait.wake_at for wait in instance.waits}
        # Leaving Suspended clears the recorded waits. With one, its own row replaces it; with several, the others'
        # due instants would be lost to a crash, so the instance stays parked on them until it parks or ends anew.
        session._mark_running = instance.state is State.SUSPENDED and len(instance.waits) == 1
        session._inbox = list(history.inbox)
        session._length = len(history.rows)
        for row in history.rows:
            session._remember(row)
        return session

    @property
    def principal(self) -> str | None:
        """Who asks, by name; `None` where nobody whom we know does."""
        return self.caller.name if isinstance(self.caller, Principal) else None

    @property
    def ledger(self) -> Ledger:
        """The steps inside capabilities that run at most once."""
        if self._ledger is None:
            self._ledger = Ledger(
                self.instance_id,
                self.documents,
                store=self.journal,
                fence=self.fence,
                application=self.application,
            )
        return self._ledger

    @property
    def is_durable(self) -> bool:
        return self.journal is not None

    def attempt_after(self, key: Key) -> int:
        """The number of the next attempt at a node."""
        return self._attempts.get(key, 0) + 1

    def has_entered(self, scope: str, start: int, end: int, *, with_waits: bool = True) -> bool:
        """Whether anything in a block of nodes has left a row, or is being waited for."""
        if self._entered is None:
            self._entered = {}
            for key in (*self.done, *self.failed):
                self._note_entered(key)
        entered = set(self._entered.get(scope, ()))
        if with_waits:
            entered |= {index for at, index in self.recorded_waits if scope in _around(at)}
        return any(start <= index < end for index in entered)

    def take(self, signal_id: str) -> Delivery | None:
        """The oldest delivery of a signal; nobody else gets it."""
        for position, delivery in enumerate(self._inbox):
            if delivery.signal_id == signal_id:
                return self._inbox.pop(position)
        return None

    def pass_by(self, signal_id: str) -> None:
        """Take a delivery that says nothing new, with the next commit, if there is one."""
        delivery = self.take(signal_id)
        if delivery is not None:
            self._taken.append(delivery.delivery_id)

    def record(
        self,
        row: StepRow,
        *,
        event: StagedEvent | None = None,
        taken: Delivery | None = None,
    ) -> None:
        """Write a row with the next commit."""
        self._remember(row)
        if self.journal is None:
            return
        self._rows.append(row)
        if event is not None:
            self._events.append(event)
        if taken is not None:
            self._taken.append(taken.delivery_id)

    def push_undo(self, undo: Undo | None) -> None:
        """Note what would undo a step that no journal records."""
        if undo is not None:
            self.undo_stack.append(undo)

    def stored(self, contract: type[Any], value: object) -> str:
        """The document of a value, as it is kept with this instance."""
        return self.documents.stored(contract, value, self.instance_id)

    def restored(self, contract: type[Any], text: str) -> Any:
        """The value of a document that is kept with this instance."""
        return self.documents.restored(contract, text, self.instance_id)

    def signal_value(self, contract: type[Any], delivery: Delivery) -> Any:
        """What was delivered: the very message, where it came in through this process."""
        message = self.live.message((self.instance_id, delivery.delivery_id))
        return self.restored(contract, delivery.payload) if message is None else message

    def keep_result(self, scope: str, step_id: int, contract: type[Any] | None, value: Any) -> None:
        """Have a result at hand for this run, where its row will say less."""
        if contract is not None and may_hold_secrets(contract):
            self.live.results[self.instance_id, scope, step_id] = value

    def keep_undo_value(self, scope: str, step_id: int, value: Any) -> None:
        """Have at hand what an undo will be given, where the step's row will say less."""
        if may_hold_secrets(type(value)):
            self.live.undo_values[self.instance_id, scope, step_id] = value

    def stage(self, events: Sequence[StagedEvent]) -> None:
        """Stage events with the next commit."""
        if self.journal is not None:
            self._events.extend(events)

    async def flush(self) -> None:
        """Make everything recorded so far durable. What happens outside after this happens after those rows."""
        if self.journal is None or not (self._rows or self._events or self._writing.locked()):
            return
        if not self.overlapping:
            await self._write_pending()
            return
        # A sibling may cancel us; a write that is under way is finished all the same, or we would not know its fate.
        writing = asyncio.ensure_future(self._write_pending())
        writing.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(writing)

    async def park(self, waits: tuple[Wait, ...]) -> None:
        """Suspend on the waits and give the lease up, in one write.

        Raises:
            SignalArrived: a signal for one of them is there already; the rows are durable, nothing is parked.
        """
        try:
            await self._write(state=State.SUSPENDED, waits=waits, release_lease=True)
        except SignalArrived:
            await self._write_pending()
            raise
        self.state = State.SUSPENDED

    async def begin(self) -> None:
        """Write that somebody has begun with an instance that was left unbegun, before a step of it is."""
        await self._write(state=State.RUNNING)
        self.state = State.RUNNING

    async def go_beyond(self, wait: Key, to: Wait) -> None:
        """Write that a wait was gone beyond where no row says so: the instance stays parked, on `to` instead.

        Nobody waits for `to`. It is there to be found if this process dies before it has written a row.
        """
        scope, step_id = wait
        others = [at for at in self.waits if at.step_id != step_id or scope not in _around(at.scope)]
        # Without their signals, which could only refuse this write: whoever takes over walks to those waits anyway.
        waits = (*(replace(at, signal_id=None) for at in others), to)
        await self._write(state=State.SUSPENDED, waits=waits)
        self.waits = waits
        self._mark_running = len(waits) == 1

    async def unwind_from(self, error: StoredError) -> None:
        """Write that from here on this instance only goes back."""
        self.error = error
        await self._write(state=State.COMPENSATING, error=error)
        self.state = State.COMPENSATING

    async def end(self, state: State, *, output: str | None = None, error: StoredError | None = None) -> None:
        """Write the final state, give the lease up and wake a waiting parent, in one write."""
        delivery = None
        if self.parent is not None:
            delivery = child_ended(self.instance_id)
        await self._write(state=state, output=output, error=error, release_lease=True, parent_delivery=delivery)
        self.state = state
        self.error = error

    def commit_of(self, row: StepRow) -> Commit:
        """A commit of one row alone, for the step's own transaction."""
        return Commit(self.instance_id, self.fence, rows=(row,), state=self._running())

    def note_written(self, row: StepRow) -> None:
        """Note a row that the step's own transaction wrote."""
        self._mark_running = False
        self._remember(row)

    def _remember(self, row: StepRow) -> None:
        if row.capability_id == REOPENED:
            self.undo_failures.clear()  # each undo has its attempts anew
            return
        key = (row.scope, row.step_id)
        self._attempts[key] = max(row.attempt, self._attempts.get(key, 0))
        match row.outcome:
            case RowOutcome.SUCCESS | RowOutcome.DEGRADED:
                self.done[key] = row
                self._note_entered(key)
                entry = undo_of_row(self.plan, self.instance_id, row, self.live) if self.journal is not None else None
                if entry is not None:
                    self.undo_stack.append(entry)
            case RowOutcome.COMPENSATED:
                self.undone.add(key)
            case RowOutcome.FAILURE if key in self.done or is_undo_of_child(row.scope):
                self.undo_failures[key] = self.undo_failures.get(key, 0) + 1
            case RowOutcome.FAILURE:
                self.failed[key] = row
                self._note_entered(key)

    def _note_entered(self, key: Key) -> None:
        if self._entered is not None:
            for scope in _around(key[0]):
                self._entered.setdefault(scope, set()).add(key[1])

    def _running(self) -> State | None:
        return State.RUNNING if self._mark_running else None

    async def _write_pending(self) -> None:
        async with self._writing:
            if self._rows or self._events:
                await self._commit(state=self._running())

    async def _write(self, **parts: Any) -> None:
        if self.journal is None:
            return
        async with self._writing:
            await self._commit(**parts)

    async def _commit(self, **parts: Any) -> None:
        assert self.journal is not None
        rows, events, taken = tuple(self._rows), tuple(self._events), tuple(self._taken)
        commit = Commit(self.instance_id, self.fence, rows=rows, events=events, taken_deliveries=taken, **parts)
        failed: FlowFailure | None = None
        try:
            answer = await self.journal.commit(commit)
        except NotStorable as refused:
            commit, answer, failed = await self._commit_without_value(commit, refused)
        if isinstance(answer, Refused):
            if answer.reason is Refusal.SIGNAL_ARRIVED:
                raise SignalArrived
            raise Disowned(answer.reason, answer.detail)
        self.cancel_reason = self.cancel_reason or answer.cancel_reason
        before, self._length = self._length, answer.last_sequence
        if self._length >= LONG and self.long_histories is not None:
            self.long_histories.grown(self.plan.flow_id, self.instance_id, before=before, to=self._length)
        # Siblings may have recorded more while this was under way: only what was written is let go.
        del self._rows[: len(rows)], self._events[: len(events)], self._taken[: len(taken)]
        if commit.state is not None:
            self._mark_running = False
        if failed is not None:
            raise failed

    async def _commit_without_value(
        self, commit: Commit, refused: NotStorable
    ) -> tuple[Commit, Committed | Refused, FlowFailure | None]:
        """Commit a step as failed whose value the journal does not take: without a row it would be done again.

        Raises:
            NotStorable: it is none of the steps' values.
        """
        assert self.journal is not None
        for position, row in enumerate(commit.rows):
            if row.outcome not in _WITH_VALUE or not isinstance(self.plan.nodes[row.step_id], Step):
                continue
            error = stored_error(refused, (), code=refused.code)
            failing = replace(row, outcome=RowOutcome.FAILURE, request=None, result=None, error=error)
            rows = (*commit.rows[:position], failing, *commit.rows[position + 1 :])
            goes_on = commit.error is None
            instead = replace(commit, rows=rows)
            if goes_on:  # the flow fails first, and says itself what it comes to
                instead = Commit(
                    self.instance_id,
                    self.fence,
                    rows=rows,
                    events=commit.events,
                    taken_deliveries=commit.taken_deliveries,
                    state=self._running(),
                )
            try:
                answer = await self.journal.commit(instead)
            except NotStorable:
                continue
            self._forget(failing)
            failed = FlowFailure(error)
            failed.at = (row.scope, row.step_id)
            return instead, answer, failed if goes_on else None
        raise refused

    def _forget(self, failing: StepRow) -> None:
        key = (failing.scope, failing.step_id)
        del self.done[key]
        self.undo_stack = [undo for undo in self.undo_stack if (undo.scope, undo.step_id) != key]
        self._remember(failing)


def _around(scope: str) -> Iterator[str]:
    """A scope and those it is inside of, out to the main line."""
    while scope:
        yield scope
        scope = scope.rpartition("/")[0]
    yield ""
