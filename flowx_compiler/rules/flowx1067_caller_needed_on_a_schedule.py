"""A capability that needs a caller, in a flow that only a schedule starts.

What it detects: a step, poll or undo with `Authenticated()` or `Permission(…)` in a flow all of
whose triggers are schedules.

Why it matters: A schedule has no caller, so the step refuses every run.

What it cannot prove: that the flow is also started by code, with a principal.

When to suppress: Code starts the flow on behalf of a person, and the schedule is the exception.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.reach import references
from flowx_compiler.findings import Finding, Related
from flowx_compiler.model import CronTrigger, Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1067", "caller-needed-on-a-schedule", WARNING)

INVALID = (
    Example(
        """\
flow.step(nightly)  # <-
flow.returns(lambda ctx: ctx.get(ManualReview))
""",
        module="""\
from flowx_runtime import Authenticated, ScheduledFire, cron_trigger


@capability("example.nightly", version="1.0.0", authorization=Authenticated(), idempotent=True)
async def nightly(request: ScheduledFire, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket=request.cron)
""",
        header="class Example(Flow[ScheduledFire, ManualReview]):",
        returns=False,
        decorator="""\
@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
@cron_trigger("0 3 * * *")
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
from flowx_runtime import Authenticated, ScheduledFire, cron_trigger


@capability("example.nightly", version="1.0.0", authorization=Internal(), idempotent=True)
async def nightly(request: ScheduledFire, ctx: StepContext) -> ManualReview:
    return ManualReview(ticket=request.cron)
""",
        header="class Example(Flow[ScheduledFire, ManualReview]):",
        returns=False,
        decorator="""\
@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
@cron_trigger("0 3 * * *")
""",
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every such capability of a flow that has schedules and no other trigger."""
    for flow in program.flows.values():
        if not flow.triggers or not all(isinstance(trigger, CronTrigger) for trigger in flow.triggers):
            continue
        for reference in references(flow):
            stance = reference.capability.stance
            if stance is not None and stance.kind in ("authenticated", "permission"):
                yield RULE.finding(
                    reference.place,
                    f"{reference.capability.id!r} needs a caller, and only a schedule starts {flow.id!r}",
                    label="refuses every run",
                    help="use a capability with `Internal()`, or give the flow a trigger that has a caller",
                    related=(Related(stance.place, "its stance"), Related(flow.triggers[0].place, "the schedule")),
                )
