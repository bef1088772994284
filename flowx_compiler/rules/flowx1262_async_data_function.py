"""An asynchronous predicate, selector or map.

What it detects: a data function that is `async def`.

Why it matters: Its answer is a coroutine, which is always true: the poll would end at once, the
branch always be taken.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1262", "async-data-function", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.when(slow, lambda b: b.step(open_review))",
        module="""\
async def slow(ctx: FlowContext[PlaceOrder]) -> bool:  # <-
    return True
""",
    ),
)

VALID = (
    Example(
        "flow.when(quick, lambda b: b.step(open_review))",
        module="""\
def quick(ctx: FlowContext[PlaceOrder]) -> bool:
    return ctx.input.express
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
