"""A lifted function that reaches for a local of the definition.

What it detects: a predicate, selector, map or projection that uses the builder or a function of
`define`.

Why it matters: It is lifted into the plan module, where those do not exist.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1266", "captured-local", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.when(lambda ctx: flow is not None, lambda b: b.step(open_review))  # <-",
    ),
)

VALID = (
    Example(
        "flow.when(lambda ctx: ctx.input.total > LIMIT, lambda b: b.step(open_review))",
        module="LIMIT = 100",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
