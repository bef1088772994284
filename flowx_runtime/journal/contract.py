"""What a store must do to be a journal. One conformance suite holds every store to this.

Guarantees every method keeps:

* A write is atomic. A refused write changes nothing; a refusal is a value, not an exception.
* Every write names a fencing token. A token below the instance's fence is refused; the fence rises
  on acquisition, before the history is read, so a former owner cannot slip a write in between.
* An ended instance takes no further write and holds no lease. Only `reopen` makes it one that has not ended.
* An event id is one event, however often it is staged.
* Lease expiry is judged by the store's clock, never by a caller's.
* An exception means the store could not be asked (`JournalUnavailable`): the caller knows nothing about the
  outcome and reads the history again before it goes on. `NotStorable` means that it was asked and took nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, ClassVar, Protocol
from uuid import UUID

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.journal.once import OnceStore
from flowx_runtime.journal.outbox import Outbox
from flowx_runtime.journal.pauses import PauseStore
from flowx_runtime.journal.records import (
    TERMINAL,
    Claimant,
    Claimed,
    Commit,
    Committed,
    Delivery,
    Filter,
    History,
    InstanceRow,
    NewInstance,
    Pruned,
    Refused,
    StagedEvent,
    Started,
    State,
)
from flowx_runtime.journal.schedules import ScheduleStore
from flowx_runtime.journal.setbacks import SetbackStore


class JournalUnavailable(FlowxError):
    """The store cannot be reached. Nothing is lost: instances go on when it is back."""

    code: ClassVar[str] = "journal.unavailable"


class NotStorable(FlowxError):
    """The store does not take this value, now or later; nothing of the write was kept."""

    code: ClassVar[str] = "journal.not_storable"


class Journal(OnceStore, Outbox, ScheduleStore, PauseStore, SetbackStore, Protocol):
    """Stores instances, their history and the events they stage."""

    async def start(self, instance: NewInstance, *, owner: str, ttl: timedelta) -> Started:
        """Create an instance, Running, with a lease for `owner`; or give the existing one, untouched.

        Starting is idempotent by instance id: of any number of concurrent starts exactly one gets the lease. The
        answer says where the flow is paused.

        One that is to be made `parked` is Suspended on that wait at once, as if it had been started and parked, and
        nobody has a lease; a store may start it all the same, with a lease, and leave the parking to the caller.
        """
        ...

    async def commit(self, commit: Commit) -> Committed | Refused:
        """Write rows, events, consumed deliveries and the new state as one.

        Parking (`state=SUSPENDED`) is refused with `SIGNAL_ARRIVED`, in the same atomic step, when the inbox holds
        an unconsumed delivery for one of the waits: a delivery and a park always meet on a row they both write.
        Otherwise refused with `UNKNOWN_INSTANCE`, `FENCED_OUT`, `INSTANCE_TERMINAL` or `DUPLICATE_STEP` (a row's key
        exists, or a delivery it takes is not in the inbox). Where several hold, the first three come first, in this
        order.
        """
        ...

    async def claim(self, instance_id: UUID, *, owner: str, ttl: timedelta) -> Claimed | Refused:
        """Acquire an instance that nobody holds, raise its fence, and read its history.

        Refused with `UNKNOWN_INSTANCE`, `INSTANCE_TERMINAL` for an ended instance, `PAUSED`, or `LEASE_HELD` while a
        live lease exists (also one of `owner`'s own); where several hold, in this order.
        """
        ...

    async def claim_due(
        self,
        *,
        now: datetime,
        owner: str,
        ttl: timedelta,
        limit: int,
        plans: Collection[tuple[str, str]] | None = None,
    ) -> Sequence[Claimed]:
        """Acquire parked instances that may go on: those with a signal first, then by how long they are due.

        Due are those whose earliest wake is at or before `now`: the caller's clock, by which the waits were recorded.
        With a signal are those that took a delivery for an open wait and that nobody has gone on with. `plans` are
        the (flow, version) pairs the caller can run: others are left for a node that can. `None` means all. What is
        paused is left.
        """
        ...

    async def claim_abandoned(
        self, *, owner: str, ttl: timedelta, limit: int, plans: Collection[tuple[str, str]] | None = None
    ) -> Sequence[Claimed]:
        """Acquire Pending, Running and Compensating instances that nobody holds a live lease on.

        What is paused is left.
        """
        ...

    async def renew(self, instance_ids: Sequence[UUID], *, owner: str, ttl: timedelta) -> frozenset[UUID]:
        """Extend the live leases of `owner` on these instances; gives those that were extended."""
        ...

    async def release(self, instance_id: UUID, *, fencing_token: int) -> None:
        """Give a lease up. A superseded token releases nothing."""
        ...

    async def deliver(
        self, instance_id: UUID, delivery: Delivery, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        """Accept a signal for an instance, before, during or after its wait opens.

        The same delivery id twice is one delivery. Refused with `INSTANCE_TERMINAL` or `UNKNOWN_INSTANCE`.

        With `claim_for` the instance is claimed in the same atomic step, so that no sweep takes it up in between;
        `None` all the same where it is held, paused, or parked at waits that nothing has met. Whom nobody claims,
        `claim_due` gives out once a wait is met.
        """
        ...

    async def request_cancel(
        self, instance_id: UUID, reason: str, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        """Record that an instance is to be cancelled; the first reason stays.

        Every commit that is written from then on answers with the reason, and every history has it. A parked
        instance, or one that parks without having known, is given out by `claim_due`, unless it is claimed at once,
        as by `deliver`. Refused with `INSTANCE_TERMINAL` or `UNKNOWN_INSTANCE`.
        """
        ...

    async def reopen(
        self, instance_id: UUID, by: str, *, claim_for: Claimant | None = None
    ) -> Claimed | Refused | None:
        """Have an instance that ended CompensationFailed go back once more: it is Compensating again.

        A row says so, with who wanted it. The fence rises, and nobody holds a lease: `claim_abandoned` gives the
        instance out, unless it is claimed at once, as by `deliver`. Refused with `NOT_NEEDED` where it has not ended,
        `INSTANCE_TERMINAL` where it ended otherwise, or `UNKNOWN_INSTANCE`.
        """
        ...

    async def prune(self, *, older_than: datetime, states: Collection[State] = TERMINAL, batch: int = 1000) -> Pruned:
        """Remove ended instances in one of the states, last written before an instant by the store's clock.

        Never removes an open instance, one with an event that is neither published nor dropped, or a child whose
        parent is open. Goes batch by batch, each in a transaction of its own, oldest first. A removed instance can be
        started again.
        """
        ...

    async def read(self, instance_id: UUID) -> History | None:
        """The instance and its rows in commit order; takes no lease."""
        ...

    async def find(self, filter: Filter) -> Sequence[InstanceRow]:
        """Instances, newest first."""
        ...

    async def events(self, instance_id: UUID) -> Sequence[StagedEvent]:
        """The events the instance staged, in commit order, published or not."""
        ...

    async def live_leases(self, instance_id: UUID) -> int:
        """How many live leases the instance has: 0 or 1."""
        ...

    async def next_wake(self) -> datetime | None:
        """The earliest wake of any parked instance."""
        ...

    async def now(self) -> datetime:
        """The store's clock."""
        ...

    async def close(self) -> None:
        """Release connections. Closing twice is harmless."""
        ...


class StepTransaction(Protocol):
    """One open database transaction: a step's own statements and, last, its row."""

    @property
    def connection(self) -> Any:
        """The connection a step runs its own statements on. It must not commit or roll back by itself."""
        ...

    async def commit(self, commit: Commit) -> Committed | Refused:
        """Write the row on this connection, at most once. A refusal rolls the step's own work back as well.

        A `Committed` answer is durable only when the block has been left without an error.
        """
        ...


class Transactional(Protocol):
    """A journal on which a step's own work can commit together with its row.

    ::

        async with journal.transaction() as tx:
            ...                                  # the step, on tx.connection
            answer = await tx.commit(commit)
        # here both are durable, or neither is

    Leaving the block by an exception, after a refusal, or without `commit` undoes everything in it.
    """

    def transaction(self) -> AbstractAsyncContextManager[StepTransaction]:
        """Begin a transaction on a connection of its own."""
        ...
