"""Thousands of instances fall due at one instant: none is lost, none goes on twice, and new work gets its turn."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from flowx_runtime import Completed, FlowHost, Internal, PostgresJournal, StepContext, Suspended, capability
from flowx_runtime.plan import CapabilityUse, Delay, Step
from tests.nodes.scene import DAY, Database, Order, plan

MANY = 3_000
AT_A_TIME = 100

steps: list[tuple[str, UUID]] = []
"""What ran, in order."""


@capability("many.note", version="1.0.0", authorization=Internal(), idempotent=True)
async def note(request: Order, ctx: StepContext) -> None:
    steps.append((request.name, ctx.instance_id))


NOTE = CapabilityUse(note, "many.note", "1.0.0", Order, None, idempotent=True)
RESTING = plan("many.resting", Delay(0, "rest", DAY), Step(1, "note", NOTE))
NEW = plan("many.new", Step(0, "first", NOTE), Step(1, "last", NOTE))


class Tomorrow:
    def now(self) -> datetime:
        return datetime.now(UTC) + 2 * DAY


async def node(database: Database, **settings: Any) -> FlowHost:
    journal = await PostgresJournal.open(database.dsn, schema=database.schema)
    return FlowHost([RESTING, NEW], [note], journal=journal, sweep_interval=None, **settings)


async def park(host: FlowHost, count: int) -> None:
    left = iter(range(count))

    async def some() -> None:
        for _ in left:
            assert isinstance(await host.run(RESTING, Order(name="woken")), Suspended)

    await asyncio.gather(*(some() for _ in range(AT_A_TIME)))


@pytest.mark.slow  # parks and wakes thousands
async def test_many_due_at_once_are_woken_once_each_while_new_ones_start(database: Database) -> None:
    steps.clear()
    async with (
        await node(database) as parking,
        await node(database, clock=Tomorrow()) as one,
        await node(database, clock=Tomorrow()) as other,
    ):
        await park(parking, MANY)
        assert database.rows("select count(*), count(distinct instance_id) from flow_lease") == [(0, 0)]
        sweeps = asyncio.gather(one.sweep_once(), other.sweep_once())
        begun = 0
        while not sweeps.done():
            assert isinstance(await one.run(NEW, Order(name="new")), Completed)
            begun += 1
        counts = await sweeps
    woken = [instance_id for name, instance_id in steps if name == "woken"]
    assert sum(counts) == MANY == len(woken) == len(set(woken))
    assert all(counts), "each of two nodes gets some"
    ended = "select flow_id, state, count(*) from flow_instance group by 1, 2 order by 1"
    assert database.rows(ended) == [("many.new", "Completed", begun), ("many.resting", "Completed", MANY)]
    assert _most_woken_between_new_steps() < MANY / 2


def _most_woken_between_new_steps() -> int:
    """How many others went before a step of a new instance at the most, while there were others to wake."""
    new = [place for place, (name, _) in enumerate(steps) if name == "new"]
    assert len(new) >= 4, "new instances went on while the others were woken"
    return max(after - before for before, after in pairwise(new))
