"""A sub-flow that is no flow.

What it detects: `sub_flow` given a class without `@flow`.

Why it matters: A child is an instance of a compiled plan of its own.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1026", "sub-flow-of-no-flow", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.sub_flow(Shipment, lambda ctx: ctx.input)  # <-",
    ),
)

VALID = (
    Example(
        "flow.sub_flow(Child, lambda ctx: ctx.input)",
        module="""\
@flow("example.child", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class Child(Flow[PlaceOrder, None]):
    def define(self, flow: FlowBuilder[PlaceOrder, None]) -> None:
        flow.step(open_review)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
