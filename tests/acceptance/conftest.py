"""The example applications on a real PostgreSQL, driven by a virtual clock."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

import psycopg
import pytest

from flowx_runtime import FlowHost, PostgresJournal
from flowx_runtime.plan import Catalog

EXAMPLES = Path(__file__).parents[2] / "examples"
for example in ("polling", "offers", "workflow"):
    if str(EXAMPLES / example) not in sys.path:
        sys.path.insert(0, str(EXAMPLES / example))


async def run_that_is_cancelled(host: Any, flow: str, request: Any) -> None:
    """Run a flow in a task of its own, which a capability cancels: what a process that goes away does to it."""
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(host.run(flow, request))


def cancel_this_run() -> NoReturn:
    """Cancel the task that runs the flow, and be cancelled: no row is written."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    raise asyncio.CancelledError


class VirtualClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self._now = datetime(2026, 8, 1, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def time(self) -> float:
        return self._now.timestamp()

    def advance(self, by: timedelta) -> None:
        self._now += by

    def move_to(self, instant: datetime) -> None:
        self._now = max(self._now, instant)


class Database:
    """Looks at the rows as an operator would."""

    def __init__(self, dsn: str, schema: str) -> None:
        self.dsn = dsn
        self.schema = schema

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, options=f"-c search_path={self.schema}") as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def steps(self, instance_id: UUID) -> list[str]:
        """`scope|step|capability|outcome`, in commit order."""
        found = self.rows(
            "select scope, step_id, capability_id, outcome from flow_step where instance_id = %s order by sequence",
            instance_id,
        )
        return ["|".join(str(value) for value in row) for row in found]

    def state(self, instance_id: UUID) -> str:
        return str(self.rows("select state from flow_instance where instance_id = %s", instance_id)[0][0])

    def wake(self, instance_id: UUID) -> tuple[Any, ...]:
        return self.rows(
            "select wake_at, wake_step_id, wake_scope from flow_instance where instance_id = %s", instance_id
        )[0]

    def live_leases(self, instance_id: UUID) -> int:
        return int(
            self.rows("select count(*) from flow_lease where instance_id = %s and expires_at > now()", instance_id)[0][
                0
            ]
        )

    def change(self, statement: str, *parameters: object) -> None:
        with psycopg.connect(self.dsn, options=f"-c search_path={self.schema}") as connection:
            connection.execute(statement.encode(), parameters or None)

    def columns(self, table: str) -> list[str]:
        """The columns of a table, in the order of `select *`."""
        found = self.rows(
            "select column_name from information_schema.columns where table_schema = %s and table_name = %s "
            "order by ordinal_position",
            self.schema,
            table,
        )
        return [name for (name,) in found]

    def expire_leases(self) -> None:
        """What a lease's term does to the leases of a process that died."""
        self.change("update flow_lease set expires_at = now() - interval '1 second'")

    def stuck(self) -> list[tuple[Any, ...]]:
        """Open instances that nothing goes on with: neither parked until an instant nor in reach of recovery, or
        parked beside a signal for the very wait without being up for it."""
        return self.rows(
            """
            select instance_id, state from flow_instance i
            where (state in ('Pending', 'Running', 'Compensating')
                and not exists (select 1 from flow_lease l where l.instance_id = i.instance_id))
            or (state = 'Suspended' and wake_at is null)
            or (state = 'Suspended' and not signalled and exists (
                select 1 from flow_inbox d where d.instance_id = i.instance_id and d.taken_at is null
                and (d.signal_id = i.wake_signal_id or exists (
                    select 1 from flow_wait w where w.instance_id = i.instance_id and w.signal_id = d.signal_id))))
            """
        )


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def database(postgres_dsn: str, schema: str) -> Database:
    return Database(postgres_dsn, schema)


@pytest.fixture
def open_host(database: Database, clock: VirtualClock) -> Any:
    """Opens a host of its own, as another node would; its sweeps run only when a test says so."""

    @asynccontextmanager
    async def opened(catalog: Catalog, capabilities: list[object]) -> AsyncIterator[FlowHost]:
        journal = await PostgresJournal.open(database.dsn, schema=database.schema)
        host = FlowHost(plans=catalog, capabilities=capabilities, journal=journal, clock=clock, sweep_interval=None)
        async with host:
            yield host

    return opened
