"""A flow that does nothing.

What it detects: a definition without a step, wait, emit or other construct.

Why it matters: It can only be a slip: the chain was never written, or written on something else
than the builder.

When to suppress: Never: write the steps, or take the flow away.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1023", "flow-without-steps", ERROR)

INVALID = (
    Example(
        """\
flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))
""",
        returns=False,
        header="class Example(Flow[PlaceOrder, OrderResult]):  # <-",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every sound flow without a construct."""
    for flow in program.flows.values():
        if flow.is_sound and not flow.body.constructs and not flow.body.unreachable:
            yield RULE.finding(
                flow.name_place,
                f"{flow.id!r} has no steps",
                label="nothing to run",
                help="write its chain in `define`: `flow.step(…)`",
            )
