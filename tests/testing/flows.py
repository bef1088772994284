"""Small flows, each for one thing that a test host must get right."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flowx_runtime import (
    Backoff,
    Contract,
    FlowError,
    Internal,
    Merge,
    PolicySet,
    Profile,
    Retry,
    StepContext,
    capability,
    signal,
)
from flowx_runtime.authoring.policies import Fallback, Hedge
from flowx_runtime.authoring.triggers import ScheduledFire
from flowx_runtime.authoring.vocabulary import Category, SubFlowMode
from flowx_runtime.plan import (
    FORMAT,
    AwaitSignal,
    CapabilityUse,
    Delay,
    ForEach,
    Parallel,
    Plan,
    Poll,
    SignalUse,
    Step,
    SubFlow,
)
from flowx_runtime.plan.schedules import Schedule

HOUR = timedelta(hours=1)


class Order(Contract):
    number: int
    parts: tuple[str, ...] = ()


class Part(Contract):
    name: str


class Receipt(Contract):
    text: str


class Seen(Contract):
    times: int


class Late(FlowError, code="test.late", category=Category.UNAVAILABLE):
    """It took too long."""


@signal("test.approved")
class Approved(Contract):
    by: str


@signal("test.paid")
class Paid(Contract):
    amount: int


@capability("test.charge", version="1.0.0", authorization=Internal(), idempotent=True)
async def charge(request: Order, ctx: StepContext) -> Receipt:
    return Receipt(text=f"{request.number} {ctx.new_id()} {ctx.random.random()}")


@capability("test.refund", version="1.0.0", authorization=Internal(), idempotent=True)
async def refund(request: Receipt, ctx: StepContext) -> None:
    return None


@capability("test.look", version="1.0.0", authorization=Internal(), idempotent=True)
async def look(request: Order, ctx: StepContext) -> Seen:
    return Seen(times=1)


@capability("test.charge_once", version="1.0.0", authorization=Internal(), idempotent=True)
async def charge_once(request: Order, ctx: StepContext) -> Receipt:
    text: str = await ctx.once("charge-card", lambda: f"card {request.number}")
    return Receipt(text=text)


@capability("test.slow", version="1.0.0", authorization=Internal(), idempotent=True)
async def slowly(request: Order, ctx: StepContext) -> Receipt:
    return Receipt(text="at last")


def blocking(request: Order, ctx: StepContext) -> Receipt:
    return Receipt(text="from a thread")


CHARGE = CapabilityUse(charge, "test.charge", "1.0.0", Order, Receipt, idempotent=True)
REFUND = CapabilityUse(refund, "test.refund", "1.0.0", Receipt, None, idempotent=True)
LOOK = CapabilityUse(look, "test.look", "1.0.0", Order, Seen, idempotent=True)
SLOWLY = CapabilityUse(slowly, "test.slow", "1.0.0", Order, Receipt, idempotent=True)
CHARGE_ONCE = CapabilityUse(charge_once, "test.charge_once", "1.0.0", Order, Receipt, idempotent=True, has_steps=True)
BLOCKING = CapabilityUse(
    capability("test.blocking", version="1.0.0", authorization=Internal())(blocking),
    "test.blocking",
    "1.0.0",
    Order,
    Receipt,
)
APPROVED = SignalUse(Approved, "test.approved")
PAID = SignalUse(Paid, "test.paid")


def plan(*nodes: Any, **changes: Any) -> Plan[Any, Any]:
    facts: dict[str, Any] = {
        "format": FORMAT,
        "flow_id": "test.flow",
        "version": "1.0.0",
        "digest": "d1",
        "profile": Profile.DURABLE,
        "input": Order,
        "output": None,
        "nodes": nodes,
    }
    return Plan(**(facts | changes))


def charging(index: int, name: str = "test.charge", **more: Any) -> Step:
    return Step(index, name, CHARGE, compensation=REFUND, **more)


ORDER = Order(number=7, parts=("a", "b"))

APPROVED_TWICE = plan(
    charging(0),
    AwaitSignal(1, "first", APPROVED, HOUR),
    AwaitSignal(2, "second", APPROVED, HOUR),
    Step(3, "test.look", LOOK),
)
"""Two waits for the same signal, one after the other; without a timeout block, not being approved fails the flow."""

TWO_WAITS = plan(
    Parallel(0, (1, 3), 5, Merge.ALL_MUST_SUCCEED),
    AwaitSignal(1, "approval", APPROVED, HOUR),
    charging(2, "once approved"),
    AwaitSignal(3, "payment", PAID, HOUR),
    charging(4, "once paid"),
    Step(5, "test.look", LOOK),
)
"""Two waits that are open at once."""

TIMED = PolicySet("timed", timeout="PT2S", retry=Retry(3, Backoff.fixed("PT10S")))
RETRIED = plan(charging(0, policy=TIMED), Step(1, "test.look", LOOK))
"""Two seconds to answer, three attempts, ten seconds apart: parked in between."""

HEDGED = plan(charging(0, policy=PolicySet("hedged", hedge=Hedge("PT5S"))), Step(1, "test.look", LOOK))
"""Asked a second time when five seconds have gone by."""

DEGRADED = plan(
    Step(0, "test.charge", CHARGE, policy=PolicySet("degraded", fallback=Fallback(value=Receipt(text="instead")))),
    Step(1, "test.look", LOOK),
    output=Receipt,
    returns=lambda ctx: ctx.get(Receipt),
)

STOOD_IN = plan(
    Step(0, "test.charge", CHARGE, policy=PolicySet("stood in", fallback=Fallback(capability=slowly))),
    Step(1, "test.look", LOOK),
)

AT_ONCE = plan(charging(0, policy=PolicySet("at once", retry=Retry(3, Backoff.fixed("PT0.5S")))))
"""Three attempts, half a second apart: not parked in between."""

SLOW = plan(charging(0), Delay(1, "rest", HOUR), Step(2, "test.look", LOOK))

ONCE = plan(Step(0, "test.charge_once", CHARGE_ONCE), Delay(1, "rest", HOUR))

IN_A_THREAD = plan(Step(0, "test.blocking", BLOCKING), Step(1, "test.look", LOOK))

IN_MEMORY = plan(charging(0), Step(1, "test.look", LOOK), profile=Profile.EPHEMERAL)

PARTS = plan(
    ForEach(0, lambda ctx: [Part(name=name) for name in ctx.input.parts], Part, 2, 2),
    Step(1, "test.charge", CHARGE, request=lambda ctx: Order(number=len(ctx.get(Part).name)), compensation=REFUND),
    Step(2, "test.look", LOOK),
)

FORK = plan(
    Parallel(0, (1, 2), 4, Merge.ALL_MUST_SUCCEED),
    Step(1, "slow", SLOWLY),
    charging(2, "left"),
    charging(3, "further left"),
    Step(4, "test.look", LOOK),
)

FORK_UNDER_A_LIMIT = plan(
    Parallel(0, (1, 2), 4, Merge.ALL_MUST_SUCCEED),
    Step(1, "slow", SLOWLY, policy=PolicySet("limited", timeout="PT2S")),
    charging(2, "left"),
    charging(3, "further left"),
)

LEFT_ALONE = plan(
    SubFlow(0, "child", "test.alone", "1.0.0", lambda ctx: ctx.input, SubFlowMode.DETACHED), Step(1, "test.look", LOOK)
)
ALONE = plan(charging(0), flow_id="test.alone")

TWO_BRANCHES = plan(
    Parallel(0, (1, 2), 3, Merge.ALL_MUST_SUCCEED),
    charging(1, "left"),
    charging(2, "right"),
    Step(3, "test.look", LOOK),
    output=Receipt,
    returns=lambda ctx: ctx.get(Receipt),
)
"""What the right branch leaves is what counts after the join, whichever branch was first."""

CHILD = plan(charging(0), AwaitSignal(1, "approval", APPROVED, HOUR), flow_id="test.child")
PARENT = plan(
    SubFlow(0, "child", "test.child", "1.0.0", lambda ctx: ctx.input),
    Step(1, "test.look", LOOK),
)

ASKING = plan(
    Poll(0, lambda ctx: ctx.get(Seen).times >= 50, Backoff.fixed("PT5M"), timedelta(hours=5)),
    Step(1, "test.look", LOOK),
)
"""Asks every five minutes until it has been seen fifty times."""

NIGHTLY = plan(
    Step(0, "test.look", LOOK, request=lambda ctx: Order(number=1)),
    flow_id="test.nightly",
    input=ScheduledFire,
    schedules=(Schedule(cron="0 3 * * *", time_zone="Europe/Vienna"),),
)
