"""A block that builds on the builder around it.

What it detects: a chain inside a block that starts at an outer builder parameter.

Why it matters: The step would belong to the flow's main line and run whether or not the block does.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1210", "wrong-builder", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.when(lambda ctx: ctx.input.express, lambda b: flow.step(open_review))  # <-",
    ),
)

VALID = (
    Example(
        "flow.when(lambda ctx: ctx.input.express, lambda b: b.step(open_review))",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
