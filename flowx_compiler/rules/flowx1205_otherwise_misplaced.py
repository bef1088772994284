"""An `otherwise` without its `when`.

What it detects: `otherwise` that does not stand directly after `when`, or is the second one.

Why it matters: The block would run always or never, and the source says neither.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1205", "otherwise-misplaced", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order).otherwise(lambda b: b.step(open_review))  # <-",
    ),
)

VALID = (
    Example(
        "flow.when(lambda ctx: True, lambda b: b.step(open_review)).otherwise(lambda b: b.step(start_job))",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
