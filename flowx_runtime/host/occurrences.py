"""Starts instances for the occurrences of schedules, on one host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID

from flowx_runtime.authoring.triggers import ScheduledFire
from flowx_runtime.engine.clock import Clock
from flowx_runtime.engine.documents import Documents
from flowx_runtime.engine.unbegun import leave_unbegun
from flowx_runtime.host.errors import InputMismatch
from flowx_runtime.host.plans import Plans
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import Claimed, NewInstance
from flowx_runtime.journal.schedules import PlannedFire, ScheduleRow
from flowx_runtime.scheduler.cron.decisions import Scheduled
from flowx_runtime.scheduler.sweeps import Sweeps


def scheduled_in(plans: Plans) -> Iterator[Scheduled]:
    """The schedules of a host: those of the current version of each flow, each checked.

    Raises:
        FlowxError: an expression, a time zone or a flow's input is not what a schedule needs.
    """
    for plan in plans.all_current:
        for schedule in plan.schedules:
            if plan.input is not ScheduledFire:
                raise InputMismatch(
                    f"the schedule {schedule.cron!r} of {plan.flow_id!r} gives a `ScheduledFire`, and the flow takes a "
                    f"`{plan.input.__name__}`: make `ScheduledFire` its input, or take the schedule away"
                )
            yield Scheduled.of(plan.flow_id, plan.version, schedule)


class OccurrenceStarts:
    """Creates the instance of an occurrence and hands it to the sweeps to go on with."""

    def __init__(
        self,
        plans: Plans,
        journal: Journal,
        sweeps: Sweeps,
        documents: Documents,
        *,
        clock: Clock,
        owner: str,
        lease_ttl: timedelta,
        is_open: Callable[[], bool],
    ) -> None:
        self._plans = plans
        self._journal = journal
        self._sweeps = sweeps
        self._documents = documents
        self._clock = clock
        self._owner = owner
        self._lease_ttl = lease_ttl
        self._is_open = is_open

    def has(self, flow_id: str, version: str) -> bool:
        """Whether the host has the plan, and takes work."""
        return self._is_open() and self._plans.find(flow_id, version) is not None

    async def start(self, row: ScheduleRow, fire: PlannedFire, instance_id: UUID) -> bool:
        """Create the instance and begin to go on with it; says whether there was none before."""
        plan = self._plans.exactly(row.flow_id, fire.flow_version)
        occurrence = ScheduledFire(occurrence_at=fire.occurrence_at, cron=row.cron, time_zone=row.time_zone)
        await self._sweeps.room()
        now = self._clock.now()
        started = await self._journal.start(
            NewInstance(
                instance_id=instance_id,
                flow_id=plan.flow_id,
                flow_version=plan.version,
                plan_digest=plan.digest,
                input=self._documents.stored(plan.input, occurrence, instance_id),
                deadline_at=None if plan.deadline is None else now + plan.deadline,
            ),
            owner=self._owner,
            ttl=self._lease_ttl,
        )
        if started.lease is None:
            return False
        if started.is_paused:
            await leave_unbegun(self._journal, started.lease)
            return True
        self._sweeps.begin(Claimed(started.lease, started.history))
        return True

    async def come_to_rest(self) -> None:
        """Wait for what was begun."""
        await self._sweeps.come_to_rest()
