"""A timeout block where nothing waits.

What it detects: `on_timeout` that does not follow `await_signal`, `poll_until` or `or_signal`, or
is the second one of its wait.

Why it matters: A block that nothing enters looks like an escalation in review and is none.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1204", "on-timeout-misplaced", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order).on_timeout(lambda late: late.fail(TooLate))  # <-",
    ),
)

VALID = (
    Example(
        """\
flow.await_signal(PaymentConfirmed, timeout="P7D").on_timeout(lambda late: late.fail(TooLate))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
