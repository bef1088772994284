"""A node dies, is frozen or is cut off: its peers go on, and it undoes nothing when it is back."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from flowx_runtime.journal.postgres.embedded import EmbeddedServer
from flowx_runtime.journal.postgres.presence import Watching
from flowx_runtime.journal.records import State
from tests.journal.wire import Wire
from tests.nodes.scene import Database, Order, Process, journal_on, node
from tests.servers import kept_server

LONG = 3600.0
OFTEN = timedelta(seconds=0.1)


@pytest.mark.slow  # starts a process
async def test_a_killed_node_is_taken_over_long_before_its_leases_run_out(database: Database) -> None:
    dying = await Process.start(database.dsn, database.schema, lease_ttl=LONG)
    async with await node(database.dsn, database.schema):
        running = await dying.run("work.hanging")
        await database.comes(lambda: database.effects(running) == ["first", "hang"])
        await database.are_present(2)
        await dying.end()
        await database.has(running, State.COMPLETED)
    assert database.effects(running) == ["first", "hang", "hang", "last"]
    assert database.rows("select count(*) from flow_node") == [(0,)]


@pytest.mark.slow  # waits for leases to run out
async def test_a_frozen_node_is_fenced_out_and_undoes_nothing(database: Database) -> None:
    frozen = await Process.start(database.dsn, database.schema, lease_ttl=3.0)
    async with await node(database.dsn, database.schema, sweep_interval=OFTEN):
        running = await frozen.run("work.hanging")
        await database.comes(lambda: database.effects(running) == ["first", "hang"])
        frozen.send(signal.SIGSTOP)  # its connections stay open, and its lock held: only the clock tells
        await database.has(running, State.COMPLETED)
        frozen.send(signal.SIGCONT)
        other = await frozen.run("work.resting")  # it is alive, and takes new work
        await database.has(other, State.COMPLETED)
        assert database.rows("select count(*) from flow_node") == [(2,)]
    await frozen.end()
    assert database.effects(running) == ["first", "hang", "hang", "last"]


@pytest.mark.slow  # waits for leases to run out
async def test_a_node_cut_off_for_longer_than_its_leases_last_is_fenced_out(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANGS", "yes")
    short = timedelta(seconds=2)
    async with (
        Wire(database.dsn, tmp_path) as wire,
        await node(wire.dsn, database.schema, lease_ttl=short, direct=database.dsn) as cut_off,
    ):
        hanging = uuid4()
        run = asyncio.create_task(cut_off.run("work.hanging", Order(name="o"), instance_id=hanging))
        await database.comes(lambda: database.effects(hanging) == ["first", "hang"])
        wire.go_down()
        async with await node(database.dsn, database.schema, sweep_interval=OFTEN):
            await database.comes(lambda: database.effects(hanging) == ["first", "hang", "hang"])
            wire.come_up()
            monkeypatch.delenv("HANGS")  # both go on: the one that was cut off first finds that it is not its own
            await database.has(hanging, State.COMPLETED)
            await run
    assert database.effects(hanging) == ["first", "hang", "hang", "last"]
    assert database.rows("select fence from flow_instance") == [(2,)]


async def test_a_node_that_lost_its_connection_and_comes_back_keeps_its_instances(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANGS", "yes")
    slow_to_judge = Watching(interval=OFTEN, grace=timedelta(seconds=5))
    async with (
        await node(database.dsn, database.schema) as one,
        await node(database.dsn, database.schema, watching=slow_to_judge),
    ):
        await database.are_present(2)
        hanging = uuid4()
        run = asyncio.create_task(one.run("work.hanging", Order(name="o"), instance_id=hanging))
        await database.comes(lambda: database.effects(hanging) == ["first", "hang"])
        ours = "owner = (select owner from flow_lease)"
        ((before,),) = database.rows(f"select joined_at from flow_node where {ours}")
        database.rows(f"select pg_terminate_backend(backend_pid) from flow_node where {ours}")
        back = f"select count(*) from flow_node where missed_at is null and joined_at > %s and {ours}"
        await database.comes(lambda: database.rows(back, before) == [(1,)])
        monkeypatch.delenv("HANGS")
        await run
    assert database.effects(hanging) == ["first", "hang", "last"]
    assert database.rows("select fence from flow_instance") == [(1,)]


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    with kept_server() as running:
        yield running


@pytest.mark.slow  # a server of its own that is restarted
async def test_a_restart_of_the_server_is_nobodys_death(server: EmbeddedServer) -> None:
    """Every lock is gone with it. The first node that is back must not take the others for dead."""
    journal = await journal_on(server.dsn, "flowx")
    gone = journal.presence("gone", lambda _: None)
    keeping = asyncio.create_task(gone.keep())
    database = Database(server.dsn, "flowx")
    await database.are_present(1)
    keeping.cancel()
    await journal.close()
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)
    with psycopg.connect(server.dsn, autocommit=True, options="-c search_path=flowx") as peer:

        def looks_around(ttl: str) -> tuple[int, bool]:
            query = "select freed, is_missing from look_around('peer', 1, interval '0', %s::interval)"
            (answer,) = peer.execute(query, [ttl]).fetchall()
            return answer

        peer.execute("select join_node('peer', 1)")
        assert looks_around("1 minute") == (0, True)
        assert looks_around("1 minute") == (0, False)
        assert database.rows("select count(*) from flow_node") == [(2,)]
        looks_around("0")  # it has not come back for as long as a lease lasts
        assert database.rows("select owner from flow_node") == [("peer",)]


@pytest.mark.slow  # starts a process
async def test_a_node_that_starts_after_the_only_one_died_goes_on_with_what_it_left(database: Database) -> None:
    """With nobody left to see it die, and looks that are a day apart."""
    dying = await Process.start(database.dsn, database.schema, lease_ttl=LONG)
    running = await dying.run("work.hanging")
    await database.comes(lambda: database.effects(running) == ["first", "hang"])
    await dying.end()
    async with await node(database.dsn, database.schema, watching=Watching(interval=timedelta(days=1))):
        await database.has(running, State.COMPLETED)
