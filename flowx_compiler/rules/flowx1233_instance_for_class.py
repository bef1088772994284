"""A call where a name is meant.

What it detects: a capability, contract, signal, event, flow or error given as a call or another
expression.

Why it matters: The plan imports it by name.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1233", "instance-for-class", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order())  # <-",
    ),
    Example(
        """\
flow.when(lambda ctx: ctx.input.express, lambda b: b.fail(OutOfStock("x")))  # <-
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
