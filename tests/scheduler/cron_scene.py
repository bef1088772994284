"""A nightly flow in hand-written plans, hosts that share a journal and a clock, and what they fired."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from flowx_runtime import FlowHost, MemoryJournal, MissedFire, Profile, ScheduledFire, StepContext, capability
from flowx_runtime.authoring.authorization import Internal
from flowx_runtime.authoring.contracts import Contract
from flowx_runtime.journal.records import Filter
from flowx_runtime.journal.schedules import ScheduleRow
from flowx_runtime.plan import FORMAT, CapabilityUse, Plan, Schedule, Step

FLOW = "offer.window.close"


class Closed(Contract):
    at: datetime


@capability("offer.window.close_all", version="1.0.0", authorization=Internal(), idempotent=True)
async def close_all(request: ScheduledFire, ctx: StepContext) -> Closed:
    return Closed(at=request.occurrence_at)


CLOSE_ALL = CapabilityUse(
    target=close_all,
    id="offer.window.close_all",
    version="1.0.0",
    request=ScheduledFire,
    result=Closed,
    idempotent=True,
)


def schedule(cron: str = "* * * * *", time_zone: str = "UTC", **terms: Any) -> Schedule:
    return Schedule(cron=cron, time_zone=time_zone, **terms)


def flow(*schedules: Schedule, version: str = "1.0.0", flow_id: str = FLOW, **changes: Any) -> Plan[Any, Any]:
    made: Plan[Any, Any] = Plan(
        format=FORMAT,
        flow_id=flow_id,
        version=version,
        digest=f"{flow_id} {version}",
        profile=Profile.DURABLE,
        input=ScheduledFire,
        output=None,
        nodes=(Step(0, "offer.window.close_all", CLOSE_ALL),),
        schedules=schedules,
    )
    return replace(made, **changes)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class JumpingClock:
    """Stands where it was put."""

    def __init__(self, text: str = "2026-08-01T16:23:30") -> None:
        self.instant = utc(text)

    def now(self) -> datetime:
        return self.instant

    def at(self, text: str) -> None:
        self.instant = utc(text)

    def advance(self, **by: float) -> None:
        self.instant += timedelta(**by)


class Scene:
    """The journal and the clock outlive every host."""

    def __init__(self, *plans: Plan[Any, Any], at: str = "2026-08-01T16:23:30", journal: Any = None) -> None:
        self.clock = JumpingClock(at)
        self.journal = journal or MemoryJournal(self.clock.now)
        self.plans = plans

    def node(self, *plans: Plan[Any, Any], **settings: Any) -> FlowHost:
        """Another process, which sweeps when it is told to."""
        given: dict[str, Any] = {"journal": self.journal, "clock": self.clock, "sweep_interval": None}
        return FlowHost(plans or self.plans, **(given | settings))

    async def fired(self, flow_id: str = FLOW) -> list[str]:
        """The occurrences that have an instance, as `08-01 16:24`; with the version where it is not 1.0.0."""
        rows = await self.journal.find(Filter(flow_id=flow_id, limit=100_000))
        found = []
        for row in rows:
            fire = ScheduledFire.model_validate_json(row.input)
            version = "" if row.flow_version == "1.0.0" else f" {row.flow_version}"
            found.append(f"{fire.occurrence_at.astimezone(UTC):%m-%d %H:%M}{version}")
        return sorted(found)

    async def row(self) -> ScheduleRow:
        (row,) = await self.journal.schedules([FLOW])
        return row


async def register(*hosts: FlowHost) -> None:
    """Start hosts whose loops do not run."""
    for host in hosts:
        await host.__aenter__()


ALL = MissedFire.RUN_ALL
ONCE = MissedFire.RUN_ONCE
SKIP = MissedFire.SKIP


def minutes(hour: int, numbers: Iterable[int], day: str = "08-01") -> list[str]:
    return [f"{day} {hour:02}:{number:02}" for number in numbers]
