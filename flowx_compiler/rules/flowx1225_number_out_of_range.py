"""A concurrency that is no number from 1 to 64.

What it detects: `max_concurrency` that is not a literal whole number in range.

Why it matters: Zero runs nothing; thousands of calls at once are a denial of service on the one who
answers them.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1225", "number-out-of-range", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.for_each(lambda ctx: ctx.input.lines, lambda line: line.step(reserve_line), max_concurrency=0)  # <-",
    ),
)

VALID = (
    Example(
        "flow.for_each(lambda ctx: ctx.input.lines, lambda line: line.step(reserve_line), max_concurrency=4)",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
