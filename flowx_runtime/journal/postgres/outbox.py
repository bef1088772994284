"""The outbox of a journal on PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, timedelta
from typing import Any
from uuid import UUID, uuid4

from flowx_runtime.journal.outbox import ClaimedEvent, EventClaim, FailedTry, PoisonedEvent, Settlement
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.records import StagedEvent


class PostgresOutbox:
    """The outbox contract. Every method is one statement, and no lock outlives it."""

    _connections: Connections
    _sql: Mapping[str, bytes]

    async def claim_events(self, *, owner: str, ttl: timedelta, limit: int, per_instance: int = 64) -> EventClaim:
        claim_id = uuid4()
        rows = await self._connections.fetch(
            self._sql["claim_events"], [claim_id, owner, ttl, max(limit, 1), max(per_instance, 1)]
        )
        # The first row is the moment alone, so that it is there also where nothing was due.
        return EventClaim(claim_id, rows[0][0].astimezone(UTC), tuple(_claimed(*row[1:]) for row in rows[1:]))

    async def settle_events(self, settlement: Settlement) -> None:
        parameters = [
            [instance_id for instance_id, _ in settlement.published],
            [event_id for _, event_id in settlement.published],
            json.dumps([_failure_document(failed) for failed in settlement.failed]),
            [instance_id for instance_id, _ in settlement.released],
            [claim_id for _, claim_id in settlement.released],
        ]
        await self._connections.fetch(self._sql["settle_events"], parameters)

    async def mark_published(self, instance_id: UUID, event_ids: Collection[UUID]) -> None:
        await self._connections.fetch(self._sql["mark_published"], [instance_id, list(event_ids)])

    async def poisoned_events(self, *, instance_id: UUID | None = None, limit: int = 100) -> Sequence[PoisonedEvent]:
        parameters = {"instance": instance_id, "limit": limit}
        return [_poisoned(*row) for row in await self._connections.fetch(self._sql["poisoned_events"], parameters)]

    async def retry_poisoned(self, instance_id: UUID, event_ids: Collection[UUID]) -> int:
        return len(await self._connections.fetch(self._sql["retry_poisoned"], [instance_id, list(event_ids)]))

    async def drop_poisoned(self, instance_id: UUID, event_ids: Collection[UUID]) -> int:
        return len(await self._connections.fetch(self._sql["drop_poisoned"], [instance_id, list(event_ids)]))


def _claimed(
    instance_id: UUID,
    event_id: UUID,
    sequence: int,
    type: str,
    version: str,
    partition_key: str,
    payload: str,
    staged_at: Any,
    flow_id: str,
    correlation_id: str,
    attempts: int,
    refusals: int,
) -> ClaimedEvent:
    return ClaimedEvent(
        instance_id=instance_id,
        event=StagedEvent(event_id, type, version, payload, partition_key),
        sequence=sequence,
        occurred_at=staged_at.astimezone(UTC),
        flow_id=flow_id,
        correlation_id=correlation_id,
        attempts=attempts,
        refusals=refusals,
    )


def _poisoned(
    instance_id: UUID,
    event_id: UUID,
    sequence: int,
    type: str,
    version: str,
    partition_key: str,
    payload: str,
    staged_at: Any,
    set_aside_at: Any,
    attempts: int,
    last_error: str | None,
) -> PoisonedEvent:
    return PoisonedEvent(
        instance_id=instance_id,
        event=StagedEvent(event_id, type, version, payload, partition_key),
        sequence=sequence,
        occurred_at=staged_at.astimezone(UTC),
        set_aside_at=set_aside_at.astimezone(UTC),
        attempts=attempts,
        last_error=last_error or "",
    )


def _failure_document(failed: FailedTry) -> dict[str, Any]:
    return {
        "claim_id": str(failed.claim_id),
        "instance_id": str(failed.instance_id),
        "event_id": str(failed.event_id),
        # PostgreSQL cannot store the character NUL, and a failure must be recorded whatever its text is.
        "error": failed.error.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8"),
        "retry_in": failed.retry_in.total_seconds(),
        "is_refusal": failed.is_refusal,
        "is_poison": failed.is_poison,
    }
