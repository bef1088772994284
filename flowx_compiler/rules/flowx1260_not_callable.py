"""A value where a function of the context is meant.

What it detects: a predicate, selector, map or projection that is not a lambda or function.

Why it matters: It would be evaluated once, when the module is imported, and be the same for every
run.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1260", "not-callable", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.when(True, lambda b: b.step(open_review))  # <-",
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
