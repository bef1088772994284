"""A journal in memory that keeps the whole contract, so that what passes on it passes on a database.

No method awaits between its first read and its last write. On one event loop that makes each of them atomic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from flowx_runtime.journal.instants import aware
from flowx_runtime.journal.memory.once import MemoryOnce
from flowx_runtime.journal.memory.outbox import MemoryOutbox
from flowx_runtime.journal.memory.pauses import MemoryPauses
from flowx_runtime.journal.memory.schedules import MemorySchedules
from flowx_runtime.journal.memory.setbacks import MemorySetbacks
from flowx_runtime.journal.pauses import holds
from flowx_runtime.journal.records import (
    REOPENED,
    REOPENED_SCOPE,
    TERMINAL,
    Claimant,
    Claimed,
    Commit,
    Committed,
    Delivery,
    Filter,
    History,
    InstanceRow,
    Lease,
    NewInstance,
    Pruned,
    Refusal,
    Refused,
    RowOutcome,
    StagedEvent,
    Started,
    State,
    StepRow,
)

_ABANDONABLE = frozenset({State.PENDING, State.RUNNING, State.COMPENSATING})


def _wall_clock() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class _Entry:
    """One instance with all that belongs to it. The records in it are immutable; only the entry changes."""

    row: InstanceRow
    lease: Lease
    rows: list[StepRow] = field(default_factory=list)
    keys: set[tuple[str, int, int]] = field(default_factory=set)
    inbox: dict[str, Delivery] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    events: dict[UUID, StagedEvent] = field(default_factory=dict)
    signalled: bool = False
    """A delivery came in for one of the open waits since the instance parked."""

    def pending(self) -> tuple[Delivery, ...]:
        return tuple(delivery for key, delivery in self.inbox.items() if key not in self.taken)

    def history(self) -> History:
        return History(self.row, tuple(self.rows), self.pending())


class MemoryJournal(MemoryOnce, MemoryOutbox, MemorySchedules, MemoryPauses, MemorySetbacks):
    """The journal contract over dictionaries.

    Args:
        clock: the store's clock, which judges leases; the test host gives its virtual one.
    """

    def __init__(self, clock: Callable[[], datetime] = _wall_clock) -> None:
        super().__init__(clock)
        self._entries: dict[UUID, _Entry] = {}
        self._schedules = {}
        self._once = {}
        self._pauses = {}
        self._setbacks = {}

    async def start(self, instance: NewInstance, *, owner: str, ttl: timedelta) -> Started:
        existing = self._entries.get(instance.instance_id)
        if existing is not None:
            return Started(existing.history(), None)
        now = self._clock()
        lease = Lease(instance.instance_id, owner, 1, now + ttl)
        row = InstanceRow(
            instance_id=instance.instance_id,
            flow_id=instance.flow_id,
            flow_version=instance.flow_version,
            plan_digest=instance.plan_digest,
            state=State.RUNNING,
            input=instance.input,
            created_at=now,
            updated_at=now,
            fence=lease.fencing_token,
            deadline_at=instance.deadline_at,
            correlation_id=instance.correlation_id,
            tenant_id=instance.tenant_id,
            parent_instance_id=instance.parent_instance_id,
            parent_scope=instance.parent_scope,
            parent_step_id=instance.parent_step_id,
        )
        if instance.parked is not None:
            row = replace(row, state=State.SUSPENDED, waits=(instance.parked,))
            entry = self._entries[instance.instance_id] = _Entry(row, replace(lease, expires_at=now))
            return Started(entry.history(), None, is_parked=True)
        entry = self._entries[instance.instance_id] = _Entry(row, lease)
        return Started(entry.history(), lease, is_paused=holds(self._pauses, row.flow_id))

    async def commit(self, commit: Commit) -> Committed | Refused:
        entry = self._entries.get(commit.instance_id)
        if entry is None:
            return Refused(Refusal.UNKNOWN_INSTANCE)
        refused = self._refusal(entry, commit)
        if refused is not None:
            return refused
        self._apply(entry, commit)
        return Committed(len(entry.rows), cancel_reason=entry.row.cancel_reason)

    async def claim(self, instance_id: UUID, *, owner: str, ttl: timedelta) -> Claimed | Refused:
        entry = self._entries.get(instance_id)
        if entry is None:
            return Refused(Refusal.UNKNOWN_INSTANCE)
        if entry.row.state.is_terminal:
            return Refused(Refusal.INSTANCE_TERMINAL)
        if self._is_paused(entry.row):
            return Refused(Refusal.PAUSED)
        if self._is_live(entry.lease):
            return Refused(Refusal.LEASE_HELD, f"held by {entry.lease.owner}")
        return self._acquire(entry, owner, ttl)

    async def claim_due(
        self,
        *,
        now: datetime,
        owner: str,
        ttl: timedelta,
        limit: int,
        plans: Collection[tuple[str, str]] | None = None,
    ) -> Sequence[Claimed]:
        due = [
            (not entry.signalled, entry.row.wake.at, entry)
            for entry in self._claimable(plans)
            if entry.row.wake is not None and (entry.signalled or entry.row.wake.at <= now)
        ]
        due.sort(key=lambda ranked: ranked[:2])
        return [self._acquire(entry, owner, ttl) for _, _, entry in due[:limit]]

    async def claim_abandoned(
        self, *, owner: str, ttl: timedelta, limit: int, plans: Collection[tuple[str, str]] | None = None
    ) -> Sequence[Claimed]:
        abandoned = [entry for entry in self._claimable(plans) if entry.row.state in _ABANDONABLE]
        abandoned.sort(key=lambda entry: entry.row.updated_at)
        return [self._acquire(entry, owner, ttl) for entry in abandoned[:limit]]

    async def renew(self, instance_ids: Sequence[UUID], *, owner: str, ttl: timedelta) -> frozenset[UUID]:
        renewed = set[UUID]()
        for instance_id in instance_ids:
            entry = self._entries.get(instance_id)
            if entry is not None and entry.lease.owner == owner and self._is_live(entry.lease):
                entry.lease = replace(entry.lease, expires_at=self._clock() + ttl)
                renewed.add(instance_id)
        return frozenset(renewed)

    async def release(self, instance_id: UUID, *, fencing_token: int) -> None:
        entry = self._entries.get(instance_id)
        if entry is not None and entry.lease.fencing_token == fencing_token:
            self._release(entry)

    async def deliver(
        self, instance_id: UUID, delivery: Delivery, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        entry = self._entries.get(instance_id)
        if entry is None:
            return Refused(Refusal.UNKNOWN_INSTANCE)
        return self._accept(entry, delivery) or self._claimed_after(entry, claim_for)

    async def request_cancel(
        self, instance_id: UUID, reason: str, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        entry = self._entries.get(instance_id)
        if entry is None:
            return Refused(Refusal.UNKNOWN_INSTANCE)
        if entry.row.state.is_terminal:
            return Refused(Refusal.INSTANCE_TERMINAL)
        if entry.row.cancel_reason is None:
            entry.row = replace(entry.row, cancel_reason=reason)
        entry.signalled = entry.signalled or entry.row.state is State.SUSPENDED
        return self._claimed_after(entry, claim_for)

    async def reopen(
        self, instance_id: UUID, by: str, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        entry = self._entries.get(instance_id)
        if entry is None:
            return Refused(Refusal.UNKNOWN_INSTANCE)
        if entry.row.state is not State.COMPENSATION_FAILED:
            return Refused(Refusal.INSTANCE_TERMINAL if entry.row.state.is_terminal else Refusal.NOT_NEEDED)
        now = self._clock()
        times = sum(row.capability_id == REOPENED for row in entry.rows)
        said = StepRow(REOPENED_SCOPE, 0, times + 1, REOPENED, RowOutcome.SUCCESS, by)
        entry.keys.add((said.scope, said.step_id, said.attempt))
        entry.rows.append(replace(said, sequence=len(entry.rows) + 1, committed_at=now))
        entry.row = replace(entry.row, state=State.COMPENSATING, fence=entry.row.fence + 1, updated_at=now)
        return self._claimed_after(entry, claim_for)

    async def prune(self, *, older_than: datetime, states: Collection[State] = TERMINAL, batch: int = 1000) -> Pruned:
        aware(older_than)
        # What it removes is the same at once and in batches: nothing else runs in between.
        gone = [entry for entry in self._entries.values() if self._is_prunable(entry, older_than, states)]
        for entry in gone:
            del self._entries[entry.row.instance_id]
            self._forget_events(entry.row.instance_id)
            self._once.pop(entry.row.instance_id, None)
        return Pruned(
            instances=len(gone),
            steps=sum(len(entry.rows) for entry in gone),
            events=sum(len(entry.events) for entry in gone),
            deliveries=sum(len(entry.inbox) for entry in gone),
        )

    def _is_prunable(self, entry: _Entry, older_than: datetime, states: Collection[State]) -> bool:
        row = entry.row
        if not row.state.is_terminal or row.state not in states or row.updated_at >= older_than:
            return False
        parent = None if row.parent_instance_id is None else self._entries.get(row.parent_instance_id)
        return not self._owes_an_event(row.instance_id) and (parent is None or parent.row.state.is_terminal)

    async def read(self, instance_id: UUID) -> History | None:
        entry = self._entries.get(instance_id)
        return None if entry is None else entry.history()

    async def find(self, filter: Filter) -> Sequence[InstanceRow]:
        found = [
            entry.row
            for entry in self._entries.values()
            if filter.flow_id in (None, entry.row.flow_id)
            and filter.flow_version in (None, entry.row.flow_version)
            and filter.parent in (None, entry.row.parent_instance_id)
            and (not filter.states or entry.row.state in filter.states)
        ]
        found.sort(key=lambda row: (row.created_at, row.instance_id), reverse=True)
        return found[: filter.limit]

    async def events(self, instance_id: UUID) -> Sequence[StagedEvent]:
        entry = self._entries.get(instance_id)
        return () if entry is None else tuple(entry.events.values())

    async def live_leases(self, instance_id: UUID) -> int:
        entry = self._entries.get(instance_id)
        return int(entry is not None and self._is_live(entry.lease))

    async def next_wake(self) -> datetime | None:
        wakes = (entry.row.wake for entry in self._entries.values())
        return min((wake.at for wake in wakes if wake is not None), default=None)

    async def now(self) -> datetime:
        return self._clock()

    async def close(self) -> None:
        return None

    def _is_known(self, instance_id: UUID) -> bool:
        return instance_id in self._entries and not self._entries[instance_id].row.state.is_terminal

    def _is_live(self, lease: Lease) -> bool:
        return lease.expires_at > self._clock()

    def _is_paused(self, row: InstanceRow) -> bool:
        return holds(self._pauses, row.flow_id, row.instance_id)

    def _claimable(self, plans: Collection[tuple[str, str]] | None) -> Iterator[_Entry]:
        for entry in self._entries.values():
            runnable = plans is None or (entry.row.flow_id, entry.row.flow_version) in plans
            is_open = not entry.row.state.is_terminal and not self._is_paused(entry.row)
            if runnable and is_open and not self._is_live(entry.lease):
                yield entry

    def _acquire(self, entry: _Entry, owner: str, ttl: timedelta) -> Claimed:
        token = entry.row.fence + 1
        entry.lease = Lease(entry.row.instance_id, owner, token, self._clock() + ttl)
        entry.row = replace(entry.row, fence=token)
        return Claimed(entry.lease, entry.history())

    def _claimed_after(self, entry: _Entry, claimant: Claimant | None) -> Claimed | None:
        """Claimed by who has just said something to it, if it may go on."""
        row = entry.row
        may_go_on = entry.signalled if row.state is State.SUSPENDED else not row.state.is_terminal
        if claimant is None or not may_go_on or self._is_paused(row) or self._is_live(entry.lease):
            return None
        return self._acquire(entry, claimant.owner, claimant.ttl)

    def _release(self, entry: _Entry) -> None:
        if self._is_live(entry.lease):
            entry.lease = replace(entry.lease, expires_at=self._clock())

    def _write_refused(self, instance_id: UUID, fencing_token: int) -> Refused | None:
        entry = self._entries.get(instance_id)
        if entry is None:
            return Refused(Refusal.UNKNOWN_INSTANCE)
        if fencing_token < entry.row.fence:
            return Refused(Refusal.FENCED_OUT, f"the fence is at {entry.row.fence}")
        if entry.row.state.is_terminal:
            return Refused(Refusal.INSTANCE_TERMINAL, f"the instance is {entry.row.state.value}")
        return None

    def _refusal(self, entry: _Entry, commit: Commit) -> Refused | None:
        """Every check comes before the first write, so a refused commit changes nothing."""
        refused = self._write_refused(commit.instance_id, commit.fencing_token)
        if refused is not None:
            return refused
        fresh = set[tuple[str, int, int]]()
        for row in commit.rows:
            key = (row.scope, row.step_id, row.attempt)
            if key in entry.keys or key in fresh:
                return Refused(Refusal.DUPLICATE_STEP, f"step {row.step_id}, scope {row.scope!r}, {row.attempt}")
            fresh.add(key)
        pending = {delivery.delivery_id: delivery.signal_id for delivery in entry.pending()}
        for delivery_id in commit.taken_deliveries:
            if pending.pop(delivery_id, None) is None:
                return Refused(Refusal.DUPLICATE_STEP, f"delivery {delivery_id!r} is not in the inbox")
        arrived = {wait.signal_id for wait in commit.waits}.intersection(pending.values())
        if arrived:
            return Refused(Refusal.SIGNAL_ARRIVED, ", ".join(sorted(filter(None, arrived))))
        return None

    def _apply(self, entry: _Entry, commit: Commit) -> None:
        now = self._clock()
        self._setbacks.pop(commit.instance_id, None)
        for row in commit.rows:
            entry.keys.add((row.scope, row.step_id, row.attempt))
            entry.rows.append(replace(row, sequence=len(entry.rows) + 1, committed_at=now))
        for event in commit.events:
            entry.events.setdefault(event.event_id, event)
        self._stage(entry.row, commit.events)
        entry.taken.update(commit.taken_deliveries)
        row_now = entry.row
        if commit.state is not None:
            row_now = replace(row_now, state=commit.state, waits=commit.waits)
            entry.signalled = commit.state is State.SUSPENDED and row_now.cancel_reason is not None
        entry.row = replace(
            row_now,
            updated_at=now,
            output=row_now.output if commit.output is None else commit.output,
            error=row_now.error if commit.error is None else commit.error,
        )
        if commit.release_lease or entry.row.state.is_terminal:
            self._release(entry)
        parent = self._entries.get(entry.row.parent_instance_id) if entry.row.parent_instance_id else None
        if commit.parent_delivery is not None and parent is not None:
            self._accept(parent, commit.parent_delivery)

    @staticmethod
    def _accept(entry: _Entry, delivery: Delivery) -> Refused | None:
        if delivery.delivery_id in entry.inbox:
            return None
        if entry.row.state.is_terminal:
            return Refused(Refusal.INSTANCE_TERMINAL)
        entry.inbox[delivery.delivery_id] = replace(delivery, received_sequence=len(entry.inbox) + 1)
        if any(wait.signal_id == delivery.signal_id for wait in entry.row.waits):
            entry.signalled = True
        return None
