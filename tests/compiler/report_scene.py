"""A program with findings of both severities, one suppressed, and its report."""

from __future__ import annotations

from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.model import Program
from flowx_compiler.report.report import Report, report
from flowx_compiler.rules.examples import shop
from flowx_compiler.rules.run import judge

FLOWS = '''\
"""Flows."""

from flowx_runtime import Flow, FlowBuilder, Profile, flow
from shop import JITTERED, JobStatus, OrderResult, PlaceOrder, TooLate, nudge_job, release_inventory
from shop import reserve_inventory, start_job, validate_order


# flowx: ignore[FLOWX1012] a reservation runs out by itself
@flow("order.reserve", version="1.0.0", profile=Profile.EPHEMERAL, deadline="PT10S")
class Reserve(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(validate_order)
        flow.step(reserve_inventory).compensate_with(release_inventory)
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))


@flow("order.place", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
class Place(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(start_job)
        flow.poll_until(
            nudge_job,
            until=lambda ctx: ctx.get(JobStatus).done,
            interval=JITTERED,
            timeout="PT1S",
        ).on_timeout(lambda late: late.fail(TooLate))
        flow.poll_until(
            nudge_job,
            until=lambda ctx: ctx.get(JobStatus).done,
            interval=JITTERED,
            timeout="PT1H",
        ).on_timeout(lambda late: late.fail(TooLate))
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))
'''


def program_of(text: str = FLOWS) -> Program:
    """The program of one file of flows."""
    files = [SourceFile("shop", "shop.py", shop().encode()), SourceFile("flows", "flows.py", text.encode())]
    return link(Sources.of(files))


def report_of(text: str = FLOWS) -> Report:
    """What is said of it."""
    program = program_of(text)
    return report(program, judge(program))
