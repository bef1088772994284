"""An awaited contract that is no signal.

What it detects: `await_signal` or `or_signal` given a contract without `@signal`.

Why it matters: Senders address a signal by its identity.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1247", "not-a-signal", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.await_signal(Shipment, timeout="P1D")  # <-
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
