"""A jitter that is not a positive duration.

What it detects: `jitter=` of `@cron_trigger` that is not ISO-8601 text or a `timedelta`, or is not
more than zero.

Why it matters: The host would refuse to start over a value that is visible here; and a jitter of
zero looks set and spreads nothing.

When to suppress: Never: write a duration, or leave it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from flowx_compiler.findings import Finding
from flowx_compiler.model import CronTrigger, Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_runtime.plan import InvalidDuration, parse_duration

RULE = Rule("FLOWX1045", "schedule-jitter-not-a-duration", ERROR)

INVALID = (
    Example(
        """\
flow.step(nightly)
flow.returns(lambda ctx: ctx.get(ManualReview))
""",
        module="""\
from flowx_runtime import ScheduledFire, cron_trigger


@capability("example.nightly", version="1.0.0", authorization=Internal(), idempotent=True)
async def nightly(request: ScheduledFire, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket=request.cron)
""",
        decorator="""\
@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
@cron_trigger("0 3 * * *", jitter="120s")  # <-
""",
        header="class Example(Flow[ScheduledFire, ManualReview]):",
        returns=False,
    ),
)

VALID = (
    Example(
        """\
flow.step(nightly)
flow.returns(lambda ctx: ctx.get(ManualReview))
""",
        module="""\
from flowx_runtime import ScheduledFire, cron_trigger


@capability("example.nightly", version="1.0.0", authorization=Internal(), idempotent=True)
async def nightly(request: ScheduledFire, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket=request.cron)
""",
        decorator="""\
@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
@cron_trigger("0 3 * * *", jitter="PT2M")
""",
        header="class Example(Flow[ScheduledFire, ManualReview]):",
        returns=False,
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every jitter that says nothing, or nothing that can be read."""
    for flow in program.flows.values():
        for trigger in flow.triggers:
            if isinstance(trigger, CronTrigger) and trigger.jitter is not None:
                why = _why_not(trigger.jitter)
                if why is not None:
                    yield RULE.finding(
                        trigger.place,
                        f"the jitter of {flow.id!r} is {trigger.jitter!r}, which {why}",
                        label="spreads nothing",
                        help="write ISO-8601 text such as 'PT2M', or leave it out",
                    )


def _why_not(text: str) -> str | None:
    try:
        return None if parse_duration(text) > timedelta(0) else "is no time at all"
    except InvalidDuration:
        return "is not an ISO-8601 duration"
