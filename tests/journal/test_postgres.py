"""What only a database can do: migrate, be away, and commit a step's own work with its row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from journal_scene import LONG, OVER, claimed, done, due, event, history, new, parked, row, started
from psycopg import AsyncConnection, sql
from psycopg.conninfo import make_conninfo

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.postgres.connecting import DatabaseUnfit
from flowx_runtime.journal.postgres.embedded import EmbeddedServer
from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.journal.postgres.migrating import SchemaNewer, SchemaOlder, migrate, migrations
from flowx_runtime.journal.records import Commit, Committed, Refusal, Refused, State


@pytest.fixture
async def journal(postgres_dsn: str, schema: str) -> AsyncIterator[PostgresJournal]:
    store = await PostgresJournal.open(postgres_dsn, schema=schema)
    yield store
    await store.close()


@pytest.fixture
async def connection(postgres_dsn: str) -> AsyncIterator[AsyncConnection[Any]]:
    async with await AsyncConnection.connect(postgres_dsn, autocommit=True) as opened:
        yield opened


async def versions(connection: AsyncConnection[Any], schema: str) -> list[int]:
    cursor = await connection.execute(
        sql.SQL("select version from {}.schema_migration order by version").format(sql.Identifier(schema))
    )
    return [version for (version,) in await cursor.fetchall()]


async def test_migrating_twice_applies_each_migration_once(connection, schema) -> None:
    assert await migrate(connection, schema) == migrations()
    assert await migrate(connection, schema) == ()
    assert await versions(connection, schema) == [migration.version for migration in migrations()]


async def test_hosts_that_migrate_at_the_same_time_apply_each_migration_once(postgres_dsn, connection, schema) -> None:
    opened = [await AsyncConnection.connect(postgres_dsn, autocommit=True) for _ in range(4)]
    applied = await asyncio.gather(*(migrate(each, schema) for each in opened))
    for each in opened:
        await each.close()
    assert sorted(len(each) for each in applied) == [0, 0, 0, len(migrations())]
    assert await versions(connection, schema) == [migration.version for migration in migrations()]


@pytest.mark.parametrize("version", range(1, len(migrations())))
async def test_a_schema_of_every_earlier_version_is_brought_up_to_date(
    postgres_dsn, connection, schema, version, monkeypatch
) -> None:
    known = migrations()
    with monkeypatch.context() as earlier:
        earlier.setattr("flowx_runtime.journal.postgres.migrating.migrations", lambda: known[:version])
        await migrate(connection, schema)
    store = await PostgresJournal.open(postgres_dsn, schema=schema)
    await started(store)
    await store.close()


def test_migrations_only_ever_add() -> None:
    for migration in migrations()[2:]:
        statements = migration.text.lower()
        for taking_away in ("drop table", "drop column", "rename", "set not null", "alter column"):
            assert taking_away not in statements, (migration.name, taking_away)


async def test_a_schema_newer_than_the_host_is_refused_in_one_sentence(postgres_dsn, connection, schema) -> None:
    await migrate(connection, schema)
    await connection.execute(
        sql.SQL("insert into {}.schema_migration values (9999, 'later')").format(sql.Identifier(schema))
    )
    for migrating in (True, False):
        with pytest.raises(SchemaNewer, match=r"9999.*install the flowx that migrated it"):
            await PostgresJournal.open(postgres_dsn, schema=schema, migrate=migrating)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_cannot_store_every_text_is_refused(postgres_dsn, connection, encoding) -> None:
    name = f"narrow_{encoding.lower()}_{uuid4().hex}"
    await connection.execute(
        sql.SQL("create database {} encoding {} locale 'C' template template0").format(
            sql.Identifier(name), sql.Literal(encoding)
        )
    )
    try:
        for migrating in (True, False):
            with pytest.raises(DatabaseUnfit, match=f"the encoding {encoding}.*encoding 'UTF8'"):
                await PostgresJournal.open(make_conninfo(postgres_dsn, dbname=name), migrate=migrating)
    finally:
        await connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


async def test_a_schema_older_than_the_host_is_refused_where_migrating_is_off(postgres_dsn, schema) -> None:
    with pytest.raises(SchemaOlder, match="run `flowx db migrate`"):
        await PostgresJournal.open(postgres_dsn, schema=schema, migrate=False)
    await (await PostgresJournal.open(postgres_dsn, schema=schema)).close()
    await (await PostgresJournal.open(postgres_dsn, schema=schema, migrate=False)).close()


async def test_journals_in_two_schemas_do_not_see_each_other(postgres_dsn, journal, schema) -> None:
    other_schema = f'{schema}_"odd" %s name'
    other = await PostgresJournal.open(postgres_dsn, schema=other_schema)
    instance_id = await started(other)
    assert await journal.read(instance_id) is None
    await other.close()
    async with await AsyncConnection.connect(postgres_dsn, autocommit=True) as opened:
        await opened.execute(sql.SQL("drop schema {} cascade").format(sql.Identifier(other_schema)))


async def test_every_key_begins_with_the_instance(journal, connection, schema) -> None:
    cursor = await connection.execute(
        "select c.relname, a.attname from pg_index x join pg_class c on c.oid = x.indrelid"
        " join pg_attribute a on a.attrelid = c.oid and a.attnum = x.indkey[0]"
        " where x.indisprimary and c.relnamespace = %s::regnamespace",
        [schema],
    )
    keys = dict(await cursor.fetchall())
    assert keys.pop("schema_migration") == "version"
    # What belongs to no instance.
    assert keys.pop("flow_schedule") == "flow_id"
    assert keys.pop("flow_node") == "owner"
    assert keys.pop("flow_pause") == "target"
    assert len(keys) >= 7
    assert set(keys.values()) == {"instance_id"}


async def test_what_a_step_changes_on_its_instance_is_in_no_index(journal, connection, schema) -> None:
    # PostgreSQL writes no index where no column of any index, or of a partial index's condition, has changed.
    cursor = await connection.execute(
        "select a.attname from pg_index x join pg_attribute a on a.attrelid = x.indrelid"
        " where x.indrelid = %s::regclass and (a.attnum = any (x.indkey)"
        " or pg_get_expr(x.indpred, x.indrelid) ~ ('\\m' || a.attname || '\\M'))",
        [f"{schema}.flow_instance"],
    )
    assert not {name for (name,) in await cursor.fetchall()} & {"updated_at", "next_sequence", "next_event"}


async def test_a_parked_instance_is_one_row(journal, connection, schema) -> None:
    await parked(journal)
    for table in ("flow_lease", "flow_wait", "flow_step", "flow_inbox", "outbox_event"):
        cursor = await connection.execute(
            sql.SQL("select count(*) from {}.{}").format(sql.Identifier(schema), sql.Identifier(table))
        )
        assert await cursor.fetchone() == (0,), table


async def test_a_step_transaction_commits_the_steps_work_with_its_row(journal, connection, schema) -> None:
    await connection.execute(f"create table {schema}.booking (seat text primary key)")
    instance_id = await started(journal)
    async with journal.transaction() as step:
        await step.connection.execute(f"insert into {schema}.booking values ('12A')")
        answer = await step.commit(Commit(instance_id, 1, rows=(row(),), events=(event(),)))
        assert (await history(journal, instance_id)).rows == ()
    assert answer == Committed(1)
    assert len((await history(journal, instance_id)).rows) == 1
    cursor = await connection.execute(f"select seat from {schema}.booking")
    assert await cursor.fetchall() == [("12A",)]


@pytest.mark.parametrize("ending", ["refused", "no commit", "exception", "exception after commit"])
async def test_a_step_transaction_that_does_not_commit_leaves_nothing(journal, connection, schema, ending) -> None:
    await connection.execute(f"create table {schema}.booking (seat text primary key)")
    instance_id = await started(journal, ttl=OVER)
    token = 1
    if ending == "refused":
        await claimed(journal, instance_id)
    else:
        token = (await claimed(journal, instance_id)).lease.fencing_token
    before = await history(journal, instance_id)
    try:
        async with journal.transaction() as step:
            await step.connection.execute(f"insert into {schema}.booking values ('12A')")
            if ending in ("refused", "exception after commit"):
                answer = await step.commit(Commit(instance_id, token, rows=(row(),)))
                assert ending != "refused" or answer == Refused(Refusal.FENCED_OUT, "the fence is at 2")
            if ending.startswith("exception"):
                raise LookupError
    except LookupError:
        pass
    assert await history(journal, instance_id) == before
    cursor = await connection.execute(f"select seat from {schema}.booking")
    assert await cursor.fetchall() == []


async def test_a_steps_own_database_error_stays_its_own(journal) -> None:
    async def step_that_runs(statement: str) -> None:
        async with journal.transaction() as step:
            await step.connection.execute("set local statement_timeout = 100")
            await step.connection.execute(statement)

    with pytest.raises(psycopg.errors.QueryCanceled):
        await step_that_runs("select pg_sleep(5)")
    with pytest.raises(psycopg.errors.DivisionByZero):
        await step_that_runs("select 1 / 0")
    assert (await journal.now()).utcoffset() is not None


async def test_a_commit_waits_for_the_instances_row_and_then_sees_what_was_written(journal, schema) -> None:
    instance_id = await started(journal)
    async with journal.transaction() as step:
        await step.commit(Commit(instance_id, 1, rows=(row(),)))
        rival = asyncio.create_task(journal.commit(Commit(instance_id, 1, rows=(row(),))))
        while not await waiting_for_a_lock(journal):
            assert not rival.done()
    answer = await rival
    assert isinstance(answer, Refused)
    assert answer.reason is Refusal.DUPLICATE_STEP


async def waiting_for_a_lock(journal: PostgresJournal) -> bool:
    async with journal.transaction() as other:
        cursor = await other.connection.execute(
            "select count(*) > 0 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            " and query like '%flow_step%' and pid <> pg_backend_pid()"
        )
        found = await cursor.fetchone()
    return bool(found and found[0])


async def test_sweeps_do_not_wait_for_an_instance_that_is_being_written(journal) -> None:
    busy, free = await parked(journal), await parked(journal)
    now = (await history(journal, busy)).instance.waits[0].wake_at
    async with journal.transaction() as step:
        await step.commit(Commit(busy, 1, rows=(row(),)))
        assert await due(journal, now) == [free]
    assert await due(journal, now) == [busy]


async def test_a_parking_instance_cannot_be_stored_without_a_wait() -> None:
    with pytest.raises(ValueError, match="at least one wait"):
        Commit(new().instance_id, 1, state=State.SUSPENDED)


async def test_an_unavailable_server_is_a_journal_that_is_unavailable_and_recovers(open_folder: Path) -> None:
    server = EmbeddedServer(open_folder / "data", settings={"fsync": "off"})
    journal = await PostgresJournal.open(server.dsn, pool_size=2, patience=timedelta(seconds=0.3))
    instance_id = await started(journal)
    await done(journal, Commit(instance_id, 1, rows=(row(),)))
    server.stop()
    with pytest.raises(JournalUnavailable, match="cannot be reached"):
        await journal.commit(Commit(instance_id, 1, rows=(row(1),)))
    with pytest.raises(JournalUnavailable):
        async with journal.transaction():
            pass
    with pytest.raises(JournalUnavailable):
        await PostgresJournal.open(server.dsn, patience=timedelta(seconds=0.3))
    with server.start():
        while True:
            try:
                await done(journal, Commit(instance_id, 1, rows=(row(1),)))
                break
            except JournalUnavailable:
                continue
        assert len((await history(journal, instance_id)).rows) == 2
        await journal.close()


async def test_a_closed_journal_is_unavailable(journal) -> None:
    await journal.close()
    with pytest.raises(JournalUnavailable):
        await journal.start(new(), owner="a", ttl=LONG)
