"""A block argument that is no block.

What it detects: an argument of `when`, `otherwise`, `case`, `default`, `parallel`, `for_each` or
`on_timeout` that is neither a lambda nor a function of exactly one builder parameter; and a block
that contains itself.

Why it matters: The compiler reads a block's calls; from a value it can read none.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1209", "not-a-block", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.when(lambda ctx: ctx.input.express, open_review)  # <-",
    ),
    Example(
        "flow.when(lambda ctx: ctx.input.express, lambda: None)  # <-",
    ),
)

VALID = (
    Example(
        "flow.when(lambda ctx: ctx.input.express, express)",
        module="""\
def express(b: FlowBuilder[PlaceOrder, OrderResult]) -> None:
    b.step(open_review)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
