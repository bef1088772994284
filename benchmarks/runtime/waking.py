"""Waking what is due: all at once, and one after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from psycopg import AsyncConnection

from benchmarks.flows import DAY, ORDER, Later, host_on, new_schema, reached, resting
from benchmarks.runtime.dbos_peer import NAME, Dbos
from benchmarks.runtime.figure import Figure, at_least, at_most, beside, percentile
from benchmarks.runtime.sizes import Size

if TYPE_CHECKING:
    from benchmarks.runtime.parking import Bare

LEAST_RATE: Final = 3_000
LATENESS_LIMIT: Final = 250
_PAGE: Final = 256
_REST: Final = timedelta(seconds=1)
_PER_SECOND: Final = 100


async def wake_all(dsn: str, schema: str, count: int, size: Size, bare: Bare, dbos: Dbos | None) -> list[Figure]:
    """A node for which everything is due; it runs a step of each and ends it, a page at a time to begin with."""
    reached.clear()
    turns = max(size.turns, 1)
    rates, claimed, theirs = [], [], []
    host = await host_on(dsn, schema, resting(DAY), clock=Later(2 * DAY), sweep_interval=None)
    async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
        cpu = time.process_time()
        found, seconds = await _timed(host.sweep_once)
        cpu = time.process_time() - cpu
        rates.append(found / seconds)
        claimed.append(await _claim_bare(connection, bare.table))
    await host.close()
    if dbos is not None:
        peers = max(1, size.parked_by_peer // turns)
        for turn in range(turns):
            asked = {"count": peers, "prefix": f"wake{turn}/", "seconds": peers / 150}
            theirs.append((await asyncio.to_thread(dbos.ask, "wake", **asked))["per_second"])
    assert len(reached) == count, (len(reached), count)
    references = [beside(f"a bare claim of {_PAGE} at a time", rates, claimed)]
    if dbos is not None:
        references.append(beside(NAME, rates, [median(theirs)]))
    what = f"woken per second, {count:,} due at once"
    note = f"{cpu * 1000 / count:.2f} ms of this process's CPU each"
    return [at_least(what, median(rates), LEAST_RATE, "/s", beside=tuple(references), note=note)]


async def _timed(work: Callable[[], object]) -> tuple[int, float]:
    since = time.perf_counter()
    found = await work()  # type: ignore[misc]
    return found, time.perf_counter() - since


async def _claim_bare(connection: AsyncConnection, table: str) -> float:
    statement = f"""with due as (
            select instance_id from {table} where wake_at <= now() order by wake_at limit {_PAGE}
            for update skip locked)
        update {table} b set wake_at = null, woken = woken + 1 from due where b.instance_id = due.instance_id
        returning b.instance_id, b.input""".encode()
    since, count = time.perf_counter(), 0
    while rows := await (await connection.execute(statement)).fetchall():
        count += len(rows)
    return count / (time.perf_counter() - since)


async def measure_lateness(dsn: str, size: Size) -> list[Figure]:
    """From the instant an instance was due, by the start of its run at the latest, to its next step."""
    reached.clear()
    due: dict[UUID, float] = {}
    with new_schema(dsn) as schema:
        async with await host_on(dsn, schema, resting(_REST)) as host:

            async def one(after: float) -> None:
                await asyncio.sleep(after)
                instance_id = uuid4()
                due[instance_id] = time.time() + _REST.total_seconds()
                await host.run("order.resting", ORDER, instance_id=instance_id)

            await asyncio.gather(*(one(number / _PER_SECOND) for number in range(size.spread)))
            until = time.monotonic() + 30
            while len(reached) < size.spread and time.monotonic() < until:  # noqa: ASYNC110  steps tell nobody
                await asyncio.sleep(0.05)
    late = [(reached[instance_id] - due[instance_id]) * 1000 for instance_id in due]
    what = f"lateness, {_PER_SECOND} due per second"
    p50 = percentile(late, 50)
    return [at_most(f"{what}, p99", percentile(late, 99), LATENESS_LIMIT, "ms", note=f"p50 {p50:.0f} ms")]
