"""A result that is no contract.

What it detects: a capability whose result is not annotated, or is neither one contract nor `None`.

Why it matters: Later steps bind it by its type, and a resumed run reads it back.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1242", "result-not-a-contract", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order)",
        module="""\
@capability("a.b", version="1.0.0", authorization=Internal())
async def loose(request: PlaceOrder, ctx: StepContext):  # <-
    return None
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
