"""A definition of another shape.

What it detects: a flow without `define`, or one that is async, decorated, or takes other parameters
than the builder.

Why it matters: The compiler reads that method, and reads it as it stands.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1244", "define-shape", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order)",
        header="""\
class Broken(Flow[PlaceOrder, OrderResult]):
    async def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:  # <-
        flow.step(open_review)


@flow("example.other", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
class Example(Flow[PlaceOrder, OrderResult]):
""",
    ),
)

VALID = (
    Example(
        "flow.step(validate_order)",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
