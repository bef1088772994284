"""The database server stops and comes back, or loses a backend: hosts, sweeps and flows go on by themselves."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from flowx_runtime import PostgresJournal
from flowx_runtime.journal.postgres.embedded import EmbeddedServer
from flowx_runtime.journal.records import Filter, State
from tests.servers import kept_server, until_it_answers
from tests.stress.parcels import PARCELS, PLAN, Order, ParcelArrived, node

FLOWS = 20


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with kept_server() as running:
        yield running


def restart(server: EmbeddedServer) -> None:
    server.stop()
    server.start()


def kill_a_backend(server: EmbeddedServer) -> None:
    """The server then ends all other sessions as well, and recovers as after a crash."""
    with psycopg.connect(server.dsn) as connection:
        query = "select pid from pg_stat_activity where application_name = 'flowx' order by state_change desc limit 1"
        found = connection.execute(query).fetchone()
    assert found is not None
    os.kill(found[0], signal.SIGKILL)


@pytest.mark.slow  # a server of its own, stopped and started twice
@pytest.mark.parametrize("goes_away", [restart, kill_a_backend])
async def test_flows_go_on_when_the_server_is_back(
    server: EmbeddedServer, goes_away: Callable[[EmbeddedServer], None]
) -> None:
    schema = goes_away.__name__
    await (await PostgresJournal.open(server.dsn, schema=schema)).close()
    async with await node(server.dsn, schema) as one, await node(server.dsn, schema) as other:
        keys = [str(n) for n in range(FLOWS)]
        await asyncio.gather(*(one.run(PLAN, Order(order_id=key), idempotency_key=key) for key in keys[::2]))
        going_away = asyncio.create_task(asyncio.to_thread(goes_away, server))
        # Started while the server goes away and comes back; with a key, trying again is safe.
        outcomes = await asyncio.gather(
            *(
                until_it_answers(lambda key=key: other.run(PLAN, Order(order_id=key), idempotency_key=key))
                for key in keys
            )
        )
        await going_away
        going_away = asyncio.create_task(asyncio.to_thread(goes_away, server))
        for n in range(PARCELS):
            sent = ParcelArrived(parcel_id=str(n))
            for outcome in outcomes:
                await until_it_answers(lambda i=outcome.instance_id, s=sent: one.signal(i, s, delivery_id=s.parcel_id))
        await going_away
        ids = {outcome.instance_id for outcome in outcomes}
        for instance_id in ids:
            await is_completed(one, instance_id)
    assert len(ids) == FLOWS
    journal = await PostgresJournal.open(server.dsn, schema=schema)
    assert len(await journal.find(Filter(states=frozenset({State.COMPLETED})))) == FLOWS
    for instance_id in ids:
        history = await journal.read(instance_id)
        assert history is not None
        assert [row.step_id for row in history.rows] == list(range(PARCELS + 2))
    await journal.close()


async def is_completed(host: Any, instance_id: Any) -> None:
    """The hosts' own sweeps take up what an outage interrupted."""
    while (await host.inspect(instance_id)).instance.state is not State.COMPLETED:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
