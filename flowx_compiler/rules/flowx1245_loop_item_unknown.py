"""A loop over something without a known element type.

What it detects: a `for_each` selector whose element type annotations do not tell, or that gives a
generator, set, view or other thing that is no materialised sequence.

Why it matters: The body's steps bind the element by its type, and the sequence is counted once.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1245", "loop-item-unknown", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.for_each(lambda ctx: (line for line in ctx.input.lines), lambda line: line.step(reserve_line))  # <-",
    ),
)

VALID = (
    Example(
        "flow.for_each(lambda ctx: ctx.input.lines, lambda line: line.step(reserve_line))",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
