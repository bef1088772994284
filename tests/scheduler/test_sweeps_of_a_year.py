"""However a time is cut into looks, on however many nodes that fail however they do, the same occurrences fire once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from random import Random
from uuid import UUID

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from flowx_runtime import MemoryJournal, MissedFire
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.schedules import PlannedFire, ScheduleRow
from flowx_runtime.plan import Schedule
from flowx_runtime.scheduler.cron.decisions import Scheduled, Terms, due, next_after
from flowx_runtime.scheduler.cron.identity import occurrence_id
from flowx_runtime.scheduler.cron.schedules import Schedules
from tests.scheduler.cron_scene import JumpingClock, utc

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca"]
MOST = 400


def part(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    ranges = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.integers(1, high).map(lambda step: f"*/{step}")
    lists = st.lists(number, min_size=1, max_size=3).map(lambda items: ",".join(map(str, items)))
    return st.one_of(st.just("*"), number.map(str), ranges, steps, lists)


EXPRESSIONS = st.builds(
    lambda minute, hour, day, month, weekday: f"{minute} {hour} {day} {month} {weekday}",
    part(0, 59),
    part(0, 23),
    st.one_of(st.just("*"), part(1, 28)),
    st.one_of(st.just("*"), part(1, 12)),
    st.one_of(st.just("*"), part(0, 7)),
)
STARTS = st.sampled_from(
    ["2026-01-01T00:00", "2026-03-08T05:10", "2026-03-28T22:59", "2026-04-04T13:00", "2026-10-24T23:30"]
)


@dataclass
class World:
    """Every instance there is, and when a start or a save fails."""

    created: Counter[datetime] = field(default_factory=Counter)
    ids: set[UUID] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def may_fail(self) -> None:
        if self.failures and self.failures.pop() == "fails":
            raise JournalUnavailable("away")


class Starts:
    """Creates instances as a primary key would."""

    def __init__(self, world: World) -> None:
        self.world = world

    def has(self, flow_id: str, version: str) -> bool:
        return True

    async def start(self, row: ScheduleRow, fire: PlannedFire, instance_id: UUID) -> bool:
        self.world.may_fail()
        assert instance_id == occurrence_id("f", "1", row.cron, row.time_zone, fire.occurrence_at)
        is_new = instance_id not in self.world.ids
        self.world.ids.add(instance_id)
        self.world.created[fire.occurrence_at] += is_new
        self.world.may_fail()
        return is_new

    async def come_to_rest(self) -> None:
        return None


class FailingJournal(MemoryJournal):
    """Fails before or after it has saved."""

    world: World

    async def save_schedule(self, row: ScheduleRow) -> bool:
        self.world.may_fail()
        answer = await super().save_schedule(row)
        self.world.may_fail()
        return answer


def span(scheduled: Scheduled, start: datetime) -> datetime:
    """A year, or as many occurrences as a test has time for."""
    end = start + timedelta(days=365)
    *_, last = [start, *islice(scheduled.times.after(start), MOST)]
    return max(min(end, last), start + timedelta(hours=1))


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(
    cron=EXPRESSIONS,
    zone=st.sampled_from(ZONES),
    start=STARTS,
    looks=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), max_size=25),
    failures=st.lists(st.sampled_from(["fails", "works", "works"]), max_size=12),
    jitter=st.sampled_from([None, None, timedelta(minutes=7)]),
)
async def test_any_cut_and_any_nodes_fire_what_one_look_would(
    cron: str,
    zone: str,
    start: str,
    looks: list[tuple[float, int]],
    failures: list[str],
    jitter: timedelta | None,
) -> None:
    schedule = Schedule(cron=cron, time_zone=zone, missed_fire=MissedFire.RUN_ALL, jitter=jitter)
    scheduled = Scheduled.of("f", "1", schedule)
    clock, world = JumpingClock(), World()
    clock.instant = begin = utc(start)
    end = span(scheduled, begin)
    journal = FailingJournal(clock.now)
    journal.world = world
    nodes = [
        Schedules(
            journal,
            Starts(world),
            [scheduled],
            {"f": "1"},
            clock=clock,
            interval=None,
            catch_up=timedelta(days=800),
            random=Random(number),
        )
        for number in range(5)
    ]
    for node in nodes:
        await node.try_to_register()
    world.failures = failures
    for place, number in sorted(looks):
        clock.instant = begin + (end - begin) * place
        try:
            await nodes[number].fire_due()
        except JournalUnavailable:
            event("a node failed")
    world.failures = []
    for clock.instant in (end, end + timedelta(minutes=7)):
        await nodes[0].fire_due()
    at_once = set(scheduled.times.between(begin, clock.instant))
    if jitter is not None:
        at_once = {at for at in at_once if scheduled.planned(at, "1").release_at <= clock.instant}
    event(f"{min(len(at_once) // 100, 4)} hundred occurrences")
    assert set(world.created) == at_once
    assert set(world.created.values()) <= {1}
    (row,) = await journal.schedules(["f"])
    assert row.fired == len(at_once)


@settings(max_examples=150)
@given(
    cron=EXPRESSIONS,
    zone=st.sampled_from(ZONES),
    policy=st.sampled_from(MissedFire),
    start=STARTS,
    minutes=st.integers(0, 3 * 24 * 60),
    catch_up=st.sampled_from([timedelta(hours=1), timedelta(days=1), timedelta(days=9)]),
)
def test_every_occurrence_is_fired_skipped_or_lost_and_nothing_else_is(
    cron: str, zone: str, policy: MissedFire, start: str, minutes: int, catch_up: timedelta
) -> None:
    scheduled = Scheduled.of("f", "1", Schedule(cron=cron, time_zone=zone, missed_fire=policy))
    begin = utc(start)
    now = begin + timedelta(minutes=minutes)
    terms = Terms(catch_up=catch_up, batch=10_000)
    row = ScheduleRow(*scheduled.key, "1", "1", begin)
    decision = due(scheduled, row, now, terms)
    owed = list(scheduled.times.between(begin, now))
    fired = [fire.occurrence_at for fire in decision.fires]
    assert fired == sorted(set(fired) & set(owed))
    assert len(fired) + decision.skipped + decision.lost == len(owed)
    assert decision.considered_until == now
    assert decision.lost == sum(at <= now - catch_up for at in owed)
    on_time = [at for at in owed if at >= now - terms.tolerance]
    assert fired[-len(on_time) :] == on_time or not on_time
    expected = {MissedFire.SKIP: len(on_time), MissedFire.RUN_ALL: len(owed) - decision.lost}
    if policy is MissedFire.RUN_ONCE:
        assert fired == (on_time or owed[-1:][: len(owed) - decision.lost])
    else:
        assert len(fired) == expected[policy]
    assert next_after(scheduled, now) > now
    assert due(scheduled, replace(row, considered_until=now), now, terms).is_nothing
