"""Schedules on a host whose clock jumps: outages, nodes, versions, and clocks that are wrong."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from flowx_runtime import MemoryJournal
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.schedules import ScheduleRow
from flowx_runtime.plan.plan import InvalidPlan
from flowx_runtime.scheduler.cron.expression import CronUnreadable, TimeZoneUnknown
from tests.scheduler.cron_scene import (
    ALL,
    ONCE,
    SKIP,
    Closed,
    JumpingClock,
    Scene,
    flow,
    minutes,
    register,
    schedule,
    utc,
)


class CountingJournal(MemoryJournal):
    """Counts the statements for schedules, and is away or fails where a test says so."""

    def __init__(self, clock: JumpingClock) -> None:
        super().__init__(clock.now)
        self.statements: list[str] = []
        self.fails: set[str] = set()

    def _count(self, name: str) -> None:
        self.statements.append(name)
        if name in self.fails:
            raise JournalUnavailable(f"away for {name}")

    async def schedules(self, flow_ids: Any) -> Any:
        self._count("read")
        return await super().schedules(flow_ids)

    async def save_schedule(self, row: ScheduleRow) -> bool:
        self._count("save")
        return await super().save_schedule(row)

    async def start(self, instance: Any, **terms: Any) -> Any:
        self._count("start")
        return await super().start(instance, **terms)


def counted(*plans: Any) -> tuple[Scene, CountingJournal]:
    scene = Scene(*plans)
    journal = scene.journal = CountingJournal(scene.clock)
    return scene, journal


async def test_an_occurrence_fires_when_it_is_due_with_itself_as_the_input() -> None:
    scene = Scene(flow(schedule("30 16 * * *", "Europe/Berlin")), at="2026-08-01T14:00:00")
    async with scene.node() as host:
        assert await host.sweep_once() == 0
        scene.clock.instant = await host.next_occurrence()
        assert await host.sweep_once() == 1
        (row,) = scene.journal._entries.values()
        assert row.row.state.value == "Completed"
        assert row.row.input == (
            '{"occurrence_at":"2026-08-01T14:30:00Z","cron":"30 16 * * *","time_zone":"Europe/Berlin"}'
        )
        assert await host.sweep_once() == 0
    assert await scene.fired() == ["08-01 14:30"]


@pytest.mark.parametrize(
    ("policy", "expected"), [(SKIP, []), (ONCE, ["08-01 16:40"]), (ALL, minutes(16, (20, 30, 40)))]
)
async def test_what_fell_due_while_nothing_ran_fires_as_the_policy_says(policy: Any, expected: list[str]) -> None:
    scene = Scene(flow(schedule("*/10 * * * *", missed_fire=policy)), at="2026-08-01T16:11:00")
    await register(scene.node())
    scene.clock.at("2026-08-01T16:45:00")
    back = scene.node()
    await register(back)
    await back.sweep_once()
    assert await scene.fired() == expected
    scene.clock.at("2026-08-01T16:50:01")
    await back.sweep_once()
    assert await scene.fired() == [*expected, "08-01 16:50"]
    row = await scene.row()
    assert (row.fired, row.skipped, row.lost) == (len(expected) + 1, 3 - len(expected), 0)
    assert row.planned == ()


@pytest.mark.parametrize("paused", ["offer.window.close", "*"])
@pytest.mark.parametrize(
    ("policy", "expected"), [(SKIP, []), (ONCE, ["08-01 16:40"]), (ALL, minutes(16, (20, 30, 40)))]
)
async def test_p55_what_fell_due_while_its_flow_was_paused_was_missed(
    policy: Any, expected: list[str], paused: str
) -> None:
    scene = Scene(flow(schedule("*/10 * * * *", missed_fire=policy)), at="2026-08-01T16:11:00")
    async with scene.node() as host:
        await scene.journal.pause(paused)
        for minute in (20, 30, 40):
            scene.clock.at(f"2026-08-01T16:{minute}:01")
            assert await host.sweep_once() == 0
        assert await scene.fired() == []
        scene.clock.at("2026-08-01T16:45:00")
        await scene.journal.unpause(paused)
        await host.sweep_once()
        assert await scene.fired() == expected
        scene.clock.at("2026-08-01T16:50:01")
        await host.sweep_once()
        assert await scene.fired() == [*expected, "08-01 16:50"]
    row = await scene.row()
    assert (row.fired, row.skipped, row.lost) == (len(expected) + 1, 3 - len(expected), 0)


async def test_p55_a_schedule_of_another_flow_fires_while_one_is_paused() -> None:
    scene = Scene(flow(schedule()), flow(schedule(), flow_id="other.flow"))
    async with scene.node() as host:
        await scene.journal.pause("other.flow")
        scene.clock.advance(minutes=1)
        assert await host.sweep_once() == 1
    assert (await scene.fired(), await scene.fired("other.flow")) == (["08-01 16:24"], [])


async def test_of_many_nodes_that_look_at_once_one_fires_each_occurrence() -> None:
    scene = Scene(flow(schedule()))
    nodes = [scene.node() for _ in range(5)]
    await register(*nodes)
    for _ in range(6):
        scene.clock.advance(minutes=1)
        assert sum([await node.sweep_once() for node in nodes]) == 1
    assert await scene.fired() == minutes(16, range(24, 30))


async def test_an_idle_node_asks_once_per_interval_whatever_the_number_of_schedules() -> None:
    plans = [flow(schedule("0 3 * * *"), schedule("0 4 * * *"), flow_id=f"flow.number{n}") for n in range(20)]
    scene, journal = counted(*plans)
    node = scene.node()
    await register(node)
    journal.statements.clear()
    for _ in range(3):
        scene.clock.advance(seconds=10)
        await node.sweep_once()
    assert journal.statements == ["read"] * 3


async def test_a_host_without_schedules_asks_for_none() -> None:
    scene, journal = counted(flow())
    node = scene.node()
    await register(node)
    assert await node.next_occurrence() is None
    journal.statements.clear()
    await node.sweep_once()
    assert journal.statements == []


async def test_what_is_older_than_the_horizon_is_lost_and_said(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(flow(schedule("0 * * * *", missed_fire=ALL)), at="2026-08-01T16:30:00")
    await register(scene.node())
    scene.clock.at("2026-08-08T16:30:00")  # a laptop that slept for a week
    back = scene.node(catch_up=timedelta(hours=3))
    await register(back)
    await back.sweep_once()
    assert await scene.fired() == ["08-08 14:00", "08-08 15:00", "08-08 16:00"]
    assert back.schedule_counts == {
        ("offer.window.close", "fired"): 3,
        ("offer.window.close", "lost"): 165,
        ("offer.window.close", "skipped"): 0,
    }
    assert (await scene.row()).lost == 165
    assert (
        "lost 165 of its occurrences after 2026-08-01 16:30:00+00:00: they were due more than PT3H ago" in caplog.text
    )


async def test_a_day_of_minutes_is_caught_up_in_batches() -> None:
    scene = Scene(flow(schedule(missed_fire=ALL)))
    node = scene.node(concurrency=7)
    await register(node)
    scene.clock.advance(hours=5)
    assert await node.sweep_once() == 300
    assert len(set(await scene.fired())) == 300


async def test_a_clock_that_is_set_back_fires_nothing_twice_and_does_not_go_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene(flow(schedule("0 * * * *", missed_fire=ALL)), at="2026-08-01T16:30:00")
    node = scene.node()
    await register(node)
    scene.clock.at("2026-08-01T20:30:00")  # wrong by four hours
    await node.sweep_once()
    ahead = await scene.fired()
    assert ahead == ["08-01 17:00", "08-01 18:00", "08-01 19:00", "08-01 20:00"]
    scene.clock.at("2026-08-01T16:31:00")
    assert await node.sweep_once() == 0
    assert "set back by 3:59:00" in caplog.text
    scene.clock.at("2026-08-01T19:30:00")
    assert await node.sweep_once() == 0
    scene.clock.at("2026-08-01T21:00:00")
    await node.sweep_once()
    assert await scene.fired() == [*ahead, "08-01 21:00"]


@pytest.mark.parametrize("is_old_kept", [True, False])
async def test_a_release_that_replaces_a_node_whose_clock_was_ahead_fires_nothing_twice(is_old_kept: bool) -> None:
    old, new = flow(schedule("0 12 * * *")), flow(schedule("0 12 * * *"), version="1.1.0")
    scene = Scene(old, at="2026-08-01T11:58:00")
    ahead = JumpingClock("2026-08-01T11:59:00")
    replaced = scene.node(clock=ahead)
    await register(replaced)
    ahead.at("2026-08-01T12:00:00")
    assert await replaced.sweep_once() == 1
    scene.clock.at("2026-08-01T11:59:30")
    node = scene.node(*([old, new] if is_old_kept else [new]))
    await register(node)
    for moment in ("01T11:59:30", "01T12:00:00", "01T12:01:00", "02T12:00:00"):
        scene.clock.at(f"2026-08-{moment}")
        await node.sweep_once()
    assert await scene.fired() == ["08-01 12:00", "08-02 12:00 1.1.0"]
    assert (await scene.row()).first_version == "1.0.0"


async def test_what_is_planned_when_the_clock_is_set_back_is_not_planned_again() -> None:
    scene = Scene(flow(schedule("0 * * * *", jitter=timedelta(minutes=50))), at="2026-08-01T16:30:00")
    node = scene.node()
    await register(node)
    for moment in ("17:00:00", "16:31:00", "17:00:00"):
        scene.clock.at(f"2026-08-01T{moment}")
        await node.sweep_once()
    (fire,) = (await scene.row()).planned
    scene.clock.instant = fire.release_at
    assert await node.sweep_once() == 1
    assert (await scene.row()).fired == 1


async def test_a_node_whose_clock_is_a_week_ahead_fires_nothing_twice_and_stops_no_other() -> None:
    plan = flow(schedule("0 */6 * * *", missed_fire=ALL))
    scene = Scene(plan, at="2026-08-01T16:30:00")
    wrong = JumpingClock("2026-08-08T16:30:00")
    right_node, wrong_node = scene.node(), scene.node(clock=wrong, catch_up=timedelta(days=9))
    await register(right_node, wrong_node)
    await wrong_node.sweep_once()
    early = await scene.fired()
    assert len(early) == 28
    for _ in range(8 * 24):
        scene.clock.advance(hours=1)
        await right_node.sweep_once()
        await wrong_node.sweep_once()
    fired = await scene.fired()
    assert len(fired) == len(set(fired)) == 32
    assert fired[-1] == "08-09 12:00"


async def test_a_small_difference_between_two_clocks_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(flow(schedule()))
    ahead, behind = JumpingClock(), JumpingClock()
    fast, slow = scene.node(clock=ahead), scene.node(clock=behind)
    await register(fast, slow)
    ahead.at("2026-08-01T16:24:02")
    behind.at("2026-08-01T16:23:55")
    assert await fast.sweep_once() == 1
    assert await slow.sweep_once() == 0
    behind.at("2026-08-01T16:24:00")
    assert await slow.sweep_once() == 0
    assert "set back" not in caplog.text


async def test_jitter_moves_when_and_never_which() -> None:
    window = timedelta(minutes=30)
    scene = Scene(flow(schedule("0 * * * *", jitter=window, missed_fire=ALL)), at="2026-08-01T16:30:00")
    nodes = [scene.node(), scene.node()]
    await register(*nodes)
    delays = []
    for hour in (17, 18, 19):
        scene.clock.at(f"2026-08-01T{hour}:00:00")
        assert await nodes[0].sweep_once() == 0
        release = await nodes[1].next_occurrence()
        assert release is not None
        delays.append(release - scene.clock.now())
        scene.clock.instant = release - timedelta(microseconds=1)
        assert await nodes[1].sweep_once() == 0
        scene.clock.instant = release
        assert await nodes[1].sweep_once() == 1
    assert len(set(delays)) == 3
    assert all(timedelta(0) < delay < window for delay in delays)
    assert await scene.fired() == ["08-01 17:00", "08-01 18:00", "08-01 19:00"]


async def test_an_occurrence_that_its_jitter_holds_back_is_not_late() -> None:
    scene = Scene(flow(schedule("0 * * * *", jitter=timedelta(minutes=50), missed_fire=SKIP)), at="2026-08-01T16:30:00")
    await register(scene.node())
    back = scene.node()
    await register(back)
    scene.clock.at("2026-08-01T17:02:00")
    assert await back.sweep_once() == 0
    (fire,) = (await scene.row()).planned
    assert fire.release_at > scene.clock.now()
    scene.clock.instant = fire.release_at
    assert await back.sweep_once() == 1


# What changes between two occurrences


async def test_of_two_versions_only_the_newest_fires() -> None:
    old, new = flow(schedule()), flow(schedule(), version="1.10.0")
    scene = Scene(old)
    first = scene.node(old)
    await register(first)
    scene.clock.at("2026-08-01T16:24:00")
    await first.sweep_once()
    both, newer_only = scene.node(old, new), scene.node(new)
    await register(both, newer_only)
    for minute in (25, 26):
        scene.clock.at(f"2026-08-01T16:{minute}:00")
        assert await first.sweep_once() == 0
        await newer_only.sweep_once()
    assert await scene.fired() == ["08-01 16:24", "08-01 16:25 1.10.0", "08-01 16:26 1.10.0"]


async def test_a_version_that_was_taken_back_is_missed_by_no_occurrence() -> None:
    old, new = flow(schedule("0 * * * *")), flow(schedule("0 * * * *"), version="2.0.0")
    scene = Scene(old, at="2026-08-01T16:30:00")
    await register(scene.node(new))
    back = scene.node(old)
    await register(back)
    scene.clock.at("2026-08-01T17:00:00")
    assert await back.sweep_once() == 0
    assert await back.next_occurrence() == utc("2026-08-01T17:00:30")
    scene.clock.at("2026-08-01T17:00:30")
    assert await back.sweep_once() == 1
    scene.clock.at("2026-08-01T18:00:00")
    assert await back.sweep_once() == 1
    assert await scene.fired() == ["08-01 17:00", "08-01 18:00"]


async def test_a_schedule_that_was_changed_fires_no_occurrence_of_before() -> None:
    scene = Scene(at="2026-08-01T16:30:00")
    await register(scene.node(flow(schedule("0 * * * *", missed_fire=ALL))))
    scene.clock.at("2026-08-01T20:30:00")
    changed = scene.node(flow(schedule("15 * * * *", missed_fire=ALL), version="1.1.0"))
    await register(changed)
    assert await changed.sweep_once() == 0
    scene.clock.at("2026-08-01T21:15:00")
    await changed.sweep_once()
    scene.clock.at("2026-08-01T23:30:00")
    again = scene.node(flow(schedule("0 * * * *", missed_fire=ALL), version="1.2.0"))
    await register(again)
    assert await again.sweep_once() == 0
    assert await scene.fired() == ["08-01 21:15 1.1.0"]
    assert [row.cron for row in await scene.journal.schedules(["offer.window.close"])] == ["0 * * * *"]


async def test_what_is_planned_starts_although_a_newer_version_has_another_schedule() -> None:
    old = flow(schedule("0 * * * *", jitter=timedelta(minutes=50)))
    new = flow(schedule("30 3 * * *"), version="2.0.0")
    scene = Scene(at="2026-08-01T16:30:00")
    first = scene.node(old)
    await register(first)
    scene.clock.at("2026-08-01T17:00:00")
    await first.sweep_once()
    (fire,) = (await scene.row()).planned
    both = scene.node(old, new)
    await register(both)
    scene.clock.instant = fire.release_at
    assert await both.sweep_once() == 1
    scene.clock.at("2026-08-01T18:59:00")
    assert await both.sweep_once() == 0
    assert await scene.fired() == ["08-01 17:00"]


async def test_no_node_takes_a_schedule_from_others_of_its_version() -> None:
    scene = Scene()
    serving = scene.node(flow(schedule("0 * * * *")))
    await register(serving, scene.node(flow(schedule("30 * * * *"))), scene.node(flow(version="0.9.0")))
    scene.clock.at("2026-08-01T17:00:00")
    assert await serving.sweep_once() == 1


async def test_a_flow_that_is_gone_keeps_none_of_the_others_from_firing_and_goes_on_when_it_is_back() -> None:
    staying, going = flow(schedule("0 * * * *"), flow_id="flow.stays"), flow(schedule("0 * * * *"))
    scene = Scene(at="2026-08-01T16:30:00")
    await register(scene.node(staying, going))
    without = scene.node(staying)
    await register(without)
    scene.clock.at("2026-08-01T17:00:00")
    assert await without.sweep_once() == 1
    assert await scene.fired() == []
    scene.clock.at("2026-08-01T17:10:00")
    back = scene.node(staying, going)
    await register(back)
    await back.sweep_once()
    assert await scene.fired() == await scene.fired("flow.stays") == ["08-01 17:00"]


async def test_a_flow_whose_schedule_is_gone_fires_no_more_on_any_node(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    old = scene.node(flow(schedule()))
    await register(old, scene.node(flow(version="2.0.0")))
    scene.clock.advance(minutes=5)
    assert await old.sweep_once() == 0
    assert await old.sweep_once() == 0
    assert caplog.text.count("was withdrawn by another version") == 1
    assert await scene.fired() == []


async def test_what_a_version_planned_and_did_not_start_falls_to_the_one_that_is_there() -> None:
    scene, journal = counted(flow(schedule("0 * * * *")))
    scene.clock.at("2026-08-01T16:30:00")
    dying = scene.node()
    await register(dying)
    scene.clock.at("2026-08-01T17:00:00")
    journal.fails = {"start"}
    with pytest.raises(JournalUnavailable):
        await dying.sweep_once()
    journal.fails = set()
    assert len((await scene.row()).planned) == 1
    other = scene.node(flow(schedule("0 * * * *"), version="2.0.0"))
    await register(other)
    assert await other.sweep_once() == 0, "a node that can start it may still be there"
    scene.clock.advance(minutes=1)
    await other.sweep_once()
    assert await scene.fired() == ["08-01 17:00 2.0.0"]
    assert (await scene.row()).planned == ()


async def test_what_a_version_started_and_did_not_note_is_not_started_by_the_next() -> None:
    scene, journal = counted(flow(schedule("0 * * * *")))
    scene.clock.at("2026-08-01T16:30:00")
    dying = scene.node()
    await register(dying)
    scene.clock.at("2026-08-01T17:00:00")
    saves = iter([None])
    save = journal.save_schedule

    async def save_once(row: ScheduleRow) -> bool:
        if next(saves, 1) is not None:
            raise JournalUnavailable("gone")
        return await save(row)

    journal.save_schedule = save_once  # type: ignore[method-assign]
    with pytest.raises(JournalUnavailable):
        await dying.sweep_once()
    journal.save_schedule = save  # type: ignore[method-assign]
    scene.clock.advance(minutes=1)
    other = scene.node(flow(schedule("0 * * * *"), version="2.0.0"))
    await register(other)
    await other.sweep_once()
    assert await scene.fired() == ["08-01 17:00"]
    assert (await scene.row()).planned == ()


# What can go wrong


async def test_a_journal_that_is_away_costs_no_occurrence() -> None:
    scene, journal = counted(flow(schedule(missed_fire=ALL)))
    node = scene.node()
    await register(node)
    for failing in ("read", "save", "start"):
        scene.clock.advance(minutes=1)
        journal.fails = {failing}
        with pytest.raises(JournalUnavailable):
            await node.sweep_once()
    journal.fails = set()
    await node.sweep_once()
    assert await scene.fired() == minutes(16, (24, 25, 26))
    assert (await scene.row()).planned == ()


async def test_a_host_that_starts_while_the_journal_is_away_serves_its_schedules_later() -> None:
    scene, journal = counted(flow(schedule()))
    node = scene.node()
    journal.fails = {"read"}
    await register(node)
    journal.fails = set()
    await node.sweep_once()
    scene.clock.advance(minutes=1)
    assert await node.sweep_once() == 1


async def test_a_start_is_noted_on_whatever_others_made_of_the_schedule_meanwhile() -> None:
    scene, journal = counted(flow(schedule()))
    node = scene.node()
    await register(node)
    start = journal.start

    async def start_while_another_saves(instance: Any, **terms: Any) -> Any:
        row = await scene.row()
        assert await journal.save_schedule(replace(row, skipped=row.skipped + 1))
        return await start(instance, **terms)

    journal.start = start_while_another_saves  # type: ignore[method-assign]
    scene.clock.advance(minutes=1)
    assert await node.sweep_once() == 1
    row = await scene.row()
    assert (row.planned, row.fired, row.skipped) == ((), 1, 1)


async def test_an_occurrence_that_cannot_start_keeps_no_other_from_starting(caplog: pytest.LogCaptureFixture) -> None:
    scene, journal = counted(flow(schedule(), flow_id="flow.sick"), flow(schedule(), flow_id="flow.well"))
    node = scene.node()
    await register(node)
    start = journal.start

    async def refuse_the_sick(instance: Any, **terms: Any) -> Any:
        if instance.flow_id == "flow.sick":
            raise ValueError("no")
        return await start(instance, **terms)

    journal.start = refuse_the_sick  # type: ignore[method-assign]
    scene.clock.advance(minutes=2)
    await node.sweep_once()
    assert await scene.fired("flow.well") == ["08-01 16:25"]
    assert "could not be started and is tried again" in caplog.text
    journal.start = start  # type: ignore[method-assign]
    await node.sweep_once()
    assert await scene.fired("flow.sick") == ["08-01 16:25"]


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        (
            schedule("0 2 * * *", "Europe/Atlantis"),
            TimeZoneUnknown,
            (
                "the time zone 'Europe/Atlantis' is not in this machine's tz database: correct the name (such as "
                "'Europe/Berlin'), or update the `tzdata` package"
            ),
        ),
        (
            schedule("@daily"),
            CronUnreadable,
            (
                "the schedule '@daily' is not five fields: write minute, hour, day of the month, month and day of the "
                "week, such as '0 2 * * *'"
            ),
        ),
        (schedule("0 25 * * *"), CronUnreadable, "the schedule '0 25 * * *' cannot be read: correct its hour"),
        (schedule("0 0 31 2 *"), CronUnreadable, "the schedule '0 0 31 2 *' cannot be read: correct its day of month"),
    ],
)
def test_a_host_refuses_at_its_start_what_it_could_never_fire(wrong: Any, error: Any, sentence: str) -> None:
    with pytest.raises(error) as refused:
        Scene(flow(wrong)).node()
    assert str(refused.value) == f"offer.window.close 1.0.0: {sentence}"


def test_a_plan_whose_schedule_nothing_can_fire_is_refused() -> None:
    from flowx_runtime import Profile
    from flowx_runtime.host.errors import InputMismatch

    with pytest.raises(InvalidPlan, match="needs a durable profile"):
        flow(schedule(), profile=Profile.EPHEMERAL)
    with pytest.raises(InvalidPlan, match="is no time at all"):
        flow(schedule(jitter=timedelta(0)))
    with pytest.raises(InputMismatch, match="make `ScheduledFire` its input"):
        Scene(flow(schedule(), input=Closed)).node()


def test_a_host_without_a_journal_says_that_schedules_do_not_fire_there(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Scene(flow(schedule())).node(journal=None)
    assert "has a schedule and this host has no journal" in caplog.text
