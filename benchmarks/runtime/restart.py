"""A process dies among parked instances: how long until the next one has gone on with the last of them."""

from __future__ import annotations

import asyncio
import time
from statistics import median
from uuid import uuid4

from benchmarks.flows import ORDER, WAITING, host_on, new_schema
from benchmarks.runtime.dbos_peer import NAME, Dbos
from benchmarks.runtime.figure import Beside, Figure
from benchmarks.runtime.parking import park
from benchmarks.runtime.sizes import Size
from benchmarks.runtime.worker import Worker


async def measure(dsn: str, size: Size, dbos: Dbos | None) -> list[Figure]:
    """As many parked here as there. From launching the runtime to the end of a signal to the last that was parked."""
    count = size.parked_by_peer
    with new_schema(dsn) as schema:
        async with await host_on(dsn, schema, WAITING) as host:
            await park(host, count - 1, WAITING.flow_id)
            names = [uuid4() for _ in range(size.turns)]
            for name in names:
                await host.run(WAITING, ORDER, instance_id=name)
        ours, theirs = [], []
        if dbos is not None:
            await asyncio.to_thread(dbos.ask, "park", count=count, prefix="restart/")
        for turn, name in enumerate(names):
            ours.append(await asyncio.to_thread(_restart, dsn, schema, name))
            if dbos is not None:
                dbos = await asyncio.to_thread(dbos.again)
                last = f"restart/{count - 1 - turn}"
                took = dbos.launch_ms + (await asyncio.to_thread(dbos.ask, "send", name=last))["ms"]
                theirs.append(took)
        if dbos is not None:
            dbos.end()
    references = ()
    if theirs:
        references = (Beside(NAME, median(theirs), median(ours) / median(theirs)),)
    what = f"restart among {count:,} parked: launched, and a signal done after"
    return [Figure(what, median(ours), "ms", beside=references)]


def _restart(dsn: str, schema: str, name: object) -> float:
    worker = Worker(dsn, schema)
    since = time.perf_counter()
    worker.tell("signal", name)
    worker.read("signalled")
    took = worker.ready_ms + (time.perf_counter() - since) * 1000
    worker.end()
    return took
