"""A `fail` without a business error.

What it detects: `fail` given something that is not a `FlowError` subclass with a code.

Why it matters: The code is what callers, dashboards and the unwind know the ending by.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1232", "fail-without-an-error", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.when(lambda ctx: ctx.input.express, lambda b: b.fail(ValueError))  # <-",
    ),
)

VALID = (
    Example(
        "flow.when(lambda ctx: ctx.input.express, lambda b: b.fail(OutOfStock))",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
