"""What a schedule owes at an instant. Pure: no clock is read and nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, assert_never

from flowx_runtime.authoring.vocabulary import MissedFire
from flowx_runtime.journal.schedules import PlannedFire, ScheduleRow
from flowx_runtime.plan.schedules import Schedule
from flowx_runtime.scheduler.cron.expression import CronExpression, CronUnreadable, TimeZoneUnknown
from flowx_runtime.scheduler.cron.identity import jitter_of, occurrence_id

_MOST_COUNTED: Final = 10_000
"""Lost occurrences are counted up to here; a minute-by-minute schedule has as many in a week."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How a host treats what is late.

    Attributes:
        catch_up: how long after it was due an occurrence may still start; what is older is lost, and reported.
        tolerance: how late an occurrence may be and still count as met on time, not as missed.
        batch: the most occurrences of one schedule to plan at a time.
    """

    catch_up: timedelta = timedelta(days=1)
    tolerance: timedelta = timedelta(seconds=20)
    batch: int = 100


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One schedule of one flow version, ready to be asked. Make it with `of`."""

    flow_id: str
    version: str
    schedule: Schedule
    times: CronExpression

    @classmethod
    def of(cls, flow_id: str, version: str, schedule: Schedule) -> Scheduled:
        """Read a schedule of a flow.

        Raises:
            CronUnreadable: the expression cannot be read, or never fires.
            TimeZoneUnknown: the zone is not in this machine's tz database.
        """
        try:
            return cls(flow_id, version, schedule, CronExpression(schedule.cron, schedule.time_zone))
        except (CronUnreadable, TimeZoneUnknown) as wrong:
            raise type(wrong)(f"{flow_id} {version}: {wrong}") from None

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is stored under. Without the version: a later one goes on where this one stopped."""
        return self.flow_id, self.schedule.cron, self.schedule.time_zone

    def planned(self, occurrence: datetime, first_version: str) -> PlannedFire:
        """The start of one occurrence under this version, after its jitter, whichever version began the schedule."""
        instance_id = occurrence_id(
            self.flow_id, first_version, self.schedule.cron, self.schedule.time_zone, occurrence
        )
        return PlannedFire(occurrence, self.version, occurrence + jitter_of(instance_id, self.schedule.jitter))


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about the occurrences since a schedule was last considered."""

    considered_until: datetime
    """Every occurrence up to here is in this decision or an earlier one."""
    fires: tuple[PlannedFire, ...] = ()
    skipped: int = 0
    """Missed, and not to be fired by the schedule's policy."""
    lost: int = 0
    """Missed by more than the catch-up horizon; counted up to ten thousand."""
    went_back: timedelta = timedelta(0)
    """How far the clock was behind what had been considered, where it was set back."""

    @property
    def is_nothing(self) -> bool:
        """Whether nothing came of it, so that it need not be stored."""
        return not (self.fires or self.skipped or self.lost or self.went_back)


def next_after(scheduled: Scheduled, instant: datetime) -> datetime:
    """The first occurrence after an instant."""
    return next(scheduled.times.after(instant))


def due(scheduled: Scheduled, row: ScheduleRow, now: datetime, terms: Terms) -> Decision:
    """What is owed at `now` of everything that the row has not considered.

    An occurrence is met on time if it is no later than the terms' tolerance, and fires. Of those that were missed,
    `SKIP` fires none, `RUN_ONCE` the newest if nothing on time fires in its place, and `RUN_ALL` all within the
    horizon. A clock that was set back is followed back: what was fired already has its instance, and none fires twice.
    """
    considered_until = row.considered_until
    if considered_until > now + terms.tolerance:
        return Decision(now, went_back=considered_until - now)
    horizon = now - terms.catch_up
    lost = 0
    if considered_until < horizon:
        for _ in scheduled.times.between(considered_until, horizon):
            lost += 1
            if lost == _MOST_COUNTED:
                break
    missed: list[PlannedFire] = []
    on_time: list[PlannedFire] = []
    for occurrence in scheduled.times.between(max(considered_until, horizon), now):
        planned = scheduled.planned(occurrence, row.first_version)
        (missed if planned.release_at < now - terms.tolerance else on_time).append(planned)
    late = _of_the_missed(scheduled.schedule.missed_fire, missed, has_other=bool(on_time))
    fires = sorted([*late, *on_time], key=lambda planned: planned.occurrence_at)
    skipped = len(missed) - len(late)
    if len(fires) <= terms.batch:
        return Decision(max(considered_until, now), tuple(fires), skipped, lost)
    kept = tuple(fires[: terms.batch])
    # Only `RUN_ALL` has so many that are late, and it skips none: the others come in the next decision.
    return Decision(kept[-1].occurrence_at, kept, skipped, lost)


def _of_the_missed(policy: MissedFire, missed: list[PlannedFire], *, has_other: bool) -> list[PlannedFire]:
    match policy:
        case MissedFire.SKIP:
            return []
        case MissedFire.RUN_ONCE:
            return [] if has_other else missed[-1:]
        case MissedFire.RUN_ALL:
            return missed
        case _:
            assert_never(policy)
