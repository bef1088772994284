"""Three nodes on one PostgreSQL, and nodes that are killed where it hurts."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from flowx_runtime import FlowHost, PostgresJournal
from flowx_runtime.journal.records import State
from flowx_runtime.scheduler.cron.identity import occurrence_id
from tests.scheduler.cron_scene import ALL, FLOW, ONCE, SKIP, JumpingClock, Scene, flow, minutes, schedule

ROOT = Path(__file__).parents[2]


class Cluster(Scene):
    """Nodes with a journal each, on one schema."""

    def __init__(self, dsn: str, schema: str, *plans: Any) -> None:
        super().__init__(*plans)
        self.dsn, self.schema = dsn, schema
        self.open = AsyncExitStack()

    async def start(self, *plans: Any, **settings: Any) -> FlowHost:
        journal = await PostgresJournal.open(self.dsn, schema=self.schema, pool_size=4)
        host = self.node(*plans, journal=journal, **settings)
        self.journal = journal
        return await self.open.enter_async_context(host)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, options=f"-c search_path={self.schema}") as connection:
            return connection.execute(query.encode()).fetchall()


@pytest.fixture
async def cluster(postgres_dsn: str, schema: str) -> AsyncIterator[Cluster]:
    made = Cluster(postgres_dsn, schema, flow(schedule()))
    async with made.open:
        yield made


async def test_three_nodes_without_a_leader_fire_six_occurrences_as_six_instances(cluster: Cluster) -> None:
    nodes = [await cluster.start(owner=f"node-{number}") for number in (1, 2, 3)]
    started = []
    for turn in range(6):
        cluster.clock.advance(minutes=1)
        # Whoever looks first is another one each time; all of them look.
        started.append(await asyncio.gather(*(nodes[(turn + n) % 3].sweep_once() for n in range(3))))
    assert await cluster.fired() == minutes(16, range(24, 30))
    assert [sum(counts) for counts in started] == [1] * 6
    assert sum(node.schedule_counts[FLOW, "fired"] for node in nodes) == 6
    found = cluster.rows("select instance_id, state, input ->> 'occurrence_at' from flow_instance order by 3")
    assert str(found[0][0]) == "c49bd6f1-9174-8d06-9db3-a800dee1b260"
    for instance_id, state, occurrence in found:
        at = datetime.fromisoformat(occurrence)
        assert instance_id == occurrence_id(FLOW, "1.0.0", "* * * * *", "UTC", at)
        assert state == State.COMPLETED.value
    assert cluster.rows("select count(*) from flow_step") == [(6,)]
    assert cluster.rows("select flow_version, planned::text, fired, skipped, lost from flow_schedule") == [
        ("1.0.0", "[]", 6, 0, 0)
    ]


@pytest.mark.parametrize(("policy", "late"), [(SKIP, []), (ONCE, minutes(16, [32])), (ALL, minutes(16, (30, 31, 32)))])
async def test_what_fell_due_while_all_were_down_fires_as_the_policy_says(
    cluster: Cluster, policy: Any, late: list[str]
) -> None:
    plan = flow(schedule(missed_fire=policy))
    first = await cluster.start(plan)
    cluster.clock.at("2026-08-01T16:29:00")
    await first.sweep_once()
    await first.close()
    cluster.clock.at("2026-08-01T16:32:21")
    back = [await cluster.start(plan) for _ in range(3)]
    await asyncio.gather(*(node.sweep_once() for node in back))
    assert [at for at in await cluster.fired() if at > "08-01 16:29"] == late


async def test_a_running_host_fires_at_the_very_minute(cluster: Cluster) -> None:
    await (await cluster.start()).close()  # so that the schedule is known, however long the next one takes to open
    fired: asyncio.Queue[tuple[datetime, datetime]] = asyncio.Queue()
    behind = datetime(2026, 8, 1, 16, 23, 59, 500_000, UTC) - datetime.now(UTC)

    class Running(JumpingClock):
        def now(self) -> datetime:
            return datetime.now(UTC) + behind

    clock = Running()

    async def note(request: Any, ctx: Any) -> Any:
        fired.put_nowait((request.occurrence_at, clock.now()))
        return {"at": request.occurrence_at}

    await cluster.start(clock=clock, sweep_interval=timedelta(hours=1), substitutes={"offer.window.close_all": note})
    occurrence, met = await asyncio.wait_for(fired.get(), 20)
    assert occurrence == datetime(2026, 8, 1, 16, 24, tzinfo=UTC)
    assert occurrence <= met


NODE = """
import asyncio, os, signal, sys
sys.path[:0] = [{root!r}]
from datetime import timedelta
from flowx_runtime import PostgresJournal
from tests.scheduler.cron_scene import Scene, flow, schedule

async def main():
    scene = Scene(flow(schedule()))
    journal = await PostgresJournal.open({dsn!r}, schema={schema!r})
    host = scene.node(journal=journal)
    async with host:
        scene.clock.at("2026-08-01T16:24:00")
        die = lambda: os.kill(os.getpid(), signal.SIGKILL)
        start, save = journal.start, journal.save_schedule

        async def starting(*a, **k):
            if {at!r} == "before the start":
                die()
            answer = await start(*a, **k)
            if {at!r} == "after the start":
                die()
            return answer

        async def saving(row):
            if {at!r} == "before the decision":
                die()
            return await save(row)

        journal.start, journal.save_schedule = starting, saving
        await host.sweep_once()

asyncio.run(main())
"""


@pytest.mark.slow  # real processes
@pytest.mark.parametrize(
    ("at", "planned"), [("before the decision", 0), ("before the start", 1), ("after the start", 1)]
)
async def test_what_a_killed_node_left_is_fired_by_another_and_once(cluster: Cluster, at: str, planned: int) -> None:
    program = NODE.format(root=str(ROOT), dsn=cluster.dsn, schema=cluster.schema, at=at)
    killed = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    cluster.clock.at("2026-08-01T16:24:05")
    other = await cluster.start()
    assert len((await cluster.row()).planned) == planned
    assert await cluster.fired() == (["08-01 16:24"] if at == "after the start" else [])
    await other.sweep_once()
    assert await cluster.fired() == ["08-01 16:24"]
    row = await cluster.row()
    assert (row.planned, row.fired) == ((), 1)


async def test_a_release_that_replaces_a_node_whose_clock_was_ahead_fires_nothing_twice(cluster: Cluster) -> None:
    old, new = flow(schedule("0 * * * *")), flow(schedule("0 * * * *"), version="1.1.0")
    ahead = JumpingClock("2026-08-01T16:59:00")
    replaced = await cluster.start(old, clock=ahead)
    ahead.at("2026-08-01T17:00:00")
    assert await replaced.sweep_once() == 1
    await replaced.__aexit__(None, None, None)
    cluster.clock.at("2026-08-01T16:59:30")
    node = await cluster.start(old, new)
    for moment in ("16:59:30", "17:00:00", "17:01:00", "18:00:00"):
        cluster.clock.at(f"2026-08-01T{moment}")
        await node.sweep_once()
    assert await cluster.fired() == ["08-01 17:00", "08-01 18:00 1.1.0"]
    assert cluster.rows("select first_version, flow_version from flow_schedule") == [("1.0.0", "1.1.0")]


async def test_a_row_of_before_first_versions_goes_on_under_the_version_it_was_left_with(cluster: Cluster) -> None:
    plan, later = flow(schedule()), flow(schedule(), version="1.1.0")
    await cluster.start(plan)
    cluster.rows("update flow_schedule set first_version = null returning 1")
    await cluster.start(plan, later)
    assert cluster.rows("select first_version, flow_version from flow_schedule") == [("1.0.0", "1.1.0")]
