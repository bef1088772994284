"""How a journal's database stands, for whoever operates it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from flowx_runtime.journal.pauses import Pause
from flowx_runtime.journal.postgres.connecting import Connection
from flowx_runtime.journal.postgres.migrating import migrations, version
from flowx_runtime.journal.postgres.queries import queries


@dataclass(frozen=True, slots=True)
class Status:
    """What the database holds, at one moment by its own clock."""

    instances: Mapping[str, int]
    """By state."""
    oldest_due: datetime | None
    """The earliest wake that is past: a parked instance that no node has taken up yet."""
    overdue: timedelta
    """How long it is past; nothing where there is none."""
    live_leases: int
    expired_leases: int
    """Of instances that a node left and none has taken up yet."""
    nodes: int
    events_pending: int
    """Staged, and neither published nor set aside."""
    events_lag: timedelta
    """How long the oldest of them has been staged."""
    events_poisoned: int
    """Set aside, and neither retried nor dropped yet."""
    pauses: tuple[Pause, ...] = ()
    stuck: int = 0
    """Instances that a node could not go on with since their last row."""


@dataclass(frozen=True, slots=True)
class Schema:
    """Which migrations a schema has had."""

    version: int
    needed: int

    @property
    def is_current(self) -> bool:
        """Whether this flowx can work on it."""
        return self.version == self.needed


async def read_schema(connection: Connection, schema: str) -> Schema:
    """The version of a schema; 0 where it does not exist."""
    return Schema(await version(connection, schema), len(migrations()))


async def read_status(connection: Connection, schema: str) -> Status:
    """How a schema of this version stands. Reads whole tables where it counts; locks nothing."""
    statements = queries(schema)
    states = await (await connection.execute(statements["count_states"])).fetchall()
    row = await (await connection.execute(statements["count_rest"])).fetchone()
    assert row is not None
    pauses = await (await connection.execute(statements["pauses"])).fetchall()
    stuck = await (await connection.execute(statements["count_setbacks"])).fetchone()
    assert stuck is not None
    paused = tuple(Pause(target, reason, paused_at) for target, reason, paused_at in pauses)
    return replace(Status(dict(states), *row), pauses=paused, stuck=stuck[0])
