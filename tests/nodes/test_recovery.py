"""Faults that users of other engines reported of recovery: each instance is looked at again until it has ended."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from flowx_runtime.journal.records import NewInstance
from tests.journal.wire import Cut, Wire
from tests.nodes.scene import Database, journal_on, node

OFTEN = timedelta(seconds=0.05)
SHORT = timedelta(seconds=0.5)
COUNT = 20


async def abandon(database: Database, count: int) -> list[UUID]:
    """Instances that were started by a node that did nothing more."""
    journal = await journal_on(database.dsn, database.schema)
    ids = [uuid4() for _ in range(count)]
    for instance_id in ids:
        new = NewInstance(instance_id, "work.telling", "1.0.0", "nodes", '{"name": "o"}')
        await journal.start(new, owner="gone", ttl=timedelta(0))
    await journal.close()
    return ids


def ended(database: Database) -> bool:
    return bool(database.rows("select count(*) from flow_instance where state <> 'Completed'") == [(0,)])


@pytest.mark.parametrize("cut", ["on the way there", "on the way back"])
async def test_what_was_in_a_recovery_pass_when_the_server_went_away_is_looked_at_again(
    database: Database, tmp_path: Path, cut: Cut
) -> None:
    """dbos-inc/dbos-transact-py#716, p15: the error was swallowed, and 250 runs stayed pending for ever."""
    ids = await abandon(database, COUNT)
    async with Wire(database.dsn, tmp_path) as wire:
        settings = {"sweep_interval": None, "lease_ttl": SHORT, "direct": database.dsn}
        host = await node(wire.dsn, database.schema, **settings)
        wire.cut(cut, after=1)  # the pass asks for what is due, then for what was abandoned
        host._interval = host._sweeps._interval = OFTEN
        async with host:
            await database.comes(lambda: wire.was_cut)
            wire.go_down()
            await asyncio.sleep(0.1)
            wire.come_up()
            await database.comes(lambda: ended(database))
    assert all(set(database.effects(instance_id)) == {"first"} for instance_id in ids)


async def test_two_passes_share_what_was_abandoned(database: Database) -> None:
    ids = await abandon(database, COUNT)
    settings = {"sweep_interval": None, "concurrency": 2}
    async with (
        await node(database.dsn, database.schema, **settings) as one,
        await node(database.dsn, database.schema, **settings) as other,
    ):
        counts = await asyncio.gather(one.sweep_once(), other.sweep_once(), one.sweep_once(), other.sweep_once())
    assert sum(counts) == COUNT
    assert [database.effects(instance_id) for instance_id in ids] == [["first"]] * COUNT


async def test_a_pass_does_nothing_with_a_list_that_another_has_dealt_with(database: Database) -> None:
    """dbos-inc/dbos-transact-py#742, p16: a second pass ran what the first had recovered, without owning it."""
    ids = await abandon(database, COUNT)
    async with (
        await node(database.dsn, database.schema, sweep_interval=None, lease_ttl=timedelta(seconds=1)) as slow,
        await node(database.dsn, database.schema, sweep_interval=None) as quick,
    ):
        journal = slow._any_journal()
        claim_abandoned = journal.claim_abandoned

        async def answered_late(**asked):
            began = time.monotonic()
            claimed = await claim_abandoned(**asked)
            while claimed and not ended(database):
                await asyncio.sleep(0.1)
                await quick.sweep_once()
            assert not claimed or time.monotonic() - began > 1  # its leases have run out, so the other could have them
            return claimed

        journal.claim_abandoned = answered_late  # type: ignore[method-assign]
        await slow.sweep_once()
    assert [database.effects(instance_id) for instance_id in ids] == [["first"]] * COUNT
    assert database.rows("select distinct fence from flow_instance") == [(3,)]
