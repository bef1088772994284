"""Load on the database and on the process: cases users of other engines reported, by their number."""

from __future__ import annotations

import gc
from collections import Counter
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from flowx_runtime import Completed, PostgresJournal
from flowx_runtime.plan import AwaitSignal, Delay, ForEach
from tests.acceptance.conftest import Database, VirtualClock
from tests.acceptance.small_flows import APPROVED, DAY, ORDER, Approved, Order, World, node, plan, step, until

MANY = 20000
WAITING = plan(AwaitSignal(0, "approved", APPROVED, DAY), step(1, "ship"))


class AskedJournal(PostgresJournal):
    """Counts what it is asked."""

    asked: ClassVar[Counter[str]] = Counter()

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name != "asked":
            AskedJournal.asked[name] += 1
        return super().__getattribute__(name)


@pytest.mark.parametrize("parked", [1, 60])
async def test_p35_p36_waiters_ask_the_database_nothing(database: Database, clock: VirtualClock, parked: int) -> None:
    async with node(database, clock, World(), WAITING) as host:
        for number in range(parked):
            await host.run("order.place", ORDER, idempotency_key=str(number))
    before = database.rows("select xmin::text from flow_instance order by instance_id")
    AskedJournal.asked.clear()
    idle = node(database, clock, World(), WAITING, journal=AskedJournal, sweep_interval=timedelta(seconds=0.02))
    async with idle:
        await until(lambda: _has_swept(5))
        asked = Counter(AskedJournal.asked)
    # Two questions a sweep, one sweep in ten seconds by default: how many wait makes no difference.
    sweeps = asked["claim_due"]
    assert {name for name, times in asked.items() if times >= sweeps - 1} <= {
        "claim_due",
        "claim_abandoned",
        "claim_events",
        "due_schedules",
    }, asked
    assert database.rows("select xmin::text from flow_instance order by instance_id") == before


async def _has_swept(times: int) -> bool:
    return AskedJournal.asked["claim_due"] >= times


async def test_p38_what_a_sweep_and_a_signal_ask_reads_an_index_and_never_the_table(
    database: Database, clock: VirtualClock
) -> None:
    async with node(database, clock, World(), WAITING) as host:
        outcome = await host.run("order.place", ORDER)
    others = ", ".join(name for name in database.columns("flow_instance") if name != "instance_id")
    database.change(
        f"insert into flow_instance (instance_id, {others}) "
        f"select gen_random_uuid(), {others} from flow_instance, generate_series(1, {MANY})"
    )
    database.change("analyze flow_instance")
    async with node(database, clock, World(), WAITING) as host:
        assert await host.sweep_once() == 0
        await host.signal(outcome.instance_id, Approved(by="ada"))
        assert isinstance(await host.outcome(outcome.instance_id), Completed)

    # A connection hands its counters in when it is closed, a little later.
    async def has_counted() -> bool:
        return bool(_scans(database)[0] > 5)

    await until(has_counted)
    assert _scans(database)[1] < MANY, "one look at the whole table, by whatever way, reads more than this"


def _scans(database: Database) -> Any:
    """How often an index of the instances was read, and how many rows were read in all."""
    (found,) = database.rows(
        "select idx_scan, seq_tup_read + idx_tup_fetch from pg_stat_user_tables "
        "where schemaname = %s and relname = 'flow_instance'",
        database.schema,
    )
    return found


async def test_p41_a_process_that_ends_many_runs_keeps_nothing_of_them(database: Database, clock: VirtualClock) -> None:
    looping = plan(
        ForEach(0, lambda ctx: (Order(name="x"), Order(name="y")), Order, 2, 2), step(1, "a"), Delay(2, "rest", DAY)
    )
    world = World()

    async def many(host: Any, runs: int) -> int:
        for _ in range(runs):
            await host.run("order.place", ORDER)
        clock.advance(DAY)
        await host.sweep_once()
        world.effects.clear()
        world.calls.clear()
        gc.collect()
        return len(gc.get_objects())

    async with node(database, clock, world, looping) as host:
        await many(host, 20)
        first = await many(host, 20)
        second = await many(host, 100)
    assert second - first < 100, "less than one object for each run"
    assert database.rows("select count(*) from flow_instance where state = 'Completed'") == [(140,)]
