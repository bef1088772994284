"""Flows that wait, and one that a test of a dying process can hold; their steps say when they were reached."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from psycopg import connect, sql

from benchmarks.five_steps import Order, count
from flowx_runtime import Contract, FlowHost, Internal, PostgresJournal, Profile, StepContext, capability, signal
from flowx_runtime.plan import FORMAT, AwaitSignal, CapabilityUse, Delay, Plan, SignalUse, Step

DAY: Final = timedelta(days=1)
HOLD: Final = "FLOWX_BENCH_HOLD"
"""Set for a process whose steps are to last until it is killed."""

reached: dict[UUID, float] = {}
"""When the step behind a wait began, by the wall clock, which processes on one machine share."""


@signal("order.approved")
class Approved(Contract):
    by: str


@capability("order.go_on", version="1.0.0", authorization=Internal(), idempotent=True)
async def go_on(request: Order, ctx: StepContext) -> Order:
    reached[ctx.instance_id] = time.time()
    return request


@capability("order.hold", version="1.0.0", authorization=Internal(), idempotent=True)
async def hold(request: Order, ctx: StepContext) -> Order:
    print(f"{'holds' if HOLD in os.environ else 'moves'} {ctx.instance_id} {time.time()}", flush=True)
    while HOLD in os.environ:  # noqa: ASYNC110  until the process is killed
        await asyncio.sleep(1)
    return request


_GO_ON: Final = CapabilityUse(go_on, "order.go_on", "1.0.0", Order, Order, idempotent=True)
_HOLD: Final = CapabilityUse(hold, "order.hold", "1.0.0", Order, Order, idempotent=True)


def _plan(flow_id: str, *nodes: Any, profile: Profile = Profile.DURABLE) -> Plan[Any, Any]:
    return Plan(
        format=FORMAT,
        flow_id=flow_id,
        version="1.0.0",
        digest="benchmark",
        profile=profile,
        input=Order,
        output=Order,
        nodes=nodes,
        returns=lambda ctx: ctx.get(Order),
    )


WAITING: Final = _plan(
    "order.waiting", AwaitSignal(0, "approval", SignalUse(Approved, "order.approved"), DAY), Step(1, "go-on", _GO_ON)
)
HELD: Final = _plan("order.held", Step(0, "hold", _HOLD))


def resting(rest: timedelta) -> Plan[Any, Any]:
    return _plan("order.resting", Delay(0, "rest", rest), Step(1, "go-on", _GO_ON))


def ephemeral(steps: int) -> Plan[Any, Any]:
    use = CapabilityUse(count, "order.count", "1.0.0", Order, Order, idempotent=True)
    nodes = (Step(index, f"count#{index}", use) for index in range(steps))
    return _plan("order.ephemeral", *nodes, profile=Profile.EPHEMERAL)


ORDER: Final = Order(order_id="o-1", number=1)


class Later:
    """The time, so much from now."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        return datetime.now(UTC) + self._by


async def host_on(dsn: str, schema: str, *plans: Plan[Any, Any], **settings: Any) -> FlowHost:
    journal = await PostgresJournal.open(dsn, schema=schema)
    return FlowHost(plans, [go_on, hold, count], journal=journal, **settings)


@contextmanager
def new_schema(dsn: str) -> Iterator[str]:
    """The name of a schema that nobody has, dropped afterwards."""
    name = f"bench_{uuid4().hex[:8]}"
    try:
        yield name
    finally:
        with connect(dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(name)))
