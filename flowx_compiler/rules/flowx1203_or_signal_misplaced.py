"""A second ending where a poll takes none.

What it detects: `or_signal` that does not stand directly after `poll_until`, stands after its
`on_timeout`, or is the second one.

Why it matters: A waiting instance is one row with one delivery slot: a second signal would be
delivered and lost.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1203", "or-signal-misplaced", ERROR, is_safety=True)

INVALID = (
    Example(
        "flow.step(validate_order).or_signal(JobFinished)  # <-",
    ),
    Example(
        """\
flow.step(start_job)
(
    flow.poll_until(job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout="PT1H")
    .or_signal(JobFinished)
    .or_signal(PaymentConfirmed)  # <-
)
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(start_job)
(
    flow.poll_until(job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout="PT1H")
    .or_signal(JobFinished)
    .on_timeout(lambda late: late.fail(TooLate))
)
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
