"""What a store does for the events that steps staged: hand them out to be published, and keep how that went.

Guarantees every method keeps:

* An instance's events are handed out in the order they were staged, to one claim at a time. While its first event
  waits for another try, the later ones wait behind it; one that was set aside holds up nobody.
* A claim is a term by the store's clock, never an open transaction: publishing takes as long as it takes.
* That an event was published is a fact, and is noted also when the claim has lapsed. A failed try or a release counts
  only for the claim that had the instance.
* What was set aside stays until somebody retries or drops it. Nothing removes an event that is neither published nor
  dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from flowx_runtime.journal.records import StagedEvent


@dataclass(frozen=True, slots=True)
class ClaimedEvent:
    """A staged event that is handed out to be published."""

    instance_id: UUID
    event: StagedEvent
    sequence: int
    """Rises in the order of staging within the instance; there may be gaps."""
    occurred_at: datetime
    """When it was staged, by the store's clock."""
    flow_id: str
    correlation_id: str
    attempts: int
    """Tries that failed so far, since it was staged or retried by hand."""
    refusals: int
    """How many of them failed because of the event itself."""


@dataclass(frozen=True, slots=True)
class EventClaim:
    """The events that one claim was given: an instance's together, in order."""

    claim_id: UUID
    claimed_at: datetime
    """The store's clock."""
    events: tuple[ClaimedEvent, ...]


@dataclass(frozen=True, slots=True)
class FailedTry:
    """A try to publish an event that failed."""

    claim_id: UUID
    instance_id: UUID
    event_id: UUID
    error: str
    retry_in: timedelta
    """How long the event, and those of its instance behind it, are left alone from now on."""
    is_refusal: bool = False
    """Whether the event itself was refused, and not merely nobody reached."""
    is_poison: bool = False
    """Set it aside: it is not tried again, and the later events of its instance go on."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """How publishing went, written as one."""

    published: tuple[tuple[UUID, UUID], ...] = ()
    """Instance and event."""
    failed: tuple[FailedTry, ...] = ()
    released: tuple[tuple[UUID, UUID], ...] = ()
    """Instance and claim: what is left of the instance's events may be handed out again."""


@dataclass(frozen=True, slots=True)
class PoisonedEvent:
    """An event that was set aside: it is not published, and nobody tries."""

    instance_id: UUID
    event: StagedEvent
    sequence: int
    occurred_at: datetime
    set_aside_at: datetime
    attempts: int
    last_error: str


class Outbox(Protocol):
    """Hands out staged events and keeps how far each got."""

    async def claim_events(self, *, owner: str, ttl: timedelta, limit: int, per_instance: int = 64) -> EventClaim:
        """Acquire instances with an event that may be published now, the longest due first, and give those events.

        Gives about `limit` events: an instance is not given in parts, except that one gives at most `per_instance`.
        Others do not get an instance's events until the claim is released or `ttl` is over.
        """
        ...

    async def settle_events(self, settlement: Settlement) -> None:
        """Note what was published, what failed and until when, and release instances. Noting it twice is harmless."""
        ...

    async def mark_published(self, instance_id: UUID, event_ids: Collection[UUID]) -> None:
        """Note that events were handed on; until then nothing removes them. Noting it twice is harmless."""
        ...

    async def poisoned_events(self, *, instance_id: UUID | None = None, limit: int = 100) -> Sequence[PoisonedEvent]:
        """The events that were set aside, of one instance or of all; the longest set aside first."""
        ...

    async def retry_poisoned(self, instance_id: UUID, event_ids: Collection[UUID]) -> int:
        """Let events that were set aside be tried again, as if for the first time; gives how many were.

        Each comes before the later events of its instance that are still to be published, and after those that went
        on in the meantime.
        """
        ...

    async def drop_poisoned(self, instance_id: UUID, event_ids: Collection[UUID]) -> int:
        """Give up events that were set aside; gives how many were. They stay in the history of their instance."""
        ...
