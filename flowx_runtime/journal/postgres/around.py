"""What stands around one instance, for whoever operates it: its lease, family, deliveries and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.records import Lease, State


@dataclass(frozen=True, slots=True)
class Relative:
    """A child, or the parent."""

    instance_id: UUID
    flow_id: str
    flow_version: str
    state: State


@dataclass(frozen=True, slots=True)
class Received:
    """A signal that was delivered, taken by a wait or not yet."""

    delivery_id: str
    signal_id: str
    payload: str
    received_at: datetime
    taken_at: datetime | None


@dataclass(frozen=True, slots=True)
class Staged:
    """An event that was staged, and how far publishing it got."""

    event_id: UUID
    type: str
    version: str
    staged_at: datetime
    published_at: datetime | None
    set_aside_at: datetime | None
    dropped_at: datetime | None
    attempts: int
    last_error: str | None


@dataclass(frozen=True, slots=True)
class Around:
    """Everything next to an instance's own history, at one moment."""

    now: datetime
    """The store's clock."""
    nodes: int
    """How many hosts are there that sweep."""
    lease: Lease | None
    """The last one that is recorded, which may be over."""
    parent: Relative | None
    children: tuple[Relative, ...]
    """Oldest first."""
    received: tuple[Received, ...]
    events: tuple[Staged, ...]


class PostgresAround:
    """Reads it. Every method only looks."""

    _connections: Connections
    _sql: Mapping[str, bytes]

    async def around(self, instance_id: UUID) -> Around:
        """What stands around an instance; next to nothing where there is none."""
        ask, sql = self._connections.ask, self._sql
        ((now, nodes, owner, token, expires_at),) = await ask(sql["lease_of"], [instance_id])
        relatives = await ask(sql["relatives"], [instance_id])
        received = await ask(sql["received"], [instance_id])
        events = await ask(sql["events_of"], [instance_id])
        family = [
            (bool(is_parent), Relative(each, flow, version, State(state)))
            for is_parent, each, flow, version, state in relatives
        ]
        return Around(
            now=now.astimezone(UTC),
            nodes=nodes,
            lease=None if owner is None else Lease(instance_id, owner, token, expires_at.astimezone(UTC)),
            parent=next((each for is_parent, each in family if is_parent), None),
            children=tuple(each for is_parent, each in family if not is_parent),
            received=tuple(
                Received(delivery_id, signal_id, payload, _utc(at), _utc_or_none(taken_at))
                for delivery_id, signal_id, payload, at, taken_at in received
            ),
            events=tuple(
                Staged(
                    event_id,
                    type,
                    version,
                    _utc(staged_at),
                    _utc_or_none(published_at),
                    _utc_or_none(set_aside_at),
                    _utc_or_none(dropped_at),
                    attempts,
                    last_error,
                )
                for (
                    event_id,
                    type,
                    version,
                    staged_at,
                    published_at,
                    set_aside_at,
                    dropped_at,
                    attempts,
                    last_error,
                ) in events
            ),
        )


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _utc_or_none(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
