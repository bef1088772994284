"""A poll that asks once and then gives up.

What it detects: a poll whose first gap is longer than its budget, both folded, through named
constants.

Why it matters: The first attempt is at once and the second waits the gap, so exactly one is made.
In the rows that looks like a provider that never answered.

What it cannot prove: anything where either side does not fold. With jitter the first gap is an
upper bound, so the finding means "may".

When to suppress: The budget is about to change, and you say when.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule
from flowx_runtime.plan import format_duration

RULE = Rule("FLOWX1043", "gap-longer-than-budget", WARNING)

INVALID = (
    Example(
        """\
flow.step(start_job)
flow.poll_until(
    job_status,
    until=lambda ctx: ctx.get(JobStatus).done,
    interval=SLOW,  # <-
    timeout="PT5M",
).on_timeout(lambda late: late.fail(TooLate))
""",
        module="""\
SLOW: Final = Backoff.exponential_jitter("PT10M", "PT30M")
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
    timeout="PT5S",
).on_timeout(lambda late: late.fail(TooLate))
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every poll whose first gap exceeds its folded budget."""
    for flow in program.flows.values():
        for construct in constructs(flow.body):
            if not isinstance(construct, model.Poll):
                continue
            backoff, budget = construct.interval.folded, construct.timeout.folded
            if backoff is None or budget is None or backoff.base <= budget:
                continue
            up_to = "up to " if backoff.growth == "exponential_jitter" else ""
            declared = construct.interval.value.declared
            yield RULE.finding(
                construct.interval.value.place,
                f"the first gap is {up_to}{format_duration(backoff.base)} and the whole budget "
                f"{format_duration(budget)}: {construct.capability.capability.id!r} is asked once",
                label="longer than the budget",
                help="mend whichever number is wrong; a single deliberate attempt is a step and a `when`",
                related=() if declared is None else (Related(declared, "the schedule is declared here"),),
            )
