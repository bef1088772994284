"""A capability with more than one request or result.

What it detects: a request or result annotated with a union of contracts, and a capability class
with two `execute` methods.

Why it matters: The bag holds one value per contract. With two, no reader of a flow can tell which
step binds what, and neither can the compiler.

When to suppress: Never: make one capability per operation.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_compiler.syntax import Function

RULE = Rule("FLOWX1015", "two-contracts", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(open_review)
""",
        module="""\
@capability("example.either", version="1.0.0", authorization=Internal(), idempotent=True)
async def either(
    request: PlaceOrder | JobFinished,  # <-
    ctx: StepContext,
) -> ManualReview:
    return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged the annotations; a second `execute` is seen here."""
    yield from RULE.problems(program)
    for capability in program.capabilities.values():
        if capability.owner is None:
            continue
        executes = [
            statement
            for statement in capability.owner.body
            if isinstance(statement, Function) and statement.name == "execute"
        ]
        if len(executes) > 1:
            yield RULE.finding(
                Place(program.modules[capability.module].file, executes[-1].name_span),
                f"capability {capability.id!r} has {len(executes)} `execute` methods",
                label="only one can be called",
                help="make one capability per operation",
            )
