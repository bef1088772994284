"""A name that nothing binds.

What it detects: a name in a definition that is not module-level, imported or built in.

Why it matters: The plan would not import.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1275", "unresolved-name", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(valdate_order)  # <-",
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
