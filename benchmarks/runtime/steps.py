"""Durable steps per second, and the CPU of one flow, beside bare commits and DBOS."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Final

from psycopg import AsyncConnection

from benchmarks.five_steps import STEPS, host, make_bare_table, run_flow, write_bare
from benchmarks.flows import new_schema
from benchmarks.runtime.dbos_peer import NAME, Dbos
from benchmarks.runtime.figure import Figure, at_most, beside
from benchmarks.runtime.sizes import Size
from benchmarks.throughput import steps_per_second

CONCURRENT: Final = (1, 10, 50)
CPU_LIMIT: Final = 1.5
"""Milliseconds of this process, at 10 flows at a time."""

Work = Callable[[], Awaitable[None]]


def _bare(connection: AsyncConnection, schema: str) -> Work:
    return lambda: write_bare(connection, schema)


async def measure(dsn: str, size: Size, dbos: Dbos | None) -> list[Figure]:
    figures: list[Figure] = []
    with new_schema(dsn) as schema:
        async with host(dsn, schema) as entered:
            await make_bare_table(dsn, schema)
            connections = [await AsyncConnection.connect(dsn, autocommit=True) for _ in range(max(CONCURRENT))]
            bare = [_bare(connection, schema) for connection in connections]
            flow: Work = lambda: run_flow(entered)  # noqa: E731
            await steps_per_second(bare, size.seconds / 3)
            await steps_per_second([flow] * 10, size.seconds / 3)
            if dbos is not None:
                dbos.ask("steps", concurrency=10, seconds=size.seconds / 3)
            for concurrency in CONCURRENT:
                figures += await _at(concurrency, bare[:concurrency], [flow] * concurrency, size, dbos)
            for connection in connections:
                await connection.close()
    return figures


async def _at(
    concurrency: int, bare_work: list[Work], flow_work: list[Work], size: Size, dbos: Dbos | None
) -> list[Figure]:
    bare, flows, cpu, theirs, their_cpu = [], [], [], [], []
    for _ in range(size.turns):
        bare.append(await steps_per_second(bare_work, size.seconds))
        before, since = time.process_time(), time.perf_counter()
        rate = await steps_per_second(flow_work, size.seconds)
        done = rate * (time.perf_counter() - since) / STEPS
        cpu.append((time.process_time() - before) * 1000 / done)
        flows.append(rate)
        if dbos is not None:
            found = await asyncio.to_thread(dbos.ask, "steps", concurrency=concurrency, seconds=size.seconds)
            theirs.append(found["steps_per_second"])
            their_cpu.append(found["cpu_ms"])
    references = [beside(f"{concurrency} connections, one INSERT and commit per step", flows, bare)]
    costs = []
    if dbos is not None:
        references.append(beside(NAME, flows, theirs))
        costs = [beside(NAME, cpu, their_cpu)]
    what = f"durable steps per second, {concurrency} flows of {STEPS} at a time"
    figure = Figure(what, median(flows), "/s", beside=tuple(references))
    if concurrency == max(CONCURRENT):
        is_held = references[0].ratio >= 1
        figure = Figure(what, median(flows), "/s", "ratio to bare >= 1.00", is_held, tuple(references))
    if concurrency != 10:
        return [figure]
    cost = at_most("CPU of one such flow, 10 at a time", median(cpu), CPU_LIMIT, "ms", beside=tuple(costs))
    return [figure, cost]


async def measure_lone(dsn: str, size: Size, dbos: Dbos | None) -> list[Figure]:
    """One flow after the other, each beside five bare commits."""
    bare, flows, theirs = [], [], []

    async def milliseconds(work: Work) -> float:
        since = time.perf_counter()
        await work()
        return (time.perf_counter() - since) * 1000

    with new_schema(dsn) as schema:
        async with host(dsn, schema) as entered:
            await make_bare_table(dsn, schema)
            async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
                for turn in range(size.lone + size.lone // 5):
                    took = await milliseconds(_bare(connection, schema)), await milliseconds(lambda: run_flow(entered))
                    if turn >= size.lone // 5:  # warm by now
                        bare.append(took[0])
                        flows.append(took[1])
                        if dbos is not None:
                            theirs.append((await asyncio.to_thread(dbos.ask, "lone"))["ms"])
    # A median of one against a median of the other: single rounds differ by what else the machine does.
    references = [beside(f"{STEPS} bare commits", [median(flows)], [median(bare)])]
    if dbos is not None:
        references.append(beside(NAME, [median(flows)], [median(theirs)]))
    what = f"one durable flow of {STEPS} steps, p50"
    is_held = references[0].ratio <= 2
    return [Figure(what, median(flows), "ms", "ratio to bare <= 2.00", is_held, tuple(references))]
