"""The database server stops and comes back: hosts, their sweeps and their flows go on by themselves."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flowx_runtime import PostgresJournal
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.postgres.embedded import EmbeddedServer
from flowx_runtime.journal.records import Filter, State
from tests.stress.parcels import PARCELS, PLAN, Order, ParcelArrived, node

FLOWS = 20


async def until_it_answers(call: Callable[[], Awaitable[Any]]) -> Any:
    while True:
        try:
            return await call()
        except JournalUnavailable:
            continue


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    """One that keeps its data."""
    with tempfile.TemporaryDirectory(prefix="flowx-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with EmbeddedServer(folder / "db", settings={"fsync": "off"}) as running:
            yield running


@pytest.mark.slow  # a server of its own, stopped and started twice
async def test_flows_go_on_when_the_server_is_back(server: EmbeddedServer) -> None:
    await (await PostgresJournal.open(server.dsn)).close()
    async with await node(server.dsn, "flowx") as one, await node(server.dsn, "flowx") as other:
        keys = [str(n) for n in range(FLOWS)]
        await asyncio.gather(*(one.run(PLAN, Order(order_id=key), idempotency_key=key) for key in keys[::2]))
        restarting = asyncio.create_task(asyncio.to_thread(restart, server))
        # Started while the server goes away and comes back; with a key, trying again is safe.
        outcomes = await asyncio.gather(
            *(
                until_it_answers(lambda key=key: other.run(PLAN, Order(order_id=key), idempotency_key=key))
                for key in keys
            )
        )
        await restarting
        restarting = asyncio.create_task(asyncio.to_thread(restart, server))
        for n in range(PARCELS):
            sent = ParcelArrived(parcel_id=str(n))
            for outcome in outcomes:
                await until_it_answers(lambda i=outcome.instance_id, s=sent: one.signal(i, s, delivery_id=s.parcel_id))
        await restarting
        ids = {outcome.instance_id for outcome in outcomes}
        for instance_id in ids:
            await is_completed(one, instance_id)
    assert len(ids) == FLOWS
    journal = await PostgresJournal.open(server.dsn)
    assert len(await journal.find(Filter(states=frozenset({State.COMPLETED})))) == FLOWS
    for instance_id in ids:
        history = await journal.read(instance_id)
        assert history is not None
        assert [row.step_id for row in history.rows] == list(range(PARCELS + 2))
    await journal.close()


def restart(server: EmbeddedServer) -> None:
    server.stop()
    server.start()


async def is_completed(host: Any, instance_id: Any) -> None:
    """The hosts' own sweeps take up what an outage interrupted."""
    while (await host.inspect(instance_id)).instance.state is not State.COMPLETED:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
