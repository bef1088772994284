"""A capability that does not say who may run it.

What it detects: `@capability` without `authorization=`, or with a value that is not one of
`Public(…)`, `Authenticated()`, `Permission("…")` and `Internal()` written out.

Why it matters: The stance belongs to the business operation, so that it holds behind every trigger.
There is no permissive default.

When to suppress: Never: `Internal()` says that only flows reach it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1010", "no-authorization", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(open_door)
""",
        module="""\
@capability("example.open", version="1.0.0", idempotent=True)  # <-
async def open_door(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_door)
""",
        module="""\
@capability("example.open", version="1.0.0", authorization=Internal(), idempotent=True)
async def open_door(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket="t")
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every capability without a stance that can be read, composed or not."""
    for capability in program.capabilities.values():
        if capability.stance is None:
            yield RULE.finding(
                capability.place,
                f"capability {capability.id!r} does not say who may run it",
                label="no `authorization` that can be read",
                help="add `authorization=Authenticated()`, `Permission(…)`, `Internal()` or `Public(approved_by=…)`",
            )
