"""A function of other parameters than the context.

What it detects: a predicate, selector, map or projection that does not take exactly one positional
parameter without a default.

Why it matters: The engine gives it the context and nothing else.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1261", "context-parameter", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.when(lambda: True, lambda b: b.step(open_review))  # <-",
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
