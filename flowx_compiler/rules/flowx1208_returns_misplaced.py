"""A projection in a block, or none where an output is promised.

What it detects: `returns` or `emit_on_failure` inside a block, and a flow with an output and no
`returns`.

Why it matters: A caller of the flow would be given nothing where the contract promises something.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1208", "returns-misplaced", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.when(lambda ctx: ctx.input.express, lambda b: b.returns(lambda ctx: OrderResult(order_id="x")))  # <-
""",
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
