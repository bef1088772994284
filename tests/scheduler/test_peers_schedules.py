"""What users of other engines reported of schedules; the number is that of the case."""

from __future__ import annotations

import logging
from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest

from flowx_runtime.scheduler.cron.expression import CronExpression
from tests.scheduler.cron_scene import ALL, FLOW, ONCE, SKIP, Scene, flow, register, schedule, utc

ZONES = {
    "Africa/Cairo": "15 0 * * *",  # changes at midnight, as Santiago does
    "America/New_York": "30 2 * * *",
    "America/Santiago": "15 0 * * *",
    "America/St_Johns": "30 2 * * *",
    "Asia/Kolkata": "30 2 * * *",
    "Asia/Tehran": "15 0 * * *",
    "Australia/Lord_Howe": "15 2 * * *",
    "Europe/Berlin": "30 2 * * *",
    "Pacific/Auckland": "30 2 * * *",
    "UTC": "30 2 * * *",
}


@pytest.mark.parametrize(("zone", "cron"), ZONES.items())
def test_p43_in_twenty_years_every_local_day_has_its_one_occurrence(zone: str, cron: str) -> None:
    days = [
        at.astimezone(ZoneInfo(zone)).date()
        for at in CronExpression(cron, zone).between(utc("2020-01-02T12:00"), utc("2040-01-02T12:00"))
    ]
    assert days == [days[0] + timedelta(days=n) for n in range(len(days))]
    assert days[0] <= date(2020, 1, 4)
    assert days[-1] >= date(2040, 1, 1)


async def test_p44_around_a_change_of_clocks_a_nightly_flow_runs_once_a_night() -> None:
    scene = Scene(flow(schedule("30 2 * * *", "Europe/Berlin")), at="2026-10-24T12:00:00")
    node = scene.node()
    await register(node)
    for _ in range(48 * 6):
        scene.clock.advance(minutes=10)
        await node.sweep_once()
    assert await scene.fired() == ["10-25 00:30", "10-26 01:30"]
    scene = Scene(flow(schedule("30 2 * * *", "Europe/Berlin")), at="2026-03-28T12:00:00")
    node = scene.node()
    await register(node)
    for _ in range(48 * 6):
        scene.clock.advance(minutes=10)
        await node.sweep_once()
    assert await scene.fired() == ["03-29 01:00", "03-30 00:30"]


@pytest.mark.parametrize(("policy", "count"), [(SKIP, 1), (ONCE, 1), (ALL, 100)])
async def test_p45_a_process_that_slept_for_a_hundred_ticks_fires_as_its_policy_says(
    policy: object, count: int
) -> None:
    scene = Scene(flow(schedule(missed_fire=policy)), at="2026-08-01T16:23:00")
    node = scene.node()
    await register(node)
    scene.clock.advance(minutes=100)  # it wakes on a tick, which is on time
    assert await node.sweep_once() == count
    fired = await scene.fired()
    assert fired[-1] == "08-01 18:03"
    assert len(fired) == count


async def test_p46_every_occurrence_is_counted_for_what_became_of_it(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(flow(schedule("*/10 * * * *", missed_fire=SKIP)), at="2026-08-01T00:05:00")
    node = scene.node(catch_up=timedelta(hours=1))
    await register(node)
    scene.clock.at("2026-08-01T00:10:00")
    await node.sweep_once()
    scene.clock.at("2026-08-01T04:05:00")
    await node.sweep_once()
    counts = node.schedule_counts
    assert (counts[FLOW, "fired"], counts[FLOW, "skipped"], counts[FLOW, "lost"]) == (1, 6, 17)
    row = await scene.row()
    assert (row.fired, row.skipped, row.lost) == (1, 6, 17)
    assert len(await scene.fired()) == row.fired
    assert "skipped 6 of its occurrences" in caplog.text
    assert "lost 17 of its occurrences" in caplog.text


async def test_p47_a_schedule_has_a_zone_of_its_own_and_no_hidden_limit_of_lateness() -> None:
    scene = Scene(flow(schedule("0 9 * * *", "Asia/Kolkata")), at="2026-08-01T00:00:00")
    await register(scene.node())
    scene.clock.at("2026-08-02T02:00:00")  # more than twenty-two hours late
    late = scene.node()
    await register(late)
    await late.sweep_once()
    assert await scene.fired() == ["08-01 03:30"]


async def test_p48_no_process_has_to_be_up_and_the_same_cron_twice_is_two_schedules() -> None:
    plans = [flow(schedule("0 * * * *"), flow_id="flow.one"), flow(schedule("0 * * * *"), flow_id="flow.two")]
    scene = Scene(*plans, at="2026-08-01T16:30:00")
    await register(scene.node())
    scene.clock.at("2026-08-01T17:20:00")
    workers = [scene.node() for _ in range(8)]
    await register(*workers)
    assert sum([await worker.sweep_once() for worker in workers]) == 2
    assert await scene.fired("flow.one") == await scene.fired("flow.two") == ["08-01 17:00"]


async def test_p49_a_schedule_is_evaluated_in_the_zone_it_is_stored_under() -> None:
    scene = Scene(at="2026-08-01T14:00:00")
    await register(scene.node(flow(schedule("0 9 * * *", "Europe/Berlin"))))
    moved = scene.node(flow(schedule("0 9 * * *", "America/New_York"), version="1.0.1"))
    await register(moved)
    (row,) = await scene.journal.schedules([FLOW])
    assert row.time_zone == "America/New_York", "the other zone is another schedule, and is gone with its declaration"
    scene.clock.at("2026-08-02T12:59:59")
    assert await moved.sweep_once() == 0
    scene.clock.at("2026-08-02T13:00:00")
    assert await moved.sweep_once() == 1
    (entry,) = scene.journal._entries.values()
    assert '"time_zone":"America/New_York"' in entry.row.input


async def test_p58_a_node_says_which_schedules_it_serves_and_when_they_fire_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene(flow(schedule("0 2 * * *", "Europe/Berlin")))
    with caplog.at_level(logging.INFO):
        await register(scene.node())
    assert (
        "serving the schedule '0 2 * * *' (Europe/Berlin) of offer.window.close, next at 2026-08-02 00:00:00+00:00"
        in caplog.text
    )
