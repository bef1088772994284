"""A flow that takes five signals one after the other, and a program that is one node working on such flows.

python -m tests.stress.parcels DSN SCHEMA
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from typing import Any, Final

from flowx_runtime import Contract, FlowHost, Internal, PostgresJournal, Profile, StepContext, capability, signal
from flowx_runtime.plan import FORMAT, AwaitSignal, CapabilityUse, Plan, SignalUse, Step

PARCELS: Final = 5


class Order(Contract):
    order_id: str


class Label(Contract):
    text: str


@signal("parcel.arrived")
class ParcelArrived(Contract):
    parcel_id: str


@capability("order.label", version="1.0.0", authorization=Internal(), idempotent=True)
async def label(request: Order, ctx: StepContext) -> Label:
    return Label(text=request.order_id)


_ARRIVED: Final = SignalUse(ParcelArrived, "parcel.arrived")
_LABEL: Final = CapabilityUse(label, "order.label", "1.0.0", Order, Label, idempotent=True)

PLAN: Final = Plan(
    format=FORMAT,
    flow_id="order.collect",
    version="1.0.0",
    digest="stress",
    profile=Profile.DURABLE,
    input=Order,
    output=None,
    nodes=(
        Step(0, "label", _LABEL),
        *(AwaitSignal(n, f"parcel#{n}", _ARRIVED, timedelta(days=1)) for n in range(1, PARCELS + 1)),
        Step(PARCELS + 1, "label#2", _LABEL),
    ),
)


async def node(dsn: str, schema: str, **changes: Any) -> FlowHost:
    """A host that looks for work often and whose leases are short."""
    journal = await PostgresJournal.open(dsn, schema=schema, migrate=False)
    return FlowHost(
        [PLAN],
        [label],
        journal=journal,
        lease_ttl=timedelta(seconds=1.5),
        **({"sweep_interval": timedelta(seconds=0.05)} | changes),
    )


async def _work(dsn: str, schema: str) -> None:
    async with await node(dsn, schema):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_work(*sys.argv[1:]))
