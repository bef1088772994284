"""Faults that users of other engines reported, each on a database of its own. The docstring names the report."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from flowx_runtime import (
    Backoff,
    Completed,
    Failed,
    FlowHost,
    MemoryJournal,
    PolicySet,
    PostgresJournal,
    Retry,
    StepContext,
    Suspended,
)
from flowx_runtime.plan import AwaitSignal, Delay, Fail, Poll
from tests.acceptance.conftest import Database, VirtualClock
from tests.acceptance.killed_flow import PLAN, reserve, ship
from tests.acceptance.small_flows import (
    APPROVED,
    DAY,
    ORDER,
    Approved,
    CrashingJournal,
    Note,
    Order,
    OutOfStock,
    Status,
    World,
    node,
    plan,
    raising,
    step,
    to_the_end,
    until,
)

LATE = Fail(2, OutOfStock)
WAITS: dict[str, Any] = {
    "delay": (plan(step(0, "reserve"), Delay(1, "rest", DAY), step(2, "ship")), Completed),
    "await": (plan(step(0, "reserve", undo="free"), AwaitSignal(1, "approval", APPROVED, DAY, 3), LATE), Failed),
    "poll": (
        plan(
            step(0, "reserve"),
            Poll(1, lambda ctx: ctx.get(Status).is_done, Backoff.fixed("PT12H"), 2 * DAY),
            step(2, "look", gives=Status),
        ),
        Completed,
    ),
}


class Twice:
    """Is done at the second look."""

    looks = 0

    async def __call__(self, request: Order, ctx: StepContext) -> Status:
        self.looks += 1
        return Status(is_done=self.looks > 1)


@pytest.mark.parametrize(("waiting", "ending"), WAITS.values(), ids=WAITS.keys())
async def test_a_wait_that_falls_due_while_no_worker_is_up_is_met_when_one_is_back(
    database: Database, clock: VirtualClock, waiting: Any, ending: type
) -> None:
    """vercel/workflow#679, elsa-workflows/elsa-core#2443, p28: the timer fires into nothing, and the run is stuck."""
    world = World(answers={"look": Twice()})
    async with node(database, clock, world, waiting) as worker:
        outcome = await worker.run("order.place", ORDER)
        assert isinstance(outcome, Suspended)
    clock.advance(DAY)
    # Nobody asks it to sweep: a worker that starts looks for what fell due before it was there.
    async with node(database, clock, world, waiting, sweep_interval=timedelta(seconds=0.05)) as back:
        await until(lambda: _has_ended(back, outcome.instance_id))
        assert isinstance(await back.outcome(outcome.instance_id), ending)
    assert database.stuck() == []


async def _has_ended(host: FlowHost, instance_id: UUID) -> bool:
    return not isinstance(await host.outcome(instance_id), Suspended)


@pytest.mark.parametrize("journal", ["memory", "postgres"])
async def test_no_process_has_to_remember_a_timer(database: Database, clock: VirtualClock, journal: str) -> None:
    """mastra-ai/mastra#24591: a timer that lives in the process is lost with it, or fires there and nowhere else."""
    waiting, world = plan(Delay(0, "rest", DAY), step(1, "ship")), World()
    shared: Any = MemoryJournal(clock.now) if journal == "memory" else PostgresJournal
    async with (
        node(database, clock, world, waiting, journal=shared) as one,
        node(database, clock, world, waiting, journal=shared) as other,
    ):
        outcome = await one.run("order.place", ORDER)
        clock.advance(DAY - timedelta(seconds=1))
        assert await other.sweep_once() == 0
        clock.advance(timedelta(seconds=1))
        assert await other.sweep_once() == 1
        assert isinstance(await other.outcome(outcome.instance_id), Completed)
        assert await one.sweep_once() == 0
    assert world.effects == ["ship(o)"]


DYING = """
import asyncio, os, signal, sys
from datetime import timedelta
sys.path.insert(0, {root!r})
from flowx_runtime import FlowHost, PostgresJournal
from flowx_runtime.journal.records import State
from tests.acceptance.killed_flow import PLAN, reserve, ship
from tests.acceptance.small_flows import ORDER

class Dies(PostgresJournal):
    async def commit(self, commit):
        if commit.state is State.SUSPENDED and {when!r} == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = await super().commit(commit)
        if commit.state is State.SUSPENDED:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

async def main():
    journal = await Dies.open({dsn!r}, schema={schema!r})
    substitutes = {{"reserve": reserve({effects!r}), "ship": ship({effects!r})}}
    async with FlowHost([PLAN], journal=journal, substitutes=substitutes) as host:
        await host.run(PLAN, ORDER)

asyncio.run(main())
"""


@pytest.mark.parametrize(("when", "reserved"), [("before", 2), ("after", 1)])
async def test_a_process_killed_between_deciding_to_wait_and_recording_the_wake_leaves_no_orphan(
    database: Database, tmp_path: Path, when: str, reserved: int
) -> None:
    """ablative-io/aion#159, p18, p19: the wake is recorded after the decision; without it no sweep sees the run."""
    root, effects = str(Path(__file__).parents[2]), tmp_path / "effects"
    program = DYING.format(root=root, dsn=database.dsn, schema=database.schema, when=when, effects=str(effects))
    died = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program], check=False)
    assert died.returncode == -signal.SIGKILL
    assert database.stuck() == []
    assert [state for (state,) in database.rows("select state from flow_instance")] == [
        "Running" if when == "before" else "Suspended"
    ]

    database.expire_leases()
    journal = await PostgresJournal.open(database.dsn, schema=database.schema)
    substitutes = {"reserve": reserve(str(effects)), "ship": ship(str(effects))}
    host = FlowHost([PLAN], journal=journal, substitutes=substitutes, sweep_interval=timedelta(seconds=0.05))
    (instance_id,) = database.rows("select instance_id from flow_instance")[0]
    async with host:
        await until(lambda: _has_ended(host, instance_id))
    lines = effects.read_text().split()
    # The step's row is in the same write as the park: without it the step is made again, under its own key.
    assert [line.split(":")[0] for line in lines] == ["reserve"] * reserved + ["ship"]
    assert len({line for line in lines if line.startswith("reserve")}) == 1


async def test_what_a_step_draws_is_its_own_rows_and_moves_nothing_after_it(
    database: Database, clock: VirtualClock
) -> None:
    """temporalio/sdk-python#1109, p01: one more random draw before an id shifts every later id of a sleeping run."""
    drawing = plan(
        step(0, "first"),
        Delay(1, "rest", DAY),
        step(2, "second"),
        Delay(3, "more", DAY),
        output=Note,
        returns=lambda ctx: ctx.get(Note),
    )
    drawn: list[str] = []

    async def draws(request: Any, ctx: StepContext) -> Note:
        drawn.append(f"{ctx.new_id()} {ctx.random.random()}")
        return Note(text=drawn[-1])

    async def draws_more(request: Any, ctx: StepContext) -> Note:
        ctx.random.random()
        ctx.new_id()
        return await draws(request, ctx)

    captured = "select step_id, nondeterministic::text from flow_step where step_id in (0, 2) order by step_id"
    async with node(database, clock, World(answers={"first": draws, "second": draws}), drawing) as before:
        outcome = await before.run("order.place", ORDER)
        clock.advance(DAY)
        await before.sweep_once()
    rows = database.rows(captured)
    # The same version with one more draw before everything that was drawn.
    async with node(database, clock, World(answers={"first": draws_more, "second": draws}), drawing) as after:
        clock.advance(DAY)
        await after.sweep_once()
        ended = await after.outcome(outcome.instance_id)
        assert (await after.replay(outcome.instance_id)).is_same
    assert isinstance(ended, Completed)
    assert ended.value == Note(text=drawn[1])
    assert database.rows(captured) == rows
    for number, (_, text) in enumerate(rows):
        assert drawn[number].split()[0] in text
    assert len(drawn) == 2


async def test_overlapping_deliveries_are_taken_in_the_order_they_were_accepted_whatever_dies(
    database: Database, clock: VirtualClock
) -> None:
    """temporalio/sdk-python#673, p02: overlapping deliveries replay in another order than they ran."""
    said: list[Any] = []

    async def hears(request: Approved, ctx: StepContext) -> Note:
        said.append((ctx.scope, ctx.name, request.by))
        return Note(text=request.by)

    nodes: list[Any] = []
    for number in range(3):
        nodes.append(AwaitSignal(2 * number, f"w{number}", APPROVED, DAY))
        nodes.append(step(2 * number + 1, "hear", takes=Approved, name=f"hear{number}"))
    listening = plan(*nodes)
    world = World(answers={"hear": hears})
    for crash in (None, *range(1, 5)):
        CrashingJournal.crash(after=set() if crash is None else {crash})
        said.clear()
        async with node(database, clock, world, listening, journal=CrashingJournal) as host:
            outcome = await host.run("order.place", ORDER, idempotency_key=str(crash))
            sent = [host.signal(outcome.instance_id, Approved(by=str(number))) for number in range(3)]
            await asyncio.gather(*sent, return_exceptions=True)
            assert database.stuck() == []
            database.expire_leases()
            while await host.sweep_once():
                database.expire_leases()
            assert isinstance(await host.outcome(outcome.instance_id), Completed), crash
            assert (await host.replay(outcome.instance_id)).is_same
        accepted = database.rows(
            "select payload ->> 'by' from flow_inbox where instance_id = %s order by received_sequence",
            outcome.instance_id,
        )
        taken = database.rows(
            "select result ->> 'by' from flow_step where instance_id = %s and capability_id = 'order.approved' "
            "order by sequence",
            outcome.instance_id,
        )
        assert taken == accepted
        assert list(dict.fromkeys(by for _, _, by in said)) == [by for (by,) in accepted]


@pytest.mark.parametrize(("failures", "ending"), [(2, Completed), (3, Failed)], ids=["the last succeeds", "none does"])
async def test_a_resumed_run_keeps_the_budget_and_the_result_of_a_step_that_is_retried(
    database: Database, clock: VirtualClock, failures: int, ending: type
) -> None:
    """dbos-inc/dbos-transact-py#260: a run resumed while a step has a retry loses the budget, or the result."""
    retried = PolicySet("p", retry=Retry(3, Backoff.fixed("PT1M")))
    trying = plan(
        step(0, "reserve", undo="free"),
        step(1, "pay", policy=retried),
        output=Note,
        returns=lambda ctx: ctx.get(Note),
    )
    world = World(answers={"pay": raising(OutOfStock, times=failures)})
    async with node(database, clock, world, trying) as first:
        outcome = await first.run("order.place", ORDER)
        assert isinstance(outcome, Suspended)
    for _ in range(2):
        clock.advance(timedelta(minutes=1))
        async with node(database, clock, world, trying) as another:
            await another.sweep_once()
            ended = await another.outcome(outcome.instance_id)
    assert isinstance(ended, ending)
    assert len(world.keys("pay")) == 3
    assert len(set(world.keys("pay"))) == 1
    if isinstance(ended, Completed):
        assert ended.value == Note(text="pay")
    else:
        assert world.effects == ["reserve(o)", "free(o)"]


@pytest.mark.parametrize("crash", range(4))
async def test_a_crash_anywhere_in_a_retry_grants_no_fresh_budget(
    database: Database, clock: VirtualClock, crash: int
) -> None:
    """dbos-inc/dbos-transact-py#260, with the process gone instead of parked: attempts are counted from rows."""
    retried = PolicySet("p", retry=Retry(3, Backoff.fixed("PT0.1S")))
    trying, world = plan(step(0, "pay", policy=retried)), World(answers={"pay": raising(OutOfStock)})
    CrashingJournal.crash(after={crash})
    async with node(database, clock, world, trying, journal=CrashingJournal) as host:
        await asyncio.gather(host.run("order.place", ORDER), return_exceptions=True)
        await to_the_end(database, clock, host)
    (instance_id,) = database.rows("select instance_id from flow_instance")[0]
    assert database.steps(instance_id) == ["|0|pay|Failure"] * 3
    assert len(world.keys("pay")) == 3
