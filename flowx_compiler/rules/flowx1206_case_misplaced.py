"""A case outside a switch, or a switch without one.

What it detects: `case` or `default` that does not belong to the chain of a `switch`, a `case` after
the `default`, a second `default`, and a switch without a case.

Why it matters: Which block runs must be readable from the order of the source.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1206", "case-misplaced", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order).case(1, lambda b: b.step(open_review))  # <-",
    ),
    Example(
        "flow.switch(lambda ctx: ctx.input.channel)  # <-",
    ),
)

VALID = (
    Example(
        "flow.switch(lambda ctx: ctx.input.channel).case(Channel.RETAIL, lambda b: b.step(open_review))",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
