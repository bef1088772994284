"""Databases of every earlier version, with work in them: they are brought up to date and the work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from journal_scene import LONG, abandoned, claimed, delivery, done, history, row, started
from psycopg import AsyncConnection

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.journal.postgres.migrating import migrate, migrations
from flowx_runtime.journal.records import Commit, Refusal, Refused, State

LATEST = len(migrations())
DUE = datetime(2030, 1, 1, tzinfo=UTC)
FAR = datetime(2999, 1, 1, tzinfo=UTC)

INSTANCE = """
insert into {s}.flow_instance (
    instance_id, flow_id, flow_version, plan_digest, state, fence, next_sequence, next_event, next_delivery, input,
    output, created_at, updated_at, wake_at, wake_step_id, wake_scope, wake_signal_id, wait_count, signalled)
values (%(id)s, 'shop.order', '1.0', 'digest', %(state)s, 1, 2, %(next_event)s, %(next_delivery)s, '{{"id":  7}}',
    %(output)s, now(), now(), %(wake_at)s, %(wake_step)s, %(wake_scope)s, %(signal)s, %(waits)s, %(signalled)s)
"""
STEP = """
insert into {s}.flow_step (instance_id, scope, step_id, attempt, sequence, name, capability_id, outcome, request,
    result, nondeterministic, committed_at)
values (%s, '', 0, 1, 1, 'charge', 'charge', 'Success', '{{"n": 1}}', '{{"ok":  true}}', '{{"seed": 0}}', now())
"""


@pytest.fixture
async def connection(postgres_dsn: str) -> AsyncIterator[AsyncConnection[Any]]:
    async with await AsyncConnection.connect(postgres_dsn, autocommit=True) as opened:
        yield opened


async def migrate_to(
    version: int, connection: AsyncConnection[Any], schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migrations()
    with monkeypatch.context() as earlier:
        earlier.setattr("flowx_runtime.journal.postgres.migrating.migrations", lambda: known[:version])
        await migrate(connection, schema)


class OldDatabase:
    """Rows as an earlier host left them, written by plain SQL."""

    def __init__(self, connection: AsyncConnection[Any], schema: str) -> None:
        self._connection = connection
        self._schema = schema

    async def has(self, state: str, **columns: Any) -> UUID:
        given: dict[str, Any] = {
            "id": uuid4(),
            "state": state,
            "next_event": 1,
            "next_delivery": 1,
            "output": None,
            "wake_at": None,
            "wake_step": None,
            "wake_scope": None,
            "signal": None,
            "waits": 0,
            "signalled": False,
        }
        if state == "Suspended":
            given |= {"wake_at": DUE, "wake_step": 1, "wake_scope": "", "signal": "paid", "waits": 1}
        given |= columns
        await self.writes(INSTANCE, given)
        await self.writes(STEP, [given["id"]])
        return given["id"]  # type: ignore[no-any-return]

    async def writes(self, statement: str, parameters: Any) -> None:
        await self._connection.execute(statement.format(s=self._schema).encode(), parameters)


@pytest.mark.parametrize("version", range(1, LATEST))
async def test_work_in_a_database_of_an_earlier_version_goes_on(
    postgres_dsn: str, connection: AsyncConnection[Any], schema: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate_to(version, connection, schema, monkeypatch)
    old = OldDatabase(connection, schema)
    waiting = await old.has("Suspended")
    on_two = await old.has("Suspended", waits=2)
    for step, signal in ((1, "paid"), (2, "other")):
        await old.writes("insert into {s}.flow_wait values (%s, '', %s, %s, %s)", [on_two, step, DUE, signal])
    signalled = await old.has("Suspended", wake_at=FAR, signalled=True, next_delivery=2)
    await old.writes(
        "insert into {s}.flow_inbox values (%s, 'd-1', 'paid', '{{\"amount\":  1}}', 1, now())", [signalled]
    )
    running = await old.has("Running", next_event=2)
    await old.writes("insert into {s}.flow_lease values (%s, 'gone', 1, now() - interval '1 minute')", [running])
    staged = uuid4()
    await old.writes(
        "insert into {s}.outbox_event (instance_id, event_id, event_sequence, type, version, partition_key, payload,"
        " staged_at) values (%s, %s, 1, 'order.paid', '1.0.0', 'key', '{{\"total\":  3}}', now())",
        [running, staged],
    )
    ended = await old.has("Completed", output="8")

    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    before = await history(journal, running)
    assert (before.instance.input, before.rows[0].result) == ('{"id":  7}', '{"ok":  true}')
    assert (before.rows[0].captured.random_seed, before.instance.cancel_reason) == (0, None)
    assert (await history(journal, ended)).instance.output == "8"

    due = await journal.claim_due(now=DUE, owner="b", ttl=LONG, limit=10)
    assert {each.lease.instance_id for each in due} == {waiting, on_two, signalled}
    assert {len(each.history.instance.waits) for each in due} == {1, 2}
    for each in due:
        taken = tuple(kept.delivery_id for kept in each.history.inbox)
        assert taken == (("d-1",) if each.lease.instance_id == signalled else ())
        end = Commit(each.lease.instance_id, 2, rows=(row(1),), taken_deliveries=taken, state=State.COMPLETED)
        assert (await done(journal, end)).last_sequence == 2

    assert await abandoned(journal) == [running]
    assert [kept.event_id for kept in await journal.events(running)] == [staged]
    await done(journal, Commit(running, 2, rows=(row(1),), state=State.COMPLETED))
    assert await journal.deliver(running, delivery()) == Refused(Refusal.INSTANCE_TERMINAL)
    pruned = await journal.prune(older_than=FAR)
    assert (pruned.instances, pruned.steps) == (4, 7)
    assert await journal.read(running) is not None, "its event is not published"
    await journal.close()


@pytest.mark.parametrize("version", [3, LATEST - 1])
async def test_a_migration_that_is_killed_leaves_the_version_it_found(
    postgres_dsn: str, connection: AsyncConnection[Any], schema: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate_to(version, connection, schema, monkeypatch)
    instance_id = await OldDatabase(connection, schema).has("Suspended")
    async with connection.transaction():
        # It can read what version there is, and waits when it has done the next step and would say so.
        await connection.execute(f"lock table {schema}.schema_migration in share mode".encode())
        migrating = asyncio.create_task(PostgresJournal.open(postgres_dsn, schema=schema))
        killed = 0
        while not killed:
            assert not migrating.done()
            await connection.execute("select pg_stat_clear_snapshot()")
            cursor = await connection.execute(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity"
                " where application_name = 'flowx' and %s = any (pg_blocking_pids(pid))",
                [connection.info.backend_pid],
            )
            (killed,) = await cursor.fetchone() or (0,)
        with pytest.raises(JournalUnavailable):
            await migrating
    cursor = await connection.execute(f"select max(version) from {schema}.schema_migration".encode())
    assert await cursor.fetchone() == (version,)
    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    await claimed(journal, instance_id)
    await journal.close()


async def test_hosts_that_open_an_old_database_at_the_same_time_all_work(
    postgres_dsn: str, connection: AsyncConnection[Any], schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate_to(1, connection, schema, monkeypatch)
    journals = await asyncio.gather(*(PostgresJournal.open(postgres_dsn, schema=schema) for _ in range(4)))
    for journal in journals:
        await started(journal)
        await journal.close()
    cursor = await connection.execute(f"select version from {schema}.schema_migration order by 1".encode())
    assert await cursor.fetchall() == [(version,) for version in range(1, LATEST + 1)]


async def test_a_host_of_the_previous_version_goes_on_while_the_next_one_migrates(
    postgres_dsn: str, connection: AsyncConnection[Any], schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate_to(LATEST - 1, connection, schema, monkeypatch)
    known = migrations()
    with monkeypatch.context() as earlier:
        earlier.setattr("flowx_runtime.journal.postgres.migrating.migrations", lambda: known[:-1])
        previous = await PostgresJournal.open(postgres_dsn, schema=schema)
    instance_id = await started(previous)
    await done(previous, Commit(instance_id, 1, rows=(row(),)))
    following = await PostgresJournal.open(postgres_dsn, schema=schema)
    await done(previous, Commit(instance_id, 1, rows=(row(1),)))
    other = await started(previous)
    await asyncio.gather(
        done(previous, Commit(instance_id, 1, state=State.COMPLETED, output="1", release_lease=True)),
        done(following, Commit(other, 1, rows=(row(),))),
    )
    assert len((await history(following, instance_id)).rows) == 2
    for journal in (previous, following):
        await journal.close()


async def test_a_user_without_the_right_to_make_a_schema_is_told_so(
    postgres_dsn: str, connection: AsyncConnection[Any], schema: str
) -> None:
    user = f"user_{uuid4().hex[:8]}"
    await connection.execute(f"create role {user} login".encode())
    try:
        dsn = psycopg.conninfo.make_conninfo(postgres_dsn, user=user)
        with pytest.raises(Exception, match=r"permission denied for database \w+\): grant it") as refused:
            await PostgresJournal.open(dsn, schema=schema, patience=timedelta(seconds=1))
        assert "\n" not in str(refused.value)
    finally:
        await connection.execute(f"drop role {user}".encode())


async def test_a_host_of_a_version_without_pauses_is_told_that_what_is_paused_is_held(
    postgres_dsn: str, connection: AsyncConnection[Any], schema: str
) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    instance_id = await started(journal)
    await journal.pause("shop.order")
    cursor = await connection.execute(
        f"select refusal from {schema}.claim(%s, 'a', '1 minute')".encode(), [instance_id]
    )
    assert await cursor.fetchall() == [("lease.held",)]
    await journal.close()
