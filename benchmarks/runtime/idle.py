"""A node that does nothing: how soon it is there, what it takes, and whether that depends on how many are parked."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final
from uuid import uuid4

from psycopg.conninfo import conninfo_to_dict

from benchmarks.flows import ORDER, WAITING, host_on, new_schema
from benchmarks.runtime.figure import Beside, Figure, at_most, beside
from benchmarks.runtime.sizes import Size
from benchmarks.runtime.worker import Worker
from tests.nodes.test_idle import Counter

READY_LIMIT: Final = 500
CPU_LIMIT: Final = 1.0
QUERIES_LIMIT: Final = 1.0
GROWTH_LIMIT: Final = 1.05
"""Memory beside many parked instances to memory beside none. Two processes that do the same differ a little."""


async def look_at_nodes(dsn: str, schema: str, parked: int, size: Size) -> list[Figure]:
    """Nodes beside many parked instances, and beside none, side by side."""
    with new_schema(dsn) as empty:
        async with await host_on(dsn, empty, WAITING):
            pass
        async with await host_on(dsn, schema, WAITING) as host:
            waiting = uuid4()
            await host.run(WAITING, ORDER, instance_id=waiting)
        return await asyncio.to_thread(_look, dsn, schema, empty, parked, waiting, size)


def _look(dsn: str, schema: str, empty: str, parked: int, waiting: object, size: Size) -> list[Figure]:
    ready, ready_empty, started = [], [], []
    for _ in range(size.turns):
        for each, name in ((ready_empty, empty), (ready, schema)):
            worker = Worker(dsn, name)
            each.append(worker.ready_ms)
            if name == schema:
                started.append(worker.started_ms)
            worker.end()
    beside_many, beside_none = Worker(dsn, schema), Worker(dsn, empty)
    time.sleep(min(size.idle, 3.0))  # what is done once
    workers = (beside_many, beside_none)
    before, since = [worker.usage() for worker in workers], time.perf_counter()
    time.sleep(size.idle)
    seconds = time.perf_counter() - since
    after = [worker.usage() for worker in workers]
    percent = [(now[0] - then[0]) / seconds * 100 for then, now in zip(before, after, strict=True)]
    memory, memory_empty = after[0][1], after[1][1]
    since = time.perf_counter()
    beside_many.tell("signal", waiting)
    beside_many.read("signalled")
    moved = (time.perf_counter() - since) * 1000
    for worker in workers:
        worker.end()
    among = f"{parked:,} parked"
    return [
        at_most(
            f"restart among {among}: ready in",
            median(ready),
            READY_LIMIT,
            "ms",
            beside=(beside("among none", ready, ready_empty),),
            note=f"{median(started):.0f} ms with the interpreter and its imports; a signal then took {moved:.0f} ms",
        ),
        at_most(
            f"CPU of an idle node among {among}",
            percent[0],
            CPU_LIMIT,
            "%",
            beside=(Beside("among none", percent[1], percent[0] / percent[1] if percent[1] else float("nan")),),
        ),
        Figure(
            f"memory of an idle node among {among}",
            memory,
            "MiB",
            f"ratio to none <= {GROWTH_LIMIT}",
            memory <= memory_empty * GROWTH_LIMIT,
            (Beside("among none", memory_empty, memory / memory_empty),),
        ),
    ]


async def measure_queries(dsn: str, size: Size) -> list[Figure]:
    """Statements that an idle node sends, counted on their way."""
    if not str(conninfo_to_dict(dsn).get("host", "")).startswith("/"):
        return []  # they are counted on a Unix socket
    with tempfile.TemporaryDirectory(prefix="flowx-bench-") as folder, new_schema(dsn) as schema:
        counter = Counter(dsn, Path(folder))
        server = await counter.serve()
        async with await host_on(counter.dsn, schema, WAITING):
            await asyncio.sleep(min(size.idle, 2.0))
            before, since = counter.count, time.perf_counter()
            await asyncio.sleep(size.idle)
            rate = (counter.count - before) / (time.perf_counter() - since)
        server.close()
    return [at_most("queries of an idle node", rate, QUERIES_LIMIT, "/s")]
