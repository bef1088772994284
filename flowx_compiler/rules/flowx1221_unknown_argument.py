"""An argument that the call does not have.

What it detects: an unknown or repeated keyword, a positional argument too many, a keyword-only
argument given by position.

Why it matters: A misspelt option is an option that is not set.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1221", "unknown-argument", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.await_signal(PaymentConfirmed, time_out="P7D", timeout="P7D")  # <-
""",
    ),
    Example(
        """\
flow.await_signal(PaymentConfirmed, "P7D")  # <-
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
