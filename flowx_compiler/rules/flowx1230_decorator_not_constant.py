"""A declaration whose words are computed.

What it detects: an argument of `@flow`, `@capability`, `@event`, `@signal` or a trigger that is not
a literal or a module-level constant, or the decorator not called.

Why it matters: Identity and safety are published in a contract that is made without running the
code.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1230", "decorator-not-constant", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order)",
        module="""\
import os


@capability(os.environ["NAME"], version="1.0.0", authorization=Internal())  # <-
async def dynamic(request: PlaceOrder, ctx: StepContext) -> ManualReview:
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
