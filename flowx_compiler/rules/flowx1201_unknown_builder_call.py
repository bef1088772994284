"""A call that the builder does not have.

What it detects: a method in a chain of `define` that is no construct: a misspelling, camelCase, a
construct of a later version.

Why it matters: A call that is skipped in silence is a step that never runs, found by whoever waits
for it.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1201", "unknown-builder-call", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(validate_order)
flow.awaitSignal(PaymentConfirmed, timeout="P1D")  # <-
""",
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
