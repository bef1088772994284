"""A wait of no time, or less.

What it detects: a duration, budget or deadline that folds to zero or a negative value.

Why it matters: It reads like a wait and is none.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1223", "duration-not-positive", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.delay("PT0S")  # <-
""",
    ),
)

VALID = (
    Example(
        """\
flow.delay("PT1S")
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
