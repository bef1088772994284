"""A node that is told to stop: takes nothing, lets what is under way park or end, and gives the rest to its peers."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from flowx_runtime import FlowHost
from flowx_runtime.journal.postgres.presence import Watching
from flowx_runtime.journal.records import State
from tests.nodes.scene import PATIENCE, Approved, Database, Order, approval, node

ORDER = Order(name="o")
AT_ONCE = timedelta(0)


@pytest.fixture
def hangs(monkeypatch: pytest.MonkeyPatch):
    """Lets steps hang until it is called."""
    monkeypatch.setenv("HANGS", "yes")
    return lambda: monkeypatch.delenv("HANGS")


async def under_way(database: Database, host: FlowHost) -> tuple[UUID, asyncio.Task[object]]:
    instance_id = uuid4()
    run = asyncio.create_task(host.run("work.hanging", ORDER, instance_id=instance_id))
    await database.comes(lambda: database.effects(instance_id) == ["first", "hang"])
    return instance_id, run


async def test_p56_what_is_under_way_ends_within_the_drain_time_and_repeats_nothing(database: Database, hangs) -> None:
    async with await node(database.dsn, database.schema) as leaving, await node(database.dsn, database.schema):
        await database.are_present(2)
        instance_id, run = await under_way(database, leaving)
        closing = asyncio.create_task(leaving.close())
        await database.comes(leaving._stopping.is_set)
        assert database.rows("select count(*) from flow_node") == [(2,)]  # there until it has come to rest
        hangs()
        await asyncio.gather(closing, run)
    assert database.effects(instance_id) == ["first", "hang", "last"]
    assert database.rows("select fence from flow_instance") == [(1,)]


async def test_what_has_not_ended_by_then_a_peer_goes_on_with_at_once(database: Database, hangs) -> None:
    """No sweep, no death and no expiry has a part in it: the leases are given back, and the peers are told."""
    leaving = await node(database.dsn, database.schema, drain=AT_ONCE, lease_ttl=timedelta(hours=1))
    async with leaving, await node(database.dsn, database.schema):
        await database.are_present(2)
        instance_id, run = await under_way(database, leaving)
        await leaving.close()
        await database.comes(lambda: database.effects(instance_id) == ["first", "hang", "hang"])
        hangs()
        await database.has(instance_id, State.COMPLETED)
        await asyncio.wait([run], timeout=PATIENCE)
    assert database.effects(instance_id) == ["first", "hang", "hang", "last"]


async def test_a_draining_node_never_takes_back_what_a_peer_has_recovered(database: Database, hangs) -> None:
    """dbos-inc/dbos-transact-py#804: in a rolling restart the old worker recovers it once more, and exits."""
    sweeps = {"sweep_interval": timedelta(seconds=0.02), "lease_ttl": timedelta(seconds=0.3)}
    async with await node(database.dsn, database.schema, **sweeps) as leaving:
        instance_id, run = await under_way(database, leaving)
        async with await node(database.dsn, database.schema, sweep_interval=None) as new:
            closing = asyncio.create_task(leaving.close())
            await database.comes(leaving._stopping.is_set)
            # Its lease runs out while it drains, and the new one takes it over, goes back and is abandoned in turn.
            database.rows("update flow_lease set expires_at = now()")
            claim = await new._any_journal().claim(instance_id, owner=new._owner, ttl=timedelta(seconds=0.1))
            await asyncio.sleep(0.5)  # the new one's lease has run out as well: anybody may take it up now
            assert database.rows("select owner from flow_lease") == [(new._owner,)]
            hangs()
            await asyncio.gather(closing, run, return_exceptions=True)
            assert database.rows("select owner, fencing_token from flow_lease") == [
                (new._owner, claim.lease.fencing_token)
            ]
            await new.sweep_once()
    assert database.state(instance_id) == "Completed"
    assert database.effects(instance_id) == ["first", "hang", "hang", "last"]


async def test_a_claim_that_is_answered_after_the_signal_to_stop_is_given_back(database: Database) -> None:
    async with (
        await node(database.dsn, database.schema, sweep_interval=timedelta(seconds=0.02)) as leaving,
        await node(database.dsn, database.schema, plans=(), sweep_interval=None) as sender,
    ):
        waiting = await leaving.run("work.waiting", ORDER)
        journal = leaving._any_journal()
        claim_due = journal.claim_due

        async def slowly(**asked):
            claimed = await claim_due(**asked)
            if claimed:
                leaving._stopping.set()
            return claimed

        journal.claim_due = slowly  # type: ignore[method-assign]
        await sender._any_journal().deliver(waiting.instance_id, approval())
        await database.comes(leaving._stopping.is_set)
        await leaving.close()
    assert database.rows("select state, fence from flow_instance") == [("Suspended", 2)]
    assert database.rows("select count(*) from flow_lease") == [(0,)]
    async with await node(database.dsn, database.schema):
        await database.has(waiting.instance_id, State.COMPLETED)


async def test_a_parent_is_left_to_peers_by_a_node_that_leaves(database: Database) -> None:
    async with await node(database.dsn, database.schema, sweep_interval=None) as leaving:
        parent = await leaving.run("work.parent", ORDER)
        ((child,),) = database.rows("select instance_id from flow_instance where flow_id = 'work.waiting'")
        async with await node(database.dsn, database.schema):
            await database.are_present(1)
            goes_on = leaving._engine.proceed

            async def and_is_told_to_stop(*given, **named):
                leaving._stopping.set()
                return await goes_on(*given, **named)

            leaving._engine.proceed = and_is_told_to_stop  # type: ignore[method-assign]
            await leaving.signal(child, Approved(by="ada"))
            await database.has(parent.instance_id, State.COMPLETED)
    assert database.effects(child) == ["first", "last"]


async def test_a_node_that_left_is_gone_though_it_was_just_looking_around(database: Database) -> None:
    for _ in range(20):
        async with await node(database.dsn, database.schema, watching=Watching(interval=timedelta(microseconds=1))):
            await database.are_present(1)
        assert database.rows("select count(*) from flow_node") == [(0,)]


async def test_of_two_nodes_of_one_name_the_one_that_leaves_gives_back_its_own_leases_only(
    database: Database, hangs
) -> None:
    """dbos-inc/dbos-transact-py#804: in a rolling restart the old one and the new one are called the same."""
    async with (
        await node(database.dsn, database.schema, owner="worker-1", drain=AT_ONCE) as old,
        await node(database.dsn, database.schema, owner="worker-1") as new,
    ):
        await database.are_present(2)
        instance_id, run = await under_way(database, new)
        await old.close()
        await database.are_present(1)
        assert database.rows("select expires_at > now() from flow_lease") == [(True,)]
        hangs()
        await run
    assert database.effects(instance_id) == ["first", "hang", "last"]


@pytest.mark.slow  # a step that is busy for longer than its lease lasts
@pytest.mark.parametrize("role", ["leaving", "a client without sweeps"])
async def test_a_step_that_outlasts_its_lease_keeps_it_on_a_node_that(database: Database, hangs, role: str) -> None:
    """What drains, or only starts flows, works on its instances like any other node."""
    settings = {"lease_ttl": timedelta(seconds=0.9)} | ({"sweep_interval": None} if role != "leaving" else {})
    async with (
        await node(database.dsn, database.schema, **settings) as busy,
        await node(database.dsn, database.schema, sweep_interval=timedelta(seconds=0.05)),
    ):
        instance_id, run = await under_way(database, busy)
        closing = asyncio.create_task(busy.close()) if role == "leaving" else None
        await asyncio.sleep(2)  # two leases
        assert not run.done()
        hangs()
        await run
        if closing is not None:
            await closing
    assert database.effects(instance_id) == ["first", "hang", "last"]
    assert database.rows("select fence from flow_instance") == [(1,)]
