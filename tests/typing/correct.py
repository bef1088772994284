"""Every construct, spelt right: neither checker has anything to say."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from declarations import (
    GAPS,
    Order,
    OrderCancelled,
    OrderPaid,
    OrderPlaced,
    Receipt,
    Release,
    Reservation,
    Reserve,
    Status,
    TooLate,
    forget,
    ship,
    status,
)

from flowx_runtime import (
    Backoff,
    Flow,
    FlowBuilder,
    FlowContext,
    Merge,
    Profile,
    StepContext,
    SubFlowMode,
    flow,
)


def is_express(ctx: FlowContext[Order]) -> bool:
    return ctx.input.express


def escalate(late: FlowBuilder[Order, Receipt]) -> None:
    late.step(forget).fail(TooLate)


@flow("order.child", version="1.0.0", profile=Profile.DURABLE, deadline=timedelta(hours=1))
class Child(Flow[Reservation, Receipt]):
    def define(self, flow: FlowBuilder[Reservation, Receipt]) -> None:
        flow.step(ship).returns(lambda ctx: ctx.get(Receipt))


@flow("order.place", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class PlaceOrder(Flow[Order, Receipt]):
    def define(self, flow: FlowBuilder[Order, Receipt]) -> None:
        flow.step(Reserve).compensate_with(Release).named("reserve")
        flow.step(Reserve, lambda ctx: ctx.input).named("again").compensate_with(forget)
        (
            flow.poll_until(status, until=lambda ctx: ctx.get(Status).done, interval=GAPS, timeout="PT1H")
            .or_signal(OrderPaid)
            .on_timeout(escalate)
        )
        flow.poll_until(status, until=lambda ctx: ctx.get(Status).done, interval=GAPS, timeout=timedelta(hours=1))
        flow.await_signal(OrderCancelled, timeout="P1D").on_timeout(lambda late: late.fail(TooLate)).delay("PT1H")
        flow.when(is_express, lambda b: b.step(ship)).otherwise(lambda b: b.step(ship))
        flow.switch(lambda ctx: ctx.input.order_id).case("a", lambda b: b.step(ship)).default(lambda b: b.fail(TooLate))
        flow.parallel(ship, lambda b: b.step(forget), merge=Merge.quorum(1))
        flow.for_each(lambda ctx: ctx.input.lines, lambda line: line.step(forget), max_concurrency=4)
        flow.sub_flow(Child, lambda ctx: ctx.get(Reservation), mode=SubFlowMode.DETACHED).named("child")
        flow.emit(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.input.order_id))
        flow.emit_on_failure(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.error.code))
        flow.returns(lambda ctx: ctx.find(Receipt) or Receipt(reference="none"))


class Bank(Protocol):
    async def charge(self, cents: int, key: str) -> Receipt: ...
    async def ask(self) -> int: ...


async def steps_of_a_capability(bank: Bank, ctx: StepContext) -> Receipt:
    count: int = await ctx.once("ask", bank.ask)
    plain: str = await ctx.once("say", lambda: "said")
    upper: str = await ctx.once("shout", lambda key: key.upper())
    await ctx.durable(bank).charge(count, plain + upper)
    return await ctx.once(
        "charge",
        lambda key: bank.charge(1, key),
        scope=count,
        retry=Backoff.fixed("PT1S").max_attempts(2),
    )
