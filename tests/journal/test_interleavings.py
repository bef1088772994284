"""Every order in which two transactions on one instance can meet, statement by statement.

Each write takes the instance's row before it looks at anything else (`aikirun/aiki#173`: a delivery that lands
between the look for it and the park is seen by neither, because the two transactions write no row in common). Here
one transaction is stopped at each of its own writes, and before it commits, while the other runs as far as it can;
then it goes on. Whatever the order: the delivery is taken once, and the request to cancel is met.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from journal_scene import LONG, NOON, claimed, delivery, done, history, parked, refused, row, started, wait
from psycopg import AsyncConnection

from flowx_runtime.journal.postgres.documents import commit_document, delivery_document
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.journal.postgres.queries import queries
from flowx_runtime.journal.records import Commit, Committed, Refusal, Refused, State

BEFORE_DUE = NOON - timedelta(minutes=1)
GATE = 4711

GATE_FUNCTION = """
create function {s}.gate() returns trigger language plpgsql as $$
begin
    if current_setting('test.gate', true) = tg_table_name || ' ' || tg_when || ' ' || tg_op then
        perform pg_advisory_xact_lock_shared(4711);
    end if;
    return coalesce(new, old);
end $$;
"""
TABLES = ("flow_instance", "flow_inbox", "flow_step", "flow_lease", "flow_wait")
BEFORE_COMMIT = "before the commit"
WHENS = ("BEFORE", "AFTER")


@dataclass(frozen=True)
class Write:
    """One transaction: the statement that the journal sends, its parameters, and what it writes."""

    statement: str
    parameters: Callable[[UUID, int], Any]
    writes: tuple[str, ...]

    @property
    def points(self) -> list[str]:
        """Where it is stopped."""
        tables = [write.split() for write in self.writes]
        return [*(f"flow_{table} {when} {verb}" for table, verb in tables for when in WHENS), BEFORE_COMMIT]


def _park(instance_id: UUID, token: int) -> Commit:
    return Commit(instance_id, token, rows=(row(token),), state=State.SUSPENDED, waits=(wait(),), release_lease=True)


def _park_on_two(instance_id: UUID, token: int) -> Commit:
    waits = (wait(), wait("other", step_id=2))
    return Commit(instance_id, token, rows=(row(token),), state=State.SUSPENDED, waits=waits, release_lease=True)


WRITES = {
    "deliver": Write("deliver", lambda i, _: [i, delivery_document(delivery())], ("inbox INSERT", "instance UPDATE")),
    "park": Write(
        "write_group",
        lambda i, token: [None, [i], f"[{commit_document(_park(i, token))}]"],
        ("step INSERT", "instance UPDATE", "lease DELETE"),
    ),
    "park on two": Write(
        "commit",
        lambda i, token: [commit_document(_park_on_two(i, token))],
        ("step INSERT", "wait INSERT", "instance UPDATE", "lease DELETE"),
    ),
    "wake": Write("claim_due", lambda i, _: [NOON, "wake", LONG, 10, None, None], ("lease INSERT", "instance UPDATE")),
    "claim": Write("claim", lambda i, _: [i, "claim", LONG], ("lease INSERT", "instance UPDATE")),
    "cancel": Write("request_cancel", lambda i, _: [i, "enough"], ("instance UPDATE",)),
    "step": Write(
        "commit",
        lambda i, token: [commit_document(Commit(i, token, rows=(row(9),)))],
        ("step INSERT", "instance UPDATE"),
    ),
}


class Meeting:
    """Three connections: the transaction that is stopped, the one that meets it, and one that watches."""

    def __init__(self, journal: PostgresJournal, schema: str, *connections: AsyncConnection[Any]) -> None:
        self.journal = journal
        self.sql = queries(schema)
        self.stopped, self.other, self.watch = connections

    async def meet(self, first: Write, second: Write, point: str, instance_id: UUID, token: int) -> None:
        await self.watch.execute("select pg_advisory_lock(%s)", [GATE])
        await self.stopped.execute("select set_config('test.gate', %s, false)", [point])
        one = asyncio.create_task(self.run(self.stopped, first, instance_id, token, stops=point == BEFORE_COMMIT))
        await self.stands(self.stopped, one)
        assert not one.done(), f"it never came to {point}"
        two = asyncio.create_task(self.run(self.other, second, instance_id, token))
        await self.stands(self.other, two)
        await self.watch.execute("select pg_advisory_unlock(%s)", [GATE])
        await asyncio.gather(one, two)

    async def run(
        self, connection: AsyncConnection[Any], write: Write, instance_id: UUID, token: int, *, stops: bool = False
    ) -> None:
        async with connection.transaction():
            cursor = await connection.execute(self.sql[write.statement], write.parameters(instance_id, token))
            answer = await cursor.fetchall()
            if stops:
                await connection.execute("select pg_advisory_xact_lock_shared(%s)", [GATE])
        if write.statement == "write_group" and answer[0][2] == "busy":
            # What the journal does with it: sent by itself, it waits for the row.
            await self.journal.commit(_park(instance_id, token))

    async def stands(self, connection: AsyncConnection[Any], task: asyncio.Task[None]) -> None:
        """Until the transaction is over, or waits for a lock; a second sending of it may wait on another connection."""
        mine = [connection.info.backend_pid]
        everybodys = [self.stopped.info.backend_pid, self.watch.info.backend_pid]
        while not task.done():
            cursor = await self.watch.execute(
                "select exists (select from pg_locks join pg_stat_activity using (pid)"
                " where not granted and datname = current_database()"
                " and case when %s then pid = any (%s) else pid <> all (%s) end)",
                [connection is self.stopped, mine, everybodys],
            )
            if await cursor.fetchone() == (True,):
                return


@pytest.fixture
async def meeting(postgres_dsn: str, schema: str) -> AsyncIterator[Meeting]:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    connections = [await AsyncConnection.connect(postgres_dsn, autocommit=True) for _ in range(3)]
    await connections[0].execute(GATE_FUNCTION.format(s=schema).encode())
    for table in TABLES:
        for when in ("before", "after"):
            await connections[0].execute(
                f"create trigger gate_{when} {when} insert or update or delete on {schema}.{table}"
                f" for each row execute function {schema}.gate()".encode()
            )
    for connection in connections:
        await connection.execute("set lock_timeout = '20s'")
    yield Meeting(journal, schema, *connections)
    for connection in connections:
        await connection.close()
    await journal.close()


async def running(journal: PostgresJournal) -> tuple[UUID, int]:
    return await started(journal), 1


async def waiting(journal: PostgresJournal) -> tuple[UUID, int]:
    return await parked(journal), 1


async def woken(journal: PostgresJournal) -> tuple[UUID, int]:
    instance_id = await parked(journal)
    return instance_id, (await claimed(journal, instance_id)).lease.fencing_token


SCENES: list[tuple[str, Callable[[PostgresJournal], Awaitable[tuple[UUID, int]]], list[str]]] = [
    ("running", running, ["deliver", "park", "park on two", "cancel", "step"]),
    ("waiting", waiting, ["deliver", "wake", "claim", "cancel"]),
    ("woken", woken, ["deliver", "park", "park on two", "cancel", "step"]),
]
PAIRS = [
    pytest.param(scene, first, second, id=f"{name}-{first} meets {second}")
    for name, scene, writes in SCENES
    for first, second in permutations(writes, 2)
    if {"deliver", "cancel"} & {first, second} and not {first, second} <= {"park", "park on two"}
]


@pytest.mark.parametrize(("scene", "first", "second"), PAIRS)
async def test_in_every_order_nothing_is_lost(meeting: Meeting, scene, first: str, second: str) -> None:
    for point in WRITES[first].points:
        instance_id, token = await scene(meeting.journal)
        await meeting.meet(WRITES[first], WRITES[second], point, instance_id, token)
        if "deliver" in (first, second):
            await is_taken_once(meeting.journal, instance_id)
        if "cancel" in (first, second):
            await is_cancelled(meeting.journal, instance_id)
        await leave(meeting.journal, instance_id)


async def is_taken_once(journal: PostgresJournal, instance_id: UUID) -> None:
    """Whoever holds the instance meets the delivery at its next park; else a sweep gives it out before it is due."""
    token = (await history(journal, instance_id)).instance.fence
    if await journal.live_leases(instance_id):
        again = Commit(instance_id, token, state=State.SUSPENDED, waits=(wait(),), release_lease=True)
        assert await refused(journal, again) is Refusal.SIGNAL_ARRIVED
    else:
        token = await given_out(journal, instance_id)
    assert [kept.delivery_id for kept in (await history(journal, instance_id)).inbox] == ["d-1"]
    take = Commit(instance_id, token, rows=(row(20),), taken_deliveries=("d-1",))
    await done(journal, take)
    assert await refused(journal, take) is Refusal.DUPLICATE_STEP


async def is_cancelled(journal: PostgresJournal, instance_id: UUID) -> None:
    """Whoever holds the instance is told at its next commit, and else a sweep gives it out with the reason."""
    held = await history(journal, instance_id)
    token = held.instance.fence
    assert held.instance.cancel_reason == "enough"
    if not await journal.live_leases(instance_id):
        token = await given_out(journal, instance_id)
    answer = await done(journal, Commit(instance_id, token, rows=(row(21),)))
    assert answer == Committed(answer.last_sequence, "enough")


async def given_out(journal: PostgresJournal, instance_id: UUID) -> int:
    found = await journal.claim_due(now=BEFORE_DUE, owner="sweep", ttl=LONG, limit=10)
    assert [each.lease.instance_id for each in found] == [instance_id]
    return found[0].lease.fencing_token


async def leave(journal: PostgresJournal, instance_id: UUID) -> None:
    """End it, so that the next round's sweeps find only their own."""
    token = (await history(journal, instance_id)).instance.fence
    answer = await journal.commit(Commit(instance_id, token, state=State.CANCELLED, release_lease=True))
    assert isinstance(answer, Committed) or (isinstance(answer, Refused) and not answer.detail)
