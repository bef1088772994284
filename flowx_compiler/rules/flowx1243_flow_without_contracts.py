"""A flow that does not say what goes in and out.

What it detects: a flow class that does not derive from `Flow[Input, Output]` with two contracts
(the output may be `None`).

Why it matters: They are the flow's published contract.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1243", "flow-without-contracts", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order)",
        header="class Example(Flow):  # <-",
        returns=False,
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
