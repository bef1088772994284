"""What every journal must do for schedules: one check per sentence, as in `journal_checks`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from journal_scene import NOON

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.schedules import PlannedFire, ScheduleRow

Check: TypeAlias = Callable[[Journal], Awaitable[None]]
SCHEDULE_CHECKS: dict[str, Check] = {}
MINUTE = timedelta(minutes=1)


def check(function: Check) -> Check:
    SCHEDULE_CHECKS[function.__name__] = function  # type: ignore[attr-defined]
    return function


def new(flow_id: str = "offer.close", cron: str = "0 2 * * *", time_zone: str = "Europe/Berlin") -> ScheduleRow:
    return ScheduleRow(flow_id, cron, time_zone, "1.0.0", "1.1.0", NOON)


async def only(journal: Journal, flow_id: str = "offer.close") -> ScheduleRow:
    (row,) = await journal.schedules([flow_id])
    return row


@check
async def a_schedule_comes_back_as_it_was_saved(journal: Journal) -> None:
    local = datetime.fromisoformat("2031-05-06T14:00:00.000001+02:00")
    fires = (
        PlannedFire(NOON, "1.0.0", NOON + timedelta(microseconds=7)),
        PlannedFire(NOON + MINUTE, "2.0.0-rc.1", NOON + MINUTE),
    )
    row = replace(new(cron="*/5 * * * *"), considered_until=local, planned=fires, fired=3, skipped=2**40, lost=1)
    assert await journal.save_schedule(row)
    stored = await only(journal)
    assert stored == replace(row, considered_until=local.astimezone(UTC), revision=1)
    for moment in (stored.considered_until, *(fire.release_at for fire in stored.planned)):
        assert moment.utcoffset() == timedelta(0)


@check
async def schedules_differ_by_flow_expression_and_zone(journal: Journal) -> None:
    rows = [new(), new(cron="0 3 * * *"), new(time_zone="UTC"), new("offer.open")]
    for row in rows:
        assert await journal.save_schedule(row)
    assert {row.key for row in await journal.schedules(["offer.close"])} == {row.key for row in rows[:3]}
    assert {row.key for row in await journal.schedules(["offer.open", "none"])} == {rows[3].key}
    assert list(await journal.schedules([])) == []


@check
async def a_save_that_has_not_seen_the_latest_is_refused_and_changes_nothing(journal: Journal) -> None:
    assert await journal.save_schedule(new())
    first = await only(journal)
    assert await journal.save_schedule(replace(first, fired=1))
    assert not await journal.save_schedule(replace(first, fired=9))
    assert not await journal.save_schedule(replace(new(), fired=9))
    assert await only(journal) == replace(first, fired=1, revision=2)


@check
async def of_twenty_concurrent_saves_of_one_revision_one_is_stored(journal: Journal) -> None:
    answers = await asyncio.gather(*(journal.save_schedule(replace(new(), fired=n)) for n in range(20)))
    assert sum(answers) == 1
    row = await only(journal)
    assert row.fired == answers.index(True)
    answers = await asyncio.gather(*(journal.save_schedule(replace(row, fired=n)) for n in range(20)))
    assert sum(answers) == 1
    assert (await only(journal)).fired == answers.index(True)


@check
async def only_who_has_seen_the_latest_removes_a_schedule(journal: Journal) -> None:
    assert not await journal.remove_schedule(new())
    assert await journal.save_schedule(new())
    first = await only(journal)
    assert await journal.save_schedule(replace(first, fired=1))
    assert not await journal.remove_schedule(first)
    assert await journal.remove_schedule(await only(journal))
    assert list(await journal.schedules(["offer.close"])) == []
    assert not await journal.save_schedule(replace(first, fired=2)), "what is removed is not saved again"
    assert await journal.save_schedule(new())
    assert (await only(journal)).revision == 1
