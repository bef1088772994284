"""A step that names something else than a capability.

What it detects: `step`, `compensate_with`, `poll_until` or a branch given a class or function
without `@capability`.

Why it matters: Without the declaration nothing says who may run it, whether it may be repeated, or
what it changes outside.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1002", "not-a-capability", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(plain)  # <-",
        module="""\
async def plain(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket="")
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
