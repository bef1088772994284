"""An interval that is not a backoff.

What it detects: `interval` of `poll_until` that is not a `Backoff`.

Why it matters: One fixed number says nothing about growth, ceiling and jitter, and all three decide
what the provider feels.

When to suppress: Never: what the compiler cannot read would be missing from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1224", "not-a-backoff", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(start_job)
flow.poll_until(
    job_status,
    until=lambda ctx: ctx.get(JobStatus).done,
    interval="PT5S",  # <-
    timeout="PT1H",
)
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(start_job)
flow.poll_until(
    job_status,
    until=lambda ctx: ctx.get(JobStatus).done,
    interval=JITTERED,
    timeout="PT1H",
).on_timeout(lambda late: late.fail(TooLate))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Linking has judged it."""
    yield from RULE.problems(program)
