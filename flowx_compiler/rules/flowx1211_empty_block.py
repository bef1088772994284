"""A block without a call.

What it detects: a block function whose body is empty.

Why it matters: It may be a forgotten step.

When to suppress: A placeholder that a later change fills, with that said as the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1211", "empty-block", WARNING)

INVALID = (
    Example(
        """\
flow.step(open_review)
flow.when(lambda ctx: ctx.input.express, nothing)  # <-
""",
        module="""\
def nothing(b: FlowBuilder[PlaceOrder, OrderResult]) -> None:
    pass
""",
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
