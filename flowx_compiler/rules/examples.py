"""Turns a rule's examples into source files: for its tests, and for its page."""

from __future__ import annotations

from functools import cache
from textwrap import indent

from flowx_compiler.rules.rule import Example
from flowx_compiler.source_file import SourceFile

MARK = "# <-"
_IMPORTS = """\
from typing import Final

from flowx_runtime import Backoff, Contract, Flow, FlowBuilder, FlowContext, Internal, Merge, Profile, StepContext
from flowx_runtime import capability, flow
from shop import Capture, Channel, JITTERED, JobFinished, JobStatus, Line, OrderPlaced, OrderResult, OutOfStock
from shop import PaymentConfirmed, PlaceOrder, ManualReview, Reservation, SAFE_RETRY, STEADY, Shipment, TooLate
from shop import capture_payment, close_review, confirm_job, job_status, nudge_job, open_review, refund_payment
from shop import release_inventory, release_line, reserve_inventory, reserve_line, ship_parcel, start_job
from shop import validate_order
"""


@cache
def shop() -> str:
    """The declarations that examples are written over."""
    from importlib.resources import files

    return files("flowx_compiler.rules").joinpath("example_shop.py.txt").read_text("utf-8")


def example_text(example: Example) -> str:
    """The flow module of an example."""
    define = example.define.rstrip("\n")
    if example.returns:
        define += "\nflow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))"
    body = f"    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:\n{indent(define, '        ')}\n"
    module = f"\n{example.module}" if example.module else ""
    return f"{_IMPORTS}{module}\n\n{example.decorator}\n{example.header}\n{body}"


def before(example: Example) -> Example:
    """The example as it was before, for a rule that compares with that."""
    module = example.module if example.module_before is None else example.module_before
    return Example(example.before or example.define, module=module, returns=example.returns)


def example_files(example: Example) -> tuple[SourceFile, ...]:
    """The example and the declarations it imports."""
    return (
        SourceFile("shop", "shop.py", shop().encode()),
        SourceFile("example", "example.py", example_text(example).encode()),
    )


def marked_lines(example: Example) -> list[int]:
    """The lines of the example's module on which its rule must fire."""
    return [number for number, line in enumerate(example_text(example).splitlines(), 1) if line.endswith(MARK)]
