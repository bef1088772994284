"""Stuck runs, lost work, recovery: cases users of other engines reported, by their number."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import threading
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from flowx_runtime import Completed, FlowHost, Merge, PostgresJournal, StepContext, Suspended
from flowx_runtime.host.errors import InstanceTerminal, UnknownInstance
from flowx_runtime.journal.postgres.embedded import EmbeddedServer
from flowx_runtime.journal.records import Commit, Refusal, Refused, State
from flowx_runtime.plan import AwaitSignal, Delay, ForEach, Parallel, SubFlow
from tests.acceptance.conftest import Database, VirtualClock
from tests.acceptance.small_flows import (
    APPROVED,
    DAY,
    ORDER,
    PAID,
    Approved,
    CrashingJournal,
    Note,
    Order,
    Paid,
    World,
    node,
    plan,
    step,
    to_the_end,
    until,
)

SHORT = timedelta(seconds=0.05)
RESTING = plan(step(0, "reserve"), Delay(1, "rest", timedelta(seconds=0.3)), step(2, "ship"))


def _open(folder: Path) -> Path:
    folder.chmod(0o755)  # a server started by root runs as another user
    return folder


def _postmaster(data: Path) -> int:
    return int((data / "postmaster.pid").read_text().split()[0])


async def _is_logged(caplog: pytest.LogCaptureFixture, text: str) -> bool:
    return any(text in record.getMessage() for record in caplog.records)


@pytest.mark.slow  # a server of its own that goes down and comes up
async def test_p15_p27_a_database_that_goes_away_costs_no_run_and_no_worker(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    with tempfile.TemporaryDirectory(prefix="flowx-test-") as name:
        data = _open(Path(name)) / "data"
        server = EmbeddedServer(data, settings={"fsync": "off"})
        journal = await PostgresJournal.open(server.dsn, pool_size=4, patience=timedelta(seconds=0.5))
        substitutes = world.substitutes(RESTING)
        async with FlowHost(
            [RESTING], journal=journal, substitutes=substitutes, sweep_interval=SHORT, lease_ttl=timedelta(seconds=0.5)
        ) as host:
            starts = [host.run("order.place", ORDER, idempotency_key=str(number)) for number in range(30)]
            started = await asyncio.gather(*starts)
            os.kill(_postmaster(data), signal.SIGQUIT)  # at once: no connection is closed, nothing is written
            server.stop()
            # They fall due into nothing; the loops meet a store that is not there.
            await until(lambda: _is_logged(caplog, "cannot be reached"))
            server.start()
            try:

                async def all_ended() -> bool:
                    try:
                        found = [await host.outcome(each.instance_id) for each in started]
                    except Exception:  # it is only coming up
                        return False
                    return all(isinstance(outcome, Completed) for outcome in found)

                await until(all_ended)
            finally:
                await host.close()
                server.stop()
    assert Counter(world.effects)["reserve(o)"] == 30


async def test_p16_of_two_owners_the_former_ones_commit_is_refused(database: Database, clock: VirtualClock) -> None:
    held, going_on = asyncio.Event(), asyncio.Event()

    async def slow(request: Order, ctx: StepContext) -> None:
        held.set()
        await going_on.wait()

    both = plan(step(0, "slow"), step(1, "ship"))
    async with (
        node(database, clock, World(answers={"slow": slow}), both) as former,
        node(database, clock, World(), both) as owner,
    ):
        running = asyncio.create_task(former.run("order.place", ORDER))
        await held.wait()
        database.expire_leases()
        assert await owner.sweep_once() == 1
        rows = database.rows("select * from flow_step order by sequence")
        going_on.set()
        outcome = await running
        assert database.rows("select * from flow_step order by sequence") == rows
        assert isinstance(outcome, Completed), "it tells how the instance stands, not how its own run went"
    assert database.rows("select max(fence), count(*) from flow_instance") == [(2, 1)]


async def test_p16_a_run_that_cannot_go_on_holds_up_no_other_of_its_batch(
    database: Database, clock: VirtualClock
) -> None:
    waiting, world = plan(Delay(0, "rest", DAY), step(1, "ship")), World()
    async with node(database, clock, world, waiting) as host:
        runs = [await host.run("order.place", ORDER) for _ in range(5)]
        database.change(
            "update flow_instance set input = '{\"unknown\": 1}' where instance_id = %s", runs[2].instance_id
        )
        clock.advance(DAY)
        await host.sweep_once()
        found = [database.state(run.instance_id) for run in runs]
    assert found == ["Completed", "Completed", "Suspended", "Completed", "Completed"]


async def test_p17_a_restart_does_nothing_for_each_parked_run(database: Database, clock: VirtualClock) -> None:
    waiting, world = plan(Delay(0, "rest", DAY), step(1, "ship")), World()
    async with node(database, clock, world, waiting) as host:
        await host.run("order.place", ORDER)
    database.change(
        """
        insert into flow_instance (instance_id, flow_id, flow_version, plan_digest, state, fence, input, created_at,
            updated_at, wake_at, wake_step_id, wake_scope, wait_count)
        select gen_random_uuid(), flow_id, flow_version, plan_digest, state, fence, input, created_at, updated_at,
            wake_at, wake_step_id, wake_scope, wait_count from flow_instance, generate_series(1, 20000)
        """
    )
    written = "select count(*), max(xmin::text::bigint), sum(fence) from flow_instance"
    before = database.rows(written)
    async with node(database, clock, world, waiting, sweep_interval=SHORT) as back:
        assert await back.sweep_once() == 0
        assert database.rows(written) == before
        assert database.rows("select count(*) from flow_lease where expires_at > now()") == [(0,)]


def everything() -> tuple[Any, Any]:
    """A fork that waits twice, a loop that waits, a child that waits."""
    parent = plan(
        Parallel(0, (1, 3), 5, Merge.ALL_MUST_SUCCEED),
        AwaitSignal(1, "approved", APPROVED, DAY),
        step(2, "a"),
        Delay(3, "rest", DAY),
        step(4, "b"),
        ForEach(5, lambda ctx: (Order(name="x"), Order(name="y")), Order, 8, 2),
        Delay(6, "in the loop", DAY),
        step(7, "c"),
        SubFlow(8, "child", "order.child", "1.0.0", lambda ctx: ctx.input),
    )
    return parent, plan(Delay(0, "rest", DAY), step(1, "x"), flow_id="order.child")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_p19_whatever_dies_every_open_run_has_something_that_goes_on_with_it(
    database: Database, clock: VirtualClock, when: str
) -> None:
    plans, world = everything(), World()
    for crash in range(12):
        CrashingJournal.crash(**{when: {crash}})
        async with node(database, clock, world, *plans, journal=CrashingJournal) as host:
            await asyncio.gather(
                host.run("order.place", ORDER, idempotency_key=str(crash)),
                return_exceptions=True,
            )
            assert database.stuck() == []
            ((instance_id,),) = database.rows(
                "select instance_id from flow_instance where flow_id = 'order.place' and state <> 'Completed'"
            )
            await asyncio.gather(host.signal(instance_id, Approved(by="ada")), return_exceptions=True)
            while database.state(instance_id) != "Completed":
                assert database.stuck() == []
                ((wake_at,),) = database.rows("select min(wake_at) from flow_instance")
                clock.move_to(wake_at or clock.now())
                database.expire_leases()
                await host.sweep_once()
    assert database.rows("select state, count(*) from flow_instance group by state") == [("Completed", 24)]


@pytest.mark.slow  # a step that is busy for longer than its lease lasts
async def test_p20_p21_a_step_that_is_busy_for_longer_than_its_lease_runs_once(
    database: Database, clock: VirtualClock
) -> None:
    busy = plan(step(0, "spin"), step(1, "ship"))
    ran: list[int] = []

    def spin(request: Order, ctx: StepContext) -> Note:
        ran.append(threading.get_ident())
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            pass
        return Note(text="")

    settings: dict[str, Any] = {"sweep_interval": SHORT, "lease_ttl": timedelta(seconds=0.9)}
    world = World()
    async with (
        node(database, clock, world, busy, substitutes={"spin": spin}, **settings) as one,
        node(database, clock, world, busy, substitutes={"spin": spin}, **settings),
    ):
        assert isinstance(await one.run("order.place", ORDER), Completed)
    assert len(ran) == 1
    assert database.rows("select max(fence) from flow_instance") == [(1,)]


@pytest.mark.parametrize("early", [True, False], ids=["before the wait", "while it is open"])
async def test_p23_a_signal_is_stored_first_and_matched_second(
    database: Database, clock: VirtualClock, early: bool
) -> None:
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: Order, ctx: StepContext) -> None:
        arrived.set()
        await go_on.wait()

    waiting = plan(step(0, "slow"), AwaitSignal(1, "approved", APPROVED, DAY), step(2, "ship"))
    async with (
        node(database, clock, World(answers={"slow": slow}), waiting) as host,
        node(database, clock, World(), waiting) as sender,
    ):
        running = asyncio.create_task(host.run("order.place", ORDER))
        await arrived.wait()
        (instance_id,) = database.rows("select instance_id from flow_instance")[0]
        if early:
            await sender.signal(instance_id, Approved(by="ada"), delivery_id="d")
        go_on.set()
        await running
        await sender.signal(instance_id, Approved(by="ada"), delivery_id="d")
        assert isinstance(await host.outcome(instance_id), Completed)
        await sender.signal(instance_id, Approved(by="ada"), delivery_id="d")  # known, and so no error
        with pytest.raises(InstanceTerminal):
            await sender.signal(instance_id, Approved(by="eve"), delivery_id="another")
    assert database.steps(instance_id).count("|1|order.approved|Success") == 1


async def test_p24_no_wake_up_is_lost_between_parking_and_delivering(database: Database, clock: VirtualClock) -> None:
    waiting = plan(AwaitSignal(0, "approved", APPROVED, DAY), AwaitSignal(1, "paid", PAID, DAY), step(2, "ship"))
    world = World()
    async with node(database, clock, world, waiting) as one, node(database, clock, world, waiting) as other:
        ids = [uuid4() for _ in range(64)]

        async def waits(number: int) -> None:
            await (one, other)[number % 2].run("order.place", ORDER, instance_id=ids[number])

        async def sends(number: int, message: Any) -> None:
            sender = (other, one)[number % 2]

            async def is_there() -> bool:
                return await sender_knows(sender, ids[number])

            await until(is_there)
            await sender.signal(ids[number], message)

        await asyncio.gather(
            *(waits(number) for number in range(64)),
            *(sends(number, Approved(by="ada")) for number in range(64)),
            *(sends(number, Paid(reference="r")) for number in range(64)),
        )
        assert database.stuck() == []
        # What was delivered while somebody worked on the instance is met by that run; nothing is left for a sweep.
        states = Counter(state for (state,) in database.rows("select state from flow_instance"))
        while await one.sweep_once():
            continue
    assert database.rows("select state, count(*) from flow_instance group by state") == [("Completed", 64)], states
    assert len(world.effects) == 64


async def test_p24_a_signal_and_a_timeout_at_one_instant_take_one_way(database: Database, clock: VirtualClock) -> None:
    waiting = plan(AwaitSignal(0, "approved", APPROVED, DAY, 2), step(1, "escalate"), step(2, "ship"))
    world = World()
    async with node(database, clock, world, waiting) as one, node(database, clock, world, waiting) as other:
        runs = [await one.run("order.place", Order(name=str(number))) for number in range(30)]
        clock.advance(DAY)
        await asyncio.gather(
            one.sweep_once(),
            *(other.signal(run.instance_id, Approved(by="ada")) for run in runs),
            return_exceptions=True,  # one that came after the end is told so
        )
        while await one.sweep_once():
            continue
    assert database.rows("select state, count(*) from flow_instance group by state") == [("Completed", 30)]
    for number, run in enumerate(runs):
        ways = [row for row in database.steps(run.instance_id) if "ship" not in row]
        assert ways in (["|0|order.approved|Success"], ["|1|escalate|Success"])
        assert world.effects.count(f"escalate({number})") == ("escalate" in ways[0])
        assert world.effects.count(f"ship({number})") == 1


async def sender_knows(host: FlowHost, instance_id: Any) -> bool:
    try:
        await host.inspect(instance_id)
    except UnknownInstance:
        return False
    return True


@pytest.mark.parametrize("ending", ["Completed", "Cancelled"])
async def test_p26_an_ended_run_takes_no_further_write(database: Database, clock: VirtualClock, ending: str) -> None:
    waiting, world = plan(AwaitSignal(0, "approved", APPROVED, DAY)), World()
    async with node(database, clock, world, waiting) as host:
        outcome = await host.run("order.place", ORDER)
        if ending == "Cancelled":
            await host.cancel(outcome.instance_id)
            with pytest.raises(InstanceTerminal):
                await host.signal(outcome.instance_id, Approved(by="ada"))
        else:
            await host.signal(outcome.instance_id, Approved(by="ada"))
            with pytest.raises(InstanceTerminal):
                await host.cancel(outcome.instance_id)
        before = database.rows("select * from flow_instance")
        journal = await PostgresJournal.open(database.dsn, schema=database.schema)
        for state in (State.RUNNING, State.FAILED, State.COMPLETED):
            answer = await journal.commit(Commit(outcome.instance_id, 10**6, state=state))
            assert isinstance(answer, Refused)
            assert answer.reason is Refusal.INSTANCE_TERMINAL
        await journal.close()
        clock.advance(30 * DAY)
        await host.resume(outcome.instance_id)
        await host.sweep_once()
        assert database.rows("select * from flow_instance") == before
    assert before[0][database.columns("flow_instance").index("state")] == ending


@pytest.mark.parametrize("moment", ["parked", "running"])
async def test_p25_a_cancel_takes_the_timer_with_it(database: Database, clock: VirtualClock, moment: str) -> None:
    waiting, world = plan(step(0, "reserve", undo="free"), Delay(1, "rest", DAY), step(2, "ship")), World()
    async with node(database, clock, world, waiting) as host:

        async def cancels(request: Order, ctx: StepContext) -> None:
            if moment == "running":
                await host.cancel(ctx.instance_id, "changed their mind")

        world.answers["reserve"] = cancels
        outcome = await host.run("order.place", ORDER)
        if moment == "parked":
            await host.cancel(outcome.instance_id, "changed their mind")
        await host.sweep_once()
        assert database.rows("select state, wake_at, wait_count from flow_instance") == [("Cancelled", None, 0)]
        clock.advance(DAY)
        await host.sweep_once()
    assert world.effects == ["reserve(o)", "free(o)"]


async def test_p56_a_rolling_restart_under_load_loses_and_repeats_nothing(
    database: Database, clock: VirtualClock
) -> None:
    waiting, world = plan(step(0, "reserve"), Delay(1, "rest", DAY), step(2, "ship")), World()

    under_way = asyncio.Event()

    async def slow(request: Order, ctx: StepContext) -> None:
        under_way.set()
        for _ in range(20):
            await asyncio.sleep(0)

    world.answers["reserve"] = world.answers["ship"] = slow
    async with node(database, clock, world, waiting) as leaving:
        starts = [asyncio.create_task(leaving.run("order.place", ORDER, idempotency_key=str(n))) for n in range(20)]
        await under_way.wait()
        await leaving.close()  # what a SIGTERM leads to: nothing new, and what is under way parks or ends
        started = await asyncio.gather(*starts, return_exceptions=True)
    assert database.stuck() == []
    assert database.rows("select count(*) from flow_lease where expires_at > now()") == [(0,)]
    assert not [each for each in started if not isinstance(each, Suspended)]
    clock.advance(DAY)
    async with node(database, clock, world, waiting) as back:
        await to_the_end(database, clock, back)
    assert Counter(world.effects) == {"reserve(o)": 20, "ship(o)": 20}
