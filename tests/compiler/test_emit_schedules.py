"""A flow's schedules are in its plan, and change nothing for the instances that run."""

from __future__ import annotations

from datetime import timedelta

from flowx_runtime.authoring.vocabulary import MissedFire
from flowx_runtime.plan import Schedule
from tests.compiler.small_plans import imported, model_of

FLOW = """\
from datetime import timedelta

from flowx_runtime import (
    Contract, Flow, FlowBuilder, Internal, MissedFire, Profile, ScheduledFire, StepContext, capability, cron_trigger,
    flow,
)


class Schedule(Contract):
    text: str


@capability("small.step", version="1.0.0", authorization=Internal(), idempotent=True)
async def step(request: ScheduledFire, ctx: StepContext) -> Schedule:
    return Schedule(text=request.cron)


@flow("small.flow", version="1.0.0", profile=Profile.DURABLE)
TRIGGERS
class Small(Flow[ScheduledFire, Schedule]):
    def define(self, flow: FlowBuilder[ScheduledFire, Schedule]) -> None:
        flow.step(step)
        flow.returns(lambda ctx: ctx.get(Schedule))
"""
TRIGGERS = """\
@cron_trigger("0 2 * * *", time_zone="Europe/Berlin", missed_fire=MissedFire.RUN_ALL, jitter=timedelta(minutes=2))
@cron_trigger("*/5  * * * mon", jitter="PT30S")
"""


def test_a_plan_says_when_its_flow_starts_in_the_author_s_own_words() -> None:
    with imported(FLOW.replace("TRIGGERS\n", TRIGGERS)) as module:
        plan = module["PLAN"]
    assert plan.schedules == (
        Schedule(
            cron="0 2 * * *",
            time_zone="Europe/Berlin",
            missed_fire=MissedFire.RUN_ALL,
            jitter=timedelta(minutes=2),
        ),
        Schedule(cron="*/5  * * * mon", time_zone="UTC", jitter=timedelta(seconds=30)),
    )


def test_an_instance_goes_on_when_the_schedule_of_its_flow_has_changed() -> None:
    without, with_schedules = model_of(FLOW.replace("TRIGGERS\n", "")), model_of(FLOW.replace("TRIGGERS\n", TRIGGERS))
    assert without.digest == with_schedules.digest
