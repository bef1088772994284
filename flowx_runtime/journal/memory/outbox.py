"""The outbox of a journal in memory.

No method awaits, so that on one event loop each of them is atomic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter
from uuid import UUID, uuid4

from flowx_runtime.journal.outbox import ClaimedEvent, EventClaim, FailedTry, PoisonedEvent, Settlement
from flowx_runtime.journal.records import InstanceRow, StagedEvent


@dataclass(slots=True)
class _Outgoing:
    """One event and how far it got."""

    event: StagedEvent
    sequence: int
    staged_at: datetime
    next_attempt_at: datetime
    attempts: int = 0
    refusals: int = 0
    last_error: str = ""
    published_at: datetime | None = None
    set_aside_at: datetime | None = None
    dropped_at: datetime | None = None

    @property
    def is_pending(self) -> bool:
        return self.published_at is None and self.set_aside_at is None

    @property
    def is_poisoned(self) -> bool:
        return self.set_aside_at is not None and self.published_at is None and self.dropped_at is None

    @property
    def is_owed(self) -> bool:
        return self.published_at is None and self.dropped_at is None


@dataclass(slots=True)
class _Queue:
    """The events of one instance, in the order of staging, and who publishes them at the moment."""

    instance_id: UUID
    flow_id: str
    correlation_id: str
    events: dict[UUID, _Outgoing] = field(default_factory=dict)
    claim_id: UUID | None = None
    claimed_until: datetime | None = None

    def pending(self) -> Iterator[_Outgoing]:
        return (event for event in self.events.values() if event.is_pending)


class MemoryOutbox:
    """The outbox contract over dictionaries."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._queues: dict[UUID, _Queue] = {}

    def _stage(self, instance: InstanceRow, events: Collection[StagedEvent]) -> None:
        if not events:
            return
        now = self._clock()
        queue = self._queues.setdefault(
            instance.instance_id, _Queue(instance.instance_id, instance.flow_id, instance.correlation_id)
        )
        for event in events:
            queue.events.setdefault(event.event_id, _Outgoing(event, len(queue.events) + 1, now, now))

    def _owes_an_event(self, instance_id: UUID) -> bool:
        queue = self._queues.get(instance_id)
        return queue is not None and any(event.is_owed for event in queue.events.values())

    def _forget_events(self, instance_id: UUID) -> None:
        self._queues.pop(instance_id, None)

    async def claim_events(self, *, owner: str, ttl: timedelta, limit: int, per_instance: int = 64) -> EventClaim:
        now = self._clock()
        claim_id = uuid4()
        claimed: list[ClaimedEvent] = []
        for queue in self._publishable(now):
            if len(claimed) >= limit:
                break
            queue.claim_id, queue.claimed_until = claim_id, now + ttl
            pending = [_claimed(queue, event) for event in queue.pending()]
            claimed += pending[:per_instance]
        return EventClaim(claim_id, now, tuple(claimed))

    async def settle_events(self, settlement: Settlement) -> None:
        for instance_id, event_id in settlement.published:
            await self.mark_published(instance_id, [event_id])
        for failed in settlement.failed:
            queue = self._queues.get(failed.instance_id)
            if queue is not None and queue.claim_id == failed.claim_id:
                self._note_failure(queue, failed)
        for instance_id, claim_id in settlement.released:
            queue = self._queues.get(instance_id)
            if queue is not None and queue.claim_id == claim_id:
                queue.claim_id = queue.claimed_until = None

    async def mark_published(self, instance_id: UUID, event_ids: Collection[UUID]) -> None:
        queue = self._queues.get(instance_id)
        for event_id in event_ids:
            event = None if queue is None else queue.events.get(event_id)
            if event is not None and event.published_at is None:
                event.published_at = self._clock()

    async def poisoned_events(self, *, instance_id: UUID | None = None, limit: int = 100) -> Sequence[PoisonedEvent]:
        found = [
            PoisonedEvent(
                queue.instance_id,
                event.event,
                event.sequence,
                event.staged_at,
                event.set_aside_at,
                event.attempts,
                event.last_error,
            )
            for queue in self._queues.values()
            if instance_id in (None, queue.instance_id)
            for event in queue.events.values()
            if event.is_poisoned and event.set_aside_at is not None
        ]
        return sorted(found, key=attrgetter("set_aside_at"))[:limit]

    async def retry_poisoned(self, instance_id: UUID, event_ids: Collection[UUID]) -> int:
        poisoned = self._poisoned(instance_id, event_ids)
        for event in poisoned:
            event.set_aside_at = None
            event.attempts = event.refusals = 0
            event.next_attempt_at = self._clock()
        return len(poisoned)

    async def drop_poisoned(self, instance_id: UUID, event_ids: Collection[UUID]) -> int:
        poisoned = self._poisoned(instance_id, event_ids)
        for event in poisoned:
            event.dropped_at = self._clock()
        return len(poisoned)

    def _publishable(self, now: datetime) -> list[_Queue]:
        """The instances whose first pending event is due and that nobody has, the longest due first."""
        due: list[tuple[datetime, _Queue]] = []
        for queue in self._queues.values():
            first = next(queue.pending(), None)
            is_held = queue.claimed_until is not None and queue.claimed_until > now
            if first is not None and not is_held and first.next_attempt_at <= now:
                due.append((first.next_attempt_at, queue))
        due.sort(key=lambda ranked: ranked[0])
        return [queue for _, queue in due]

    def _note_failure(self, queue: _Queue, failed: FailedTry) -> None:
        event = queue.events.get(failed.event_id)
        if event is None or not event.is_pending:
            return
        event.attempts += 1
        event.refusals += failed.is_refusal
        event.last_error = failed.error
        event.next_attempt_at = self._clock() + failed.retry_in
        if failed.is_poison:
            event.set_aside_at = self._clock()

    def _poisoned(self, instance_id: UUID, event_ids: Collection[UUID]) -> list[_Outgoing]:
        queue = self._queues.get(instance_id)
        events = {} if queue is None else queue.events
        return [event for event_id, event in events.items() if event_id in event_ids and event.is_poisoned]


def _claimed(queue: _Queue, event: _Outgoing) -> ClaimedEvent:
    return ClaimedEvent(
        instance_id=queue.instance_id,
        event=event.event,
        sequence=event.sequence,
        occurred_at=event.staged_at,
        flow_id=queue.flow_id,
        correlation_id=queue.correlation_id,
        attempts=event.attempts,
        refusals=event.refusals,
    )
