"""A capability of another shape.

What it detects: a capability class without `execute`, an `execute` or function that does not take
exactly a request and a context, is decorated, or is a generator.

Why it matters: The engine calls it with exactly those two.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1240", "capability-shape", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order)",
        module="""\
@capability("a.b", version="1.0.0", authorization=Internal())
async def lonely(request: PlaceOrder) -> ManualReview:  # <-
    return ManualReview(ticket="")
""",
    ),
    Example(
        "flow.step(validate_order)",
        module="""\
@capability("a.b", version="1.0.0", authorization=Internal())
class Nothing:  # <-
    pass
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
