"""A schedule that no host can read.

What it detects: `@cron_trigger` with an expression that is not five fields of cron, that no date
ever fits, or with a `time_zone` that is not in the tz database.

Why it matters: Every node that has the flow would refuse to start.

What it cannot prove: that the machine it runs on has as recent a tz database as the one that built
it.

When to suppress: Never: correct the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.schedules import is_time_zone, why_unreadable
from flowx_compiler.findings import Finding
from flowx_compiler.model import CronTrigger, Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1058", "schedule-unreadable", ERROR)

_DEFINE = """\
flow.step(nightly)
flow.returns(lambda ctx: ctx.get(ManualReview))
"""
_MODULE = """\
from flowx_runtime import ScheduledFire, cron_trigger


@capability("example.nightly", version="1.0.0", authorization=Internal(), idempotent=True)
async def nightly(request: ScheduledFire, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket=request.cron)
"""
_FLOW = '@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")\n'
_HEADER = "class Example(Flow[ScheduledFire, ManualReview]):"


def _example(trigger: str) -> Example:
    return Example(_DEFINE, module=_MODULE, decorator=f"{_FLOW}{trigger}\n", header=_HEADER, returns=False)


INVALID = (
    _example('@cron_trigger("0 25 * * *")  # <-'),
    _example('@cron_trigger("0 3 * *")  # <-'),
    _example('@cron_trigger("0 3 30 2 *")  # <-'),
    _example('@cron_trigger("0 3 * * *", time_zone="Europe/Belin")  # <-'),
)

VALID = (_example('@cron_trigger("0 3 * * MON-FRI", time_zone="Europe/Berlin")'),)


def check(program: Program) -> Iterator[Finding]:
    """Every schedule with an expression or a zone that means nothing."""
    for flow in program.flows.values():
        for trigger in flow.triggers:
            if isinstance(trigger, CronTrigger):
                yield from _problems(flow.id, trigger)


def _problems(flow_id: str, trigger: CronTrigger) -> Iterator[Finding]:
    why = why_unreadable(trigger.expression)
    if why is not None:
        yield RULE.finding(
            trigger.place,
            f"the schedule {trigger.expression!r} of {flow_id!r} {why}",
            label="cannot be read",
            help="write minute, hour, day of the month, month and day of the week, such as '0 2 * * *'",
        )
    if not is_time_zone(trigger.time_zone):
        yield RULE.finding(
            trigger.place,
            f"the schedule of {flow_id!r} is in the time zone {trigger.time_zone!r}, which does not exist",
            label="no such zone",
            help="write a name of the tz database, such as 'Europe/Berlin'",
        )
