"""A scheduled flow that no schedule can start.

What it detects: `@cron_trigger` on a flow whose input is not `ScheduledFire`, or that is not
durable.

Why it matters: A firing has nothing to give but its occurrence. And every node sees the same
occurrence: only the journal's key decides which one runs it; without a journal all of them do.

When to suppress: Never: the trigger would not be registered.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import CronTrigger, Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1038", "schedule-cannot-fire", ERROR)

INVALID = (
    Example(
        """\
flow.step(open_review)
""",
        module="from flowx_runtime import cron_trigger",
        decorator="""\
@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
@cron_trigger("0 3 * * *")  # <-
""",
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
@cron_trigger("0 3 * * *")
""",
        header="class Example(Flow[ScheduledFire, ManualReview]):",
        returns=False,
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every schedule on a flow that it cannot start; the first reason is the one reported."""
    for flow in program.flows.values():
        for trigger in flow.triggers:
            if not isinstance(trigger, CronTrigger):
                continue
            if flow.input.name != "flowx_runtime.ScheduledFire":
                yield RULE.finding(
                    trigger.place,
                    f"a schedule gives a `ScheduledFire`, and {flow.id!r} takes {flow.input}",
                    label="has nothing else to give",
                    help="make the input `ScheduledFire`, and read everything else in steps",
                )
            elif not flow.is_durable:
                yield RULE.finding(
                    trigger.place,
                    f"{flow.id!r} keeps no journal, so every node would run every occurrence",
                    label="nothing decides who runs it",
                    help="add `profile=Profile.DURABLE` to `@flow`",
                )
