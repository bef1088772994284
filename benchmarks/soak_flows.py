"""What the soak runs, and one worker of it: a node that may be killed at any moment.

python -m benchmarks.soak_flows DSN SCHEMA NAME SWEEP_SECONDS
"""

from __future__ import annotations

import asyncio
import os
import signal as signals
import sys
from datetime import timedelta
from random import random
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection, sql

from flowx_runtime import (
    Contract,
    FlowError,
    FlowHost,
    Internal,
    Merge,
    MissedFire,
    PostgresJournal,
    Profile,
    Publishing,
    ScheduledFire,
    StepContext,
    capability,
    event,
    signal,
)
from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.plan import (
    FORMAT,
    AwaitSignal,
    Branch,
    CapabilityUse,
    Delay,
    Emit,
    EventUse,
    Fail,
    ForEach,
    Parallel,
    Plan,
    Schedule,
    SignalUse,
    Step,
)

TICKS = 4
ITEMS = ("a", "b", "c")

# No unique key: whatever happens twice is there twice.
TABLES = """
create table {s}.effect (place serial, instance_id uuid, what text, pid integer);
create table {s}.published (place serial, instance_id uuid, sequence bigint, pid integer);
"""


class Order(Contract):
    number: int
    fails: bool


class Item(Contract):
    name: str


class Word(Contract):
    text: str


@signal("order.paid")
class Paid(Contract):
    amount: int


@event("order.moved", version="1.0.0")
class Moved(Contract):
    to: str


class Refused(FlowError, code="order.refused"):
    """Nobody wants it."""


_connection: AsyncConnection[Any]
_schema: str


async def _note(table: str, *values: Any) -> None:
    statement = sql.SQL("insert into {}.{} values (default, %s, %s, %s)")
    await _connection.execute(statement.format(sql.Identifier(_schema), sql.Identifier(table)), [*values, os.getpid()])


async def _do(instance_id: UUID, what: str) -> None:
    await asyncio.sleep(random() * 0.02)
    await _note("effect", instance_id, what)
    await asyncio.sleep(random() * 0.02)


def _step(what: str, request: type[Any] = Order) -> CapabilityUse:
    @capability(f"soak.{what}", version="1.0.0", authorization=Internal(), idempotent=True)
    async def run(request: Any, ctx: StepContext) -> None:
        await _do(ctx.instance_id, f"{what} {request.name}" if isinstance(request, Item) else what)

    return CapabilityUse(run, f"soak.{what}", "1.0.0", request, None, idempotent=True)


def _emit(index: int, to: str) -> Emit:
    return Emit(index, f"moved to {to}", EventUse(Moved, "order.moved", "1.0.0"), lambda _: Moved(to=to))


def _plan(flow_id: str, *nodes: Any, **more: Any) -> Plan[Any, Any]:
    settings = {"format": FORMAT, "version": "1.0.0", "digest": "soak", "profile": Profile.DURABLE, "output": None}
    return Plan(flow_id=flow_id, nodes=nodes, **(settings | {"input": Order} | more))


ORDER = _plan(
    "soak.order",
    Delay(0, "rest", timedelta(seconds=0.05)),
    Step(1, "reserve", _step("reserve"), compensation=_step("release")),
    ForEach(2, lambda _: tuple(Item(name=name) for name in ITEMS), Item, 4, 2),
    Step(3, "pick", _step("pick", Item)),
    Parallel(4, (5, 6), 7, Merge.ALL_MUST_SUCCEED),
    Step(5, "pack", _step("pack")),
    Step(6, "label", _step("label")),
    _emit(7, "packed"),
    AwaitSignal(8, "paid", SignalUse(Paid, "order.paid"), timedelta(hours=1)),
    _emit(9, "paid"),
    Branch(10, lambda ctx: ctx.input.fails, 12),
    Fail(11, Refused),
    Step(12, "ship", _step("ship")),
    _emit(13, "shipped"),
)
MINUTELY = Schedule(cron="* * * * *", time_zone="UTC", missed_fire=MissedFire.RUN_ALL)
TICK = [
    _plan(
        f"soak.tick{n}", Step(0, "tick", _step(f"tick{n}", ScheduledFire)), input=ScheduledFire, schedules=(MINUTELY,)
    )
    for n in range(TICKS)
]
PLANS = (ORDER, *TICK)
EFFECTS = {
    True: ["reserve", *(f"pick {name}" for name in ITEMS), "pack", "label", "release"],
    False: ["reserve", *(f"pick {name}" for name in ITEMS), "pack", "label", "ship"],
}
"""By whether it fails: everything an order does."""


PUBLISHING = Publishing(interval=timedelta(seconds=1), timeout=timedelta(seconds=5), claim_ttl=timedelta(seconds=10))
"""What a killed worker had in its hand leaves ten seconds later."""


class ToTable:
    """Publishes into a table."""

    async def publish(self, envelope: Envelope) -> None:
        await _note("published", envelope.instance_id, envelope.sequence)


async def connect(dsn: str, schema: str) -> None:
    """Have effects go to a database."""
    global _connection, _schema
    _connection, _schema = await AsyncConnection.connect(dsn, autocommit=True), schema


async def _work(dsn: str, schema: str, name: str, sweep_seconds: float) -> None:
    await connect(dsn, schema)
    host = FlowHost(
        PLANS,
        journal=await PostgresJournal.open(dsn, schema=schema, migrate=False, pool_size=8),
        owner=name,
        sweep_interval=timedelta(seconds=sweep_seconds),
        publisher=ToTable(),
        publishing=PUBLISHING,
    )
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signals.SIGTERM, stopping.set)
    parent = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(parent), sys.stdin)
    async with host:
        print("ready", flush=True)
        orphaned, told = asyncio.create_task(parent.read()), asyncio.create_task(stopping.wait())
        await asyncio.wait([orphaned, told], return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    asyncio.run(_work(*sys.argv[1:4], float(sys.argv[4])))
