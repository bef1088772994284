"""`offer.window.close` on PostgreSQL: a flow that nobody calls, as it is declared."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

from workflow.app import capabilities
from workflow.plans import CATALOG

from flowx_runtime.scheduler.cron.identity import occurrence_id
from tests.acceptance.conftest import Database, VirtualClock


async def test_three_nodes_close_the_window_of_each_night_once_and_ask_for_no_principal(
    open_host: Any, database: Database, clock: VirtualClock
) -> None:
    """Seed 004 §5.1, on the flow's own schedule; `Internal` lets an occurrence, which has no caller, run."""
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(open_host(CATALOG, capabilities())) for _ in range(3)]
        nights = [datetime(2026, 8, day, 0, 0, tzinfo=UTC) for day in (2, 3, 4)]
        for night in nights:
            assert await nodes[0].next_occurrence() == night
            clock.move_to(night)
            await asyncio.gather(*(node.sweep_once() for node in nodes))
    assert database.rows("select instance_id, state, output ->> 'closed_at' from flow_instance order by 3") == [
        (occurrence_id("offer.window.close", "1.0.0", "0 2 * * *", "Europe/Berlin", night), "Completed", at)
        for night, at in zip(
            nights, ("2026-08-02T00:00:00Z", "2026-08-03T00:00:00Z", "2026-08-04T00:00:00Z"), strict=True
        )
    ]


async def test_a_night_on_which_nothing_ran_is_closed_as_that_night(
    open_host: Any, database: Database, clock: VirtualClock
) -> None:
    async with open_host(CATALOG, capabilities()):
        pass
    clock.advance(timedelta(days=3))
    async with open_host(CATALOG, capabilities()) as back:
        await back.sweep_once()
    (row,) = database.rows("select input ->> 'occurrence_at', output ->> 'closed_at' from flow_instance")
    assert row == ("2026-08-04T00:00:00Z", "2026-08-04T00:00:00Z")
    assert database.rows("select fired, lost from flow_schedule") == [(1, 2)]
