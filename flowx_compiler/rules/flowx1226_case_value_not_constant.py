"""A case value that is not a constant.

What it detects: a `case` value that is neither a literal nor a member of an enum (floats and tuples
are refused: comparing them surprises).

Why it matters: The value is compared with what the selector gives when the flow runs; an expression
would be evaluated in another process than the reader thinks of.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1226", "case-value-not-constant", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.switch(lambda ctx: ctx.input.total).case(1.5, lambda b: b.step(open_review))  # <-",
    ),
    Example(
        "flow.switch(lambda ctx: ctx.input.channel).case(Channel.ONLINE, lambda b: b.step(open_review))  # <-",
    ),
)

VALID = (
    Example(
        "flow.switch(lambda ctx: ctx.input.total).case(1, lambda b: b.step(open_review))",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
