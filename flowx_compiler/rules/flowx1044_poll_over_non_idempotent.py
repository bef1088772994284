"""A poll that repeats something that must not be repeated.

What it detects: `poll_until` given a capability that does not declare `idempotent=True`, in any
block.

Why it matters: "Not yet" is a success: a healthy poll calls the capability again and again with the
same request and key until the budget ends. An effect would happen once per attempt.

What it cannot prove: whether a declaration of idempotence is true.

When to suppress: Never. Declaring it just to pass is the same mistake in another place: split the
effect from the question.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1044", "poll-over-non-idempotent", ERROR, is_safety=True)

INVALID = (
    Example(
        """\
flow.step(start_job)
flow.poll_until(
    nudge_job,  # <-
    until=lambda ctx: ctx.get(JobStatus).done,
    interval=JITTERED,
    timeout="PT1H",
).on_timeout(lambda late: late.fail(TooLate))
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
    """Every poll whose capability is not idempotent."""
    for flow in program.flows.values():
        for construct in constructs(flow.body):
            if isinstance(construct, model.Poll) and not construct.capability.capability.idempotent:
                capability = construct.capability.capability
                yield RULE.finding(
                    construct.capability.place,
                    f"`poll_until` repeats {capability.id!r}, which is not idempotent",
                    label='called again after every "not yet"',
                    help="split the effect from the question: start the work in a step, poll a read",
                    related=(Related(capability.place, "declared here without idempotent=True"),),
                )
