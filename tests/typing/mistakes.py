"""One mistake per marked line: both checkers report each, and nothing else."""

from __future__ import annotations

from declarations import (
    GAPS,
    Order,
    OrderCancelled,
    OrderPaid,
    Receipt,
    Release,
    Reservation,
    Reserve,
    Status,
    TooLate,
    refund,
    ship,
    status,
)

from flowx_runtime import FlowBuilder, StepContext


def predicate_that_is_no_bool(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.when(lambda ctx: ctx.input.order_id, lambda b: b.step(Reserve))  # mistake


def predicate_of_a_poll_that_is_no_bool(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.poll_until(status, until=lambda ctx: ctx.get(Status), interval=GAPS, timeout="PT1H")  # mistake


def map_to_the_wrong_contract(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.step(ship, lambda ctx: ctx.input)  # mistake


def undo_of_neither_request_nor_result(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.step(Reserve).compensate_with(refund)  # mistake


def undo_after_a_poll(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.poll_until(status, until=lambda ctx: True, interval=GAPS, timeout="PT1H").compensate_with(Release)  # mistake


def undo_after_a_delay(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.delay("PT1H").compensate_with(Release)  # mistake


def second_or_signal(flow: FlowBuilder[Order, Receipt]) -> None:
    poll = flow.poll_until(status, until=lambda ctx: True, interval=GAPS, timeout="PT1H").or_signal(OrderPaid)
    poll.or_signal(OrderCancelled)  # mistake


def otherwise_without_when(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.step(Reserve).otherwise(lambda b: b.step(Reserve))  # mistake


def unknown_member(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.when(lambda ctx: ctx.input.expres, lambda b: b.step(Reserve))  # mistake


def unknown_member_of_a_result(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.when(lambda ctx: ctx.get(Status).finished, lambda b: b.step(Reserve))  # mistake


def wrong_projection(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.returns(lambda ctx: ctx.get(Reservation))  # mistake


def wait_without_a_timeout(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.await_signal(OrderPaid)  # mistake


def number_for_a_duration(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.delay(3600)  # mistake


def step_after_fail(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.fail(TooLate).step(Reserve)  # mistake


def switch_without_a_case(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.switch(lambda ctx: ctx.input.express).default(lambda b: b.step(Reserve))  # mistake


def writing_to_the_context(flow: FlowBuilder[Order, Receipt]) -> None:
    flow.step(Reserve, lambda ctx: ctx.set(Order))  # mistake


async def a_call_instead_of_something_to_call(ctx: StepContext) -> None:
    await ctx.once("charge", len("charged"))  # mistake


async def the_wrong_type_of_a_result(ctx: StepContext) -> int:
    return await ctx.once("charge", lambda: "receipt")  # mistake
