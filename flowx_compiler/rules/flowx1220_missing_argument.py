"""A required argument is missing.

What it detects: a builder call or decorator without one of its required arguments.

Why it matters: No duration, policy or authorization is ever invented: a default for a wait is a
decision that nobody made.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1220", "missing-argument", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.await_signal(PaymentConfirmed)  # <-",
    ),
    Example(
        """\
flow.step(start_job)
flow.delay()  # <-
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
