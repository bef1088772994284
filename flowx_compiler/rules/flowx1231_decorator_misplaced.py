"""A declaration that is made twice.

What it detects: `@capability` or `@flow` twice on one class or function, or `@flow` not called.

Why it matters: Which of the two identities it has would be a guess.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1231", "decorator-misplaced", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order)",
        module="""\
@capability("a.b", version="1.0.0", authorization=Internal())
@capability("a.c", version="1.0.0", authorization=Internal())  # <-
async def twice(request: PlaceOrder, ctx: StepContext) -> ManualReview:
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
