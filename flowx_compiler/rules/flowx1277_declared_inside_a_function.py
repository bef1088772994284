"""A flow, capability, event or signal that no other module can name.

What it detects: `@flow`, `@capability`, `@event` or `@signal` on a class or function inside a function or another
class.

Why it matters: The plan imports it by its module and name.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1277", "declared-inside-a-function", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order)",
        module="""\
def make() -> object:
    @capability("a.b", version="1.0.0", authorization=Internal())
    async def inner(request: PlaceOrder, ctx: StepContext) -> ManualReview:  # <-
        return ManualReview(ticket="")

    return inner
""",
    ),
    Example(
        "flow.step(validate_order)",
        module="""\
from flowx_runtime import signal


class Signals:
    @signal("review.done")
    class ReviewDone(Contract):  # <-
        ticket: str
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
