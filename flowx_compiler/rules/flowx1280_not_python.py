"""A file that is not Python.

What it detects: a syntax error in a file that mentions flowx.

Why it matters: Nothing in it can be checked. The other files are.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1280", "not-python", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order)",
        module="""\
def broken(:  # <-
    pass
""",
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
