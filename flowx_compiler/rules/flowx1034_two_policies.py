"""Two policy sets on one step.

What it detects: a second `with_policy` on one step.

Why it matters: Their order would decide, and policies nest by kind, never by order.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1034", "two-policies", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(open_review).with_policy(SAFE_RETRY).with_policy(SAFE_RETRY)  # <-",
    ),
)

VALID = (
    Example(
        "flow.step(open_review).with_policy(SAFE_RETRY)",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
