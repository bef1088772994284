"""Behind a transaction pooler there is no LISTEN and no session lock: nodes go on by sweeps and leases alone."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from flowx_runtime.journal.records import State
from tests.nodes.poolers import PGBOUNCER, deaf, pgbouncer
from tests.nodes.scene import QUICK, Approved, Database, Order, node

ORDER = Order(name="o")
OFTEN = timedelta(seconds=0.1)
SOON = replace(QUICK, probe=timedelta(seconds=0.5), try_again=timedelta(seconds=0.1))


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="flowx-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize(
    "between",
    [deaf, pytest.param(pgbouncer, marks=pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed"))],
    ids=["deaf", "pgbouncer"],
)
async def test_p37_behind_a_pooler_nodes_go_on_by_sweeps_and_leases_and_say_so_once(
    database: Database, folder: Path, between, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING, "flowx.nodes")
    short = timedelta(seconds=1)
    async with between(database.dsn, folder) as dsn:
        settings = {"watching": SOON, "sweep_interval": OFTEN, "lease_ttl": short, "direct": database.dsn}
        async with await node(dsn, database.schema, **settings) as worker:
            for _ in range(10):  # often enough that the driver would prepare its statements
                waiting = await worker.run("work.waiting", ORDER)
                await worker.signal(waiting.instance_id, Approved(by="ada"))
                await database.has(waiting.instance_id, State.COMPLETED)
            resting = await worker.run("work.resting", ORDER)
            await database.has(resting.instance_id, State.COMPLETED)
            await database.comes(lambda: "through a pooler" in caplog.text)
            await asyncio.sleep(1)  # it tries again, and says nothing more
            assert database.rows("select count(*) from flow_node") == [(0,)]
            monkeypatch.setenv("HANGS", "yes")
            hanging = uuid4()
            async with await node(dsn, database.schema, **settings | {"drain": timedelta(0)}) as leaving:
                left = asyncio.create_task(leaving.run("work.hanging", ORDER, instance_id=hanging))
                await database.comes(lambda: database.effects(hanging) == ["first", "hang"])
            monkeypatch.delenv("HANGS")
            await database.has(hanging, State.COMPLETED)
            await asyncio.gather(left, return_exceptions=True)
    assert caplog.text.count("through a pooler") <= 2  # each of two nodes once


async def test_a_database_without_session_locks_is_said_once_and_not_asked_again_and_again(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Some databases that speak PostgreSQL's protocol have none."""
    caplog.set_level(logging.INFO, "flowx.nodes")
    await (await node(database.dsn, database.schema)).close()
    database.rows(
        "create or replace function join_node(p_owner text, p_key bigint) returns boolean language plpgsql as"
        " $$ begin raise feature_not_supported using message = 'no advisory locks'; end $$"
    )
    async with await node(database.dsn, database.schema, watching=SOON, sweep_interval=OFTEN) as worker:
        await database.comes(lambda: "no advisory locks" in caplog.text)
        resting = await worker.run("work.resting", ORDER)
        await database.has(resting.instance_id, State.COMPLETED)
        await asyncio.sleep(1)
    assert caplog.text.count("no advisory locks") == 1


async def test_p37_with_one_address_past_the_pooler_nodes_hear_of_each_other(database: Database, folder: Path) -> None:
    async with deaf(database.dsn, folder) as dsn:
        settings = {"direct": database.dsn, "past_pooler": database.dsn}
        async with (
            await node(dsn, database.schema, **settings) as worker,
            await node(dsn, database.schema, plans=(), sweep_interval=None, direct=database.dsn) as sender,
        ):
            await database.are_present(1)
            waiting = await worker.run("work.waiting", ORDER)
            await sender.signal(waiting.instance_id, Approved(by="ada"))
            await database.has(waiting.instance_id, State.COMPLETED)
