"""Connections: cases users of other engines reported, by their number."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from flowx_runtime import FlowHost, PostgresJournal, StepContext
from flowx_runtime.plan import AwaitSignal, Delay
from tests.acceptance.conftest import Database
from tests.acceptance.small_flows import APPROVED, DAY, ORDER, Approved, Note, World, plan, step, until

SHORT = timedelta(seconds=0.02)
BUSY = plan(step(0, "reserve"), Delay(1, "rest", SHORT), AwaitSignal(2, "approved", APPROVED, DAY), step(3, "ship"))


async def _in_a_transaction(request: Any, ctx: StepContext) -> Note:
    async with ctx.transaction() as connection:
        await connection.execute("select pg_sleep(0.002)")
    return Note(text="done")


@pytest.fixture
def database(postgres_dsn: str) -> Iterator[Database]:
    """One of its own, by whose name its connections are counted."""
    name = f"p37_{uuid4().hex}"
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield Database(make_conninfo(postgres_dsn, dbname=name), "flowx")
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.mark.parametrize("pool_size", [4, 7])
async def test_p37_a_node_under_load_holds_the_connections_that_are_documented(
    database: Database, pool_size: int
) -> None:
    documented = pool_size // 2 * 2 + 4
    world = World(answers={"reserve": _in_a_transaction, "ship": _in_a_transaction})
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, _connections(database))
            await asyncio.sleep(0.005)

    async def order(host: FlowHost) -> None:
        instance = (await host.run("order.place", ORDER)).instance_id
        await host.signal(instance, Approved(by="ada"))

    async def is_full() -> bool:
        await asyncio.gather(*(order(host) for _ in range(40)))
        return _connections(database) == documented

    async def is_empty() -> bool:  # a connection that is closed goes a little later
        return _connections(database) == 0

    async def all_ended() -> bool:
        return database.rows("select count(*) from flow_instance where state <> 'Completed'") == [(0,)]

    journal = await PostgresJournal.open(database.dsn, pool_size=pool_size)
    substitutes = world.substitutes(BUSY)
    async with FlowHost([BUSY], journal=journal, substitutes=substitutes, sweep_interval=SHORT) as host:
        watching = asyncio.create_task(watch())
        await until(is_full, within=60)
        await until(all_ended, within=60)
        watching.cancel()
    assert most == documented, "never one more"
    await until(is_empty)


def _connections(database: Database) -> int:
    """Of hosts, not of this test."""
    ((count,),) = database.rows(
        "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'flowx'"
    )
    return int(count)
