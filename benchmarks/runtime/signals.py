"""From a signal to the next step of the instance that waits for it."""

from __future__ import annotations

import asyncio
import time
from typing import Final
from uuid import uuid4

from psycopg import AsyncConnection

from benchmarks.five_steps import STEPS, make_bare_table, write_bare
from benchmarks.flows import ORDER, WAITING, Approved, host_on, new_schema, reached
from benchmarks.runtime.dbos_peer import NAME, Dbos
from benchmarks.runtime.figure import Beside, Figure, at_most, percentile
from benchmarks.runtime.sizes import Size

LIMITS: Final = {50: 3, 99: 8}
_WARM_UP: Final = 0.2


async def measure(dsn: str, size: Size, dbos: Dbos | None) -> list[Figure]:
    ours, bare, theirs = [], [], []
    with new_schema(dsn) as schema:
        async with (
            await host_on(dsn, schema, WAITING) as host,
            await AsyncConnection.connect(dsn, autocommit=True) as connection,
        ):
            await make_bare_table(dsn, schema)
            for number in range(size.signalled + int(size.signalled * _WARM_UP)):
                instance_id = uuid4()
                await host.run(WAITING, ORDER, instance_id=instance_id)
                sent = time.time()
                await host.signal(instance_id, Approved(by="ada"))
                ours.append((reached.pop(instance_id) - sent) * 1000)
                since = time.perf_counter()
                await write_bare(connection, schema)
                bare.append((time.perf_counter() - since) * 1000 / STEPS)
                if dbos is not None and number % 3 == 0:
                    theirs.append((await asyncio.to_thread(dbos.ask, "signal", name=f"signal{number}"))["ms"])
    cold = int(size.signalled * _WARM_UP)
    # The delivery is durable before it counts, with the claim that the step is made under.
    references = {"one bare commit": bare[cold:]} | ({NAME: theirs[cold // 3 :]} if theirs else {})
    return [_figure(percent, limit, ours[cold:], references) for percent, limit in LIMITS.items()]


def _figure(percent: int, limit: float, ours: list[float], others: dict[str, list[float]]) -> Figure:
    measured = percentile(ours, percent)
    references = [
        Beside(name, percentile(found, percent), measured / percentile(found, percent))
        for name, found in others.items()
    ]
    return at_most(f"signal to next step, p{percent}", measured, limit, "ms", beside=tuple(references))
