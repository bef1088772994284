"""A step's name that is not written in place.

What it detects: `.named(…)` given anything but a non-empty text literal.

Why it matters: The name is an identity that upgrades and operators use.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1234", "label-not-literal", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(validate_order).named("")  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(validate_order).named("check")
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
