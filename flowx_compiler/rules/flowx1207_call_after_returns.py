"""A call after the flow has ended.

What it detects: a construct after `returns`.

Why it matters: It would never run.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1207", "call-after-returns", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))
flow.step(open_review)  # <-
""",
        returns=False,
    ),
)

VALID = (
    Example(
        "flow.step(open_review)",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
