"""Parking many instances: how fast, how much of a table each takes, and what they cost a node that does nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from statistics import median
from typing import Any, Final
from uuid import uuid4

from psycopg import AsyncConnection, connect

from benchmarks.flows import DAY, ORDER, WAITING, host_on, new_schema, resting
from benchmarks.runtime.dbos_peer import NAME, Dbos
from benchmarks.runtime.figure import Figure, at_least, at_most, beside
from benchmarks.runtime.idle import look_at_nodes
from benchmarks.runtime.sizes import Size
from benchmarks.runtime.waking import wake_all
from flowx_runtime import FlowHost, Suspended

AT_A_TIME: Final = 50
LEAST_RATE: Final = 3_000
MOST_BYTES: Final = 500
_TABLES: Final = "('flow_instance', 'flow_lease', 'flow_step', 'flow_wait', 'flow_inbox')"
_INPUT: Final = ORDER.model_dump_json()


async def each(count: int, work: Callable[[int], Awaitable[object]]) -> float:
    """Do something so often, `AT_A_TIME`; gives how many per second."""
    numbers: Iterator[int] = iter(range(count))

    async def some() -> None:
        for number in numbers:
            await work(number)

    since = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(min(AT_A_TIME, count))))
    return count / (time.perf_counter() - since)


async def park(host: FlowHost, count: int, plan: str) -> float:
    async def one(_: int) -> None:
        outcome = await host.run(plan, ORDER)
        assert isinstance(outcome, Suspended), outcome

    return await each(count, one)


class Bare:
    """A table of what is parked, as anybody would write it by hand: one INSERT and commit for each."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._dsn = dsn
        self.table = f"{schema}.bare_parked"
        self._free: asyncio.Queue[AsyncConnection[Any]] = asyncio.Queue()

    async def connect(self) -> None:
        with connect(self._dsn, autocommit=True) as connection:
            columns = "(instance_id uuid primary key, wake_at timestamptz, woken integer default 0, input json)"
            connection.execute(f"create table {self.table} {columns}".encode())
            connection.execute(f"create index on {self.table} (wake_at)".encode())
        for _ in range(AT_A_TIME):
            self._free.put_nowait(await AsyncConnection.connect(self._dsn, autocommit=True))

    async def park(self, count: int) -> float:
        statement = f"insert into {self.table} values (%s, now(), 0, %s)".encode()

        async def one(_: int) -> None:
            connection = await self._free.get()
            await connection.execute(statement, [uuid4(), _INPUT])
            self._free.put_nowait(connection)

        return await each(count, one)

    async def close(self) -> None:
        while not self._free.empty():
            await self._free.get_nowait().close()


def _rows(dsn: str, query: str) -> tuple[Any, ...]:
    with connect(dsn, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row


def _bytes(dsn: str, schema: str) -> int:
    query = "select sum(pg_total_relation_size(oid))::bigint from pg_class where relkind = 'r'"
    return int(_rows(dsn, f"{query} and relnamespace = '{schema}'::regnamespace and relname in {_TABLES}")[0])


async def measure(dsn: str, size: Size, dbos: Dbos | None) -> list[Figure]:
    """Park in turns with a bare loop and with DBOS; then leave them, and wake them all."""
    figures: list[Figure] = []
    with new_schema(dsn) as schema:
        bare = Bare(dsn, schema)
        rates, bare_rates, their_rates = [], [], []
        cpu = 0.0
        async with await host_on(dsn, schema, WAITING, resting(DAY)) as host:
            await bare.connect()
            empty = _bytes(dsn, schema)
            share = size.parked // size.turns
            bare_share = min(share, 4_000)
            for turn in range(size.turns):
                bare_rates.append(await bare.park(bare_share))
                before = time.process_time()
                rates.append(await park(host, share, "order.resting"))
                cpu += time.process_time() - before
                if dbos is not None:
                    count = max(1, size.parked_by_peer // size.turns)
                    found = await asyncio.to_thread(dbos.ask, "park", count=count, prefix=f"park{turn}/")
                    their_rates.append(found["per_second"])
        count = share * size.turns
        references = [beside(f"{AT_A_TIME} connections, one INSERT and commit each", rates, bare_rates)]
        if dbos is not None:
            references.append(beside(NAME, rates, their_rates))
        what = "instances parked per second"
        note = f"{cpu * 1000 / count:.2f} ms of this process's CPU each"
        figures.append(at_least(what, median(rates), LEAST_RATE, "/s", beside=tuple(references), note=note))
        figures += _on_disk(dsn, schema, count, empty)
        figures += await look_at_nodes(dsn, schema, count, size)
        figures += await wake_all(dsn, schema, count, size, bare, dbos)
        await bare.close()
    return figures


def _on_disk(dsn: str, schema: str, count: int, empty: int) -> list[Figure]:
    query = f"""select count(*), coalesce(sum(octet_length(input::text)), 0)::bigint,
        (select count(*) from {schema}.flow_lease),
        (select count(*) from {schema}.flow_step) + (select count(*) from {schema}.flow_wait)
        from {schema}.flow_instance where state = 'Suspended'"""
    parked, input_bytes, leases, others = _rows(dsn, query)
    taken = (_bytes(dsn, schema) - empty - input_bytes) / count
    is_whole = parked == count
    return [
        Figure("rows per parked instance", (parked + others) / count, "", "= 1", is_whole and not others),
        Figure("leases of parked instances", leases, "", "= 0", leases == 0),
        at_most(
            "table and indexes per parked instance, without its input",
            taken,
            MOST_BYTES,
            "bytes",
        ),
    ]
