"""An expression that is longer or deeper than the parser takes.

What it detects: more than six hundred calls in one chain, or brackets nested deeper than any hand
writes.

Why it matters: The parser would end the whole process.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1282", "expression-too-long", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order)",
        module=f"DEEP = {'(' * 200}1{')' * 200}  # <-\n",
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
