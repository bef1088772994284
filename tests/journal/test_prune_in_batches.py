"""Pruning a database: batch by batch, beside hosts that go on, with nothing left behind."""

from __future__ import annotations

import asyncio

from journal_scene import LONG, done, ended, event, parked, row, started

from flowx_runtime.journal.postgres.journal import PostgresJournal
from flowx_runtime.journal.records import Commit, Pruned, State


async def test_each_batch_is_a_transaction_and_locked_rows_are_left_for_later(postgres_dsn, schema) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    for _ in range(7):
        await ended(journal)
    held = await ended(journal)
    later = await journal.now() + LONG
    async with journal.transaction() as other:
        await other.connection.execute(
            f'select from "{schema}".flow_instance where instance_id = %s for update'.encode(), [held]
        )
        assert await journal.prune(older_than=later, batch=3) == Pruned(instances=7)
    assert await journal.prune(older_than=later, batch=3) == Pruned(instances=1)
    await journal.close()


async def test_nothing_of_a_removed_instance_stays_in_any_table(postgres_dsn, schema) -> None:
    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    instance_id = await started(journal)
    staged = event()
    await done(journal, Commit(instance_id, 1, rows=(row(),), events=(staged,), state=State.COMPLETED))
    await journal.mark_published(instance_id, [staged.event_id])
    await journal.prune(older_than=await journal.now() + LONG)
    async with journal.transaction() as looking:
        for table in ("flow_instance", "flow_step", "flow_lease", "flow_wait", "flow_inbox", "outbox_event"):
            cursor = await looking.connection.execute(f'select count(*) from "{schema}".{table}'.encode())
            assert await cursor.fetchone() == (0,), table
    await journal.close()


async def test_two_that_prune_at_the_same_time_share_the_work(postgres_dsn, schema) -> None:
    journals = [await PostgresJournal.open(postgres_dsn, schema=schema) for _ in range(2)]
    open_one = await parked(journals[0])
    for _ in range(40):
        await ended(journals[0])
    later = await journals[0].now() + LONG
    pruned = await asyncio.gather(*(journal.prune(older_than=later, batch=5) for journal in journals))
    rest = await journals[0].prune(older_than=later)
    assert sum(each.instances for each in (*pruned, rest)) == 40
    assert await journals[0].read(open_one) is not None
    for journal in journals:
        await journal.close()
