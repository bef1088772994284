"""A worker is killed: how long until its instances move on a peer."""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import Final
from uuid import uuid4

from psycopg import connect

from benchmarks.flows import HELD, host_on, new_schema
from benchmarks.runtime.figure import Figure, at_most, percentile
from benchmarks.runtime.sizes import Size
from benchmarks.runtime.worker import Worker

LIMIT: Final = 3.0
HELD_AT_A_TIME: Final = 20


async def measure(dsn: str, size: Size) -> list[Figure]:
    """Each time anew: two workers, one of which holds some instances; that one gets SIGKILL."""
    with new_schema(dsn) as schema:
        async with await host_on(dsn, schema, HELD):
            pass
        return await asyncio.to_thread(_kill, dsn, schema, size)


def _kill(dsn: str, schema: str, size: Size) -> list[Figure]:
    took: list[float] = []
    peer = Worker(dsn, schema, looking_around=size.looking_around)
    try:
        for _ in range(size.kills):
            dying = Worker(dsn, schema, looking_around=size.looking_around, holds=True)
            for _ in range(HELD_AT_A_TIME):
                dying.tell("hold", uuid4())
            for _ in range(HELD_AT_A_TIME):
                dying.read("holds")
            _both_are_present(dsn, schema)
            killed = time.time()
            dying.end()
            took += [float(peer.read("moves")[1]) - killed for _ in range(HELD_AT_A_TIME)]
    finally:
        peer.end()
    note = f"p50 {median(took):.2f} s, {size.kills} kills of {HELD_AT_A_TIME} instances"
    return [at_most("worker killed, instances moving on a peer, p99", percentile(took, 99), LIMIT, "s", note=note)]


def _both_are_present(dsn: str, schema: str) -> None:
    with connect(dsn, autocommit=True) as connection:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            row = connection.execute(f"select count(*) from {schema}.flow_node".encode()).fetchone()
            if row is not None and row[0] >= 2:
                return
            time.sleep(0.02)
