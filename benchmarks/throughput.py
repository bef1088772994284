"""Durable steps per second of one process beside a bare loop of INSERT and commit, in turns in one run.

python benchmarks/throughput.py                        # 50 flows of five steps at a time, and 50 connections
python benchmarks/throughput.py --concurrency 10 --seconds 2 --turns 5
FLOWX_DSN=postgresql://… python benchmarks/throughput.py
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from uuid import uuid4

from psycopg import AsyncConnection

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.five_steps import STEPS, host, make_bare_table, run_flow, server, write_bare

LIMIT = 1.0


async def steps_per_second(workers: Sequence[Callable[[], Awaitable[None]]], seconds: float) -> float:
    started = time.perf_counter()
    done = 0

    async def work(one: Callable[[], Awaitable[None]]) -> None:
        nonlocal done
        while time.perf_counter() - started < seconds:
            await one()
            done += STEPS

    await asyncio.gather(*(work(one) for one in workers))
    return done / (time.perf_counter() - started)


async def measure(dsn: str, concurrency: int, seconds: float, turns: int) -> tuple[list[float], list[float], float]:
    schema = f"bench_{uuid4().hex[:8]}"
    bare, flows, cpu = [], [], 0.0
    async with host(dsn, schema) as entered:
        await make_bare_table(dsn, schema)
        connections = [await AsyncConnection.connect(dsn, autocommit=True) for _ in range(concurrency)]

        def bare_worker(connection: AsyncConnection) -> Callable[[], Awaitable[None]]:
            return lambda: write_bare(connection, schema)

        bare_workers = [bare_worker(connection) for connection in connections]
        flow_workers = [lambda: run_flow(entered)] * concurrency
        await steps_per_second(bare_workers, 0.3)
        await steps_per_second(flow_workers, 0.5)
        for _ in range(turns):
            bare.append(await steps_per_second(bare_workers, seconds))
            before = time.process_time()
            flows.append(await steps_per_second(flow_workers, seconds))
            cpu += time.process_time() - before
        for connection in connections:
            await connection.close()
    return bare, flows, cpu / (turns * seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concurrency", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=2.0, help="how long one turn of either takes")
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    with server() as dsn:
        bare, flows, cpu = asyncio.run(measure(dsn, given.concurrency, given.seconds, given.turns))
    print(f"bare INSERT and commit, {given.concurrency} connections   {median(bare):8.0f} steps/s")
    print(
        f"durable flows, {given.concurrency} at a time              {median(flows):8.0f} steps/s   "
        f"{cpu:.0%} of one core in this process"
    )
    ratio = median(flows) / median(bare)
    print(f"ratio of the medians {ratio:.2f}, at least {LIMIT:.1f}: {'ok' if ratio >= LIMIT else 'TOO SLOW'}")


if __name__ == "__main__":
    main()
