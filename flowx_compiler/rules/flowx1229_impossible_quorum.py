"""A quorum that can never be met.

What it detects: `Merge.quorum(n)` with n below 1 or above the number of branches.

Why it matters: Every run would fail at the join, after the branches had their effects.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1229", "impossible-quorum", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.parallel(open_review, start_job, merge=Merge.quorum(3))  # <-",
    ),
)

VALID = (
    Example(
        "flow.parallel(open_review, start_job, merge=Merge.quorum(1))",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
