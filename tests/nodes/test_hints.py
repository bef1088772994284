"""What one node does another hears of at once: the sweeps of these nodes come once a day."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import psycopg
import pytest

from flowx_runtime.host.errors import HostClosed
from flowx_runtime.journal.records import Filter, State
from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.outbox.settings import Publishing
from tests.nodes.scene import DAY, PARENT, WAITING, Approved, Database, Order, approval, node

ORDER = Order(name="o")


async def ready(database: Database, nodes: int = 1) -> None:
    """Nodes that are present hear what is said from then on."""
    await database.are_present(nodes)


async def test_p23_a_signal_delivered_where_the_flow_is_unknown_is_met_by_a_node_that_knows_it(
    database: Database,
) -> None:
    async with (
        await node(database.dsn, database.schema) as worker,
        await node(database.dsn, database.schema, plans=(), sweep_interval=None) as sender,
    ):
        await ready(database)
        waiting = await worker.run("work.waiting", ORDER)
        await sender.signal(waiting.instance_id, Approved(by="ada"))
        await database.has(waiting.instance_id, State.COMPLETED)
    assert database.effects(waiting.instance_id) == ["first", "last"]


async def test_what_a_client_without_sweeps_parked_is_woken_when_it_is_due(database: Database) -> None:
    async with (
        await node(database.dsn, database.schema),
        await node(database.dsn, database.schema, sweep_interval=None) as client,
    ):
        await ready(database)
        parked = await client.run("work.resting", ORDER)
        await database.has(parked.instance_id, State.COMPLETED)


async def test_the_end_of_a_child_wakes_its_parent_on_a_node_that_knows_it(database: Database) -> None:
    async with (
        await node(database.dsn, database.schema, plans=(WAITING, PARENT)) as knows_both,
        await node(database.dsn, database.schema, plans=(WAITING,), sweep_interval=None) as knows_the_child,
    ):
        await ready(database)
        parent = await knows_both.run("work.parent", ORDER)
        (child,) = await knows_both._any_journal().find(Filter(flow_id="work.waiting"))
        await knows_the_child.signal(child.instance_id, Approved(by="ada"))
        await database.has(parent.instance_id, State.COMPLETED)
    assert database.effects(parent.instance_id) == ["last"]


async def test_a_cancel_where_the_flow_is_unknown_is_met_by_a_node_that_knows_it(database: Database) -> None:
    async with (
        await node(database.dsn, database.schema) as worker,
        await node(database.dsn, database.schema, plans=(), sweep_interval=None) as client,
    ):
        await ready(database)
        waiting = await worker.run("work.waiting", ORDER)
        await client.cancel(waiting.instance_id, "not wanted")
        await database.has(waiting.instance_id, State.CANCELLED)


async def test_events_of_a_node_that_publishes_none_leave_at_once(database: Database) -> None:
    published = asyncio.Event()

    class Publisher:
        async def publish(self, _: Envelope) -> None:
            published.set()

    seldom = Publishing(interval=DAY)
    async with (
        await node(database.dsn, database.schema, publisher=Publisher(), publishing=seldom),
        await node(database.dsn, database.schema, sweep_interval=None) as client,
    ):
        await ready(database)
        await client.run("work.telling", ORDER)
        async with asyncio.timeout(30):
            await published.wait()


async def test_many_signals_at_once_are_told_in_few_statements(database: Database) -> None:
    """A NOTIFY takes a lock of the whole server at its commit. No commit of a step has one, and hints gather."""
    told: list[object] = []
    async with await node(database.dsn, database.schema, plans=(), sweep_interval=None) as sender:
        presence = sender._peers._presence
        assert presence is not None
        tell = presence.tell

        async def count(hint: object) -> None:
            told.append(hint)
            await tell(hint)  # type: ignore[arg-type]

        presence.tell = count  # type: ignore[method-assign,assignment]
        for _ in range(100):
            sender._peers.have_them_look()
            sender._peers.have_them_expect(datetime.now(UTC))
        await asyncio.sleep(0)
        for _ in range(100):
            sender._peers.have_them_look()
    assert len(told) == 2


async def test_p27_a_node_whose_connection_was_cut_listens_again_and_looks_at_what_it_missed(
    database: Database,
) -> None:
    async with (
        await node(database.dsn, database.schema) as worker,
        await node(database.dsn, database.schema, plans=(), sweep_interval=None) as sender,
    ):
        await ready(database)
        one, other = [await worker.run("work.waiting", ORDER) for _ in range(2)]
        await sender._any_journal().deliver(one.instance_id, approval())  # nobody is told
        database.rows("select pg_terminate_backend(backend_pid) from flow_node")
        await database.has(one.instance_id, State.COMPLETED)
        await sender.signal(other.instance_id, Approved(by="ada"))
        await database.has(other.instance_id, State.COMPLETED)


async def test_p37_words_of_others_on_the_channel_do_no_harm(database: Database) -> None:
    async with await node(database.dsn, database.schema) as worker:
        await ready(database)
        assert worker._peers._presence is not None
        channel = worker._peers._presence._channel  # type: ignore[attr-defined]
        for word in (
            "",
            "{",
            "[]",
            '{"by": 1}',
            '{"by": "x", "wakes": ["a"]}',
            '{"by":"x","wakes":[1e99]}',
            "x" * 7000,
        ):
            database.rows("select pg_notify(%s, %s)", channel, word)
        waiting = await worker.run("work.waiting", ORDER)
        await worker._any_journal().deliver(waiting.instance_id, approval())
        database.rows("select pg_notify(%s, '')", channel)  # it still listens
        await database.has(waiting.instance_id, State.COMPLETED)


async def test_what_a_slow_transaction_parked_late_is_woken_by_the_next_sweep(database: Database) -> None:
    """The instant at which it was due has passed a sweep by then: no sweep remembers how far it has looked."""
    async with (
        await node(database.dsn, database.schema, sweep_interval=None) as worker,
        await node(database.dsn, database.schema, plans=(), sweep_interval=None) as sender,
    ):
        waiting = await worker.run("work.waiting", ORDER)
        parked = await worker.run("work.waiting", ORDER)
        with psycopg.connect(database.dsn, options=f"-c search_path={database.schema}") as slow:
            slow.execute(
                "update flow_instance set wake_at = now() - interval '1 minute', wake_signal_id = null"
                " where instance_id = %s",
                [waiting.instance_id],
            )
            assert await worker.sweep_once() == 0
            await sender._any_journal().deliver(parked.instance_id, approval())
            assert await worker.sweep_once() == 1  # others do not wait for it
            slow.commit()
        assert await worker.sweep_once() == 1
    assert database.state(waiting.instance_id) == "Failed"  # in time it had not come


async def test_a_node_that_has_left_takes_nothing_more(database: Database) -> None:
    host = await node(database.dsn, database.schema)
    async with host:
        await ready(database)
    with pytest.raises(HostClosed):
        await host.run("work.waiting", ORDER)
    assert database.rows("select count(*) from flow_node") == [(0,)]
