"""An emitted contract that is no event.

What it detects: `emit` or `emit_on_failure` given a contract without `@event`.

Why it matters: An event crosses the border under an identity and a version.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1246", "not-an-event", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.emit(Shipment, lambda ctx: Shipment(tracking="x"))  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review)
flow.emit(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.input.order_id))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
