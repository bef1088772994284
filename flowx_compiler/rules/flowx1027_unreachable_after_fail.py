"""Steps after the end of a block.

What it detects: a call after `fail` in one block.

Why it matters: They are not compiled, and look as if they were.

When to suppress: Never needed: take them away.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.constructs import sequences
from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1027", "unreachable-after-fail", WARNING)

INVALID = (
    Example(
        """\
flow.when(
    lambda ctx: ctx.input.express,
    lambda b: b.fail(OutOfStock).step(open_review),  # <-
)
""",
    ),
)

VALID = (
    Example(
        "flow.when(lambda ctx: ctx.input.express, lambda b: b.step(open_review).fail(OutOfStock))",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """The first unreachable call of every block."""
    for flow in program.flows.values():
        for block in sequences(flow.body):
            if block.unreachable:
                count = len(block.unreachable)
                yield RULE.finding(
                    block.unreachable[0],
                    f"after `fail` in this block, {count} call{' is' if count == 1 else 's are'} never reached",
                    label="not compiled",
                    help="move it before `fail`, or take it away",
                )
