"""Determinism, failures as the flow sees them, and versions: cases users of other engines reported, by their number."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from flowx_runtime import Backoff, Completed, Failed, Merge, PolicySet, Retry, StepContext, Suspended, signal
from flowx_runtime.host.errors import NotRunnable
from flowx_runtime.plan import AwaitSignal, Branch, Delay, Parallel, SignalUse, SubFlow
from tests.acceptance.conftest import Database, VirtualClock
from tests.acceptance.small_flows import (
    DAY,
    ORDER,
    CrashingJournal,
    Note,
    Order,
    OutOfStock,
    World,
    node,
    plan,
    raising,
    step,
    to_the_end,
)


@pytest.mark.parametrize("crash", range(4))
@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
async def test_p04_parallel_steps_are_known_by_their_place_and_not_by_who_ended_first(
    database: Database, clock: VirtualClock, order: tuple[str, ...], crash: int
) -> None:
    turns = {name: asyncio.Event() for name in order}
    turns[order[0]].set()

    def in_turn(position: int) -> Any:
        async def answer(request: Order, ctx: StepContext) -> Note:
            await turns[order[position]].wait()
            for later in order[position + 1 : position + 2]:
                turns[later].set()
            return Note(text=order[position])

        return answer

    world = World(answers={name: in_turn(position) for position, name in enumerate(order)})
    forked = plan(
        Parallel(0, (1, 2, 3), 4, Merge.ALL_MUST_SUCCEED), step(1, "a"), step(2, "b"), step(3, "c"), step(4, "join")
    )
    CrashingJournal.crash(after={crash})
    async with node(database, clock, world, forked, journal=CrashingJournal) as dying:
        await asyncio.gather(dying.run("order.place", ORDER), return_exceptions=True)
    for event in turns.values():
        event.set()
    async with node(database, clock, world, forked) as another:
        await to_the_end(database, clock, another)
    (instance_id,) = database.rows("select instance_id from flow_instance")[0]
    assert sorted(database.steps(instance_id)) == [
        "|1|a|Success",
        "|2|b|Success",
        "|3|c|Success",
        "|4|join|Success",
    ]
    assert database.state(instance_id) == "Completed"


async def test_p06_what_is_seen_of_a_failure_is_what_was_journaled_on_every_look(
    database: Database, clock: VirtualClock
) -> None:
    failing = plan(step(0, "reserve", undo="free"), step(1, "pay"))
    world = World(answers={"pay": raising(ZeroDivisionError)})
    async with node(database, clock, world, failing) as host:
        seen = [await host.run("order.place", ORDER, idempotency_key="k") for _ in range(2)]
    async with node(database, clock, world, failing) as another:
        seen.append(await another.outcome(seen[0].instance_id))
        assert (await another.replay(seen[0].instance_id)).is_same
    assert len({repr(outcome) for outcome in seen}) == 1
    ((of_row, of_instance),) = database.rows(
        "select s.error::text, i.error::text from flow_step s join flow_instance i using (instance_id) "
        "where capability_id = 'pay'"
    )
    assert json.loads(of_row) == json.loads(of_instance)
    assert "Traceback" not in of_row
    assert ".py" not in of_row


async def test_p07_a_run_that_cannot_go_on_is_left_as_it_is_tried_ever_more_rarely_and_goes_on_once_it_can(
    database: Database, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    waiting, world = plan(Delay(0, "rest", DAY), step(1, "ship")), World()
    async with node(database, clock, world, waiting) as host:
        outcome = await host.run("order.place", ORDER)
        database.change("update flow_instance set input = '{}'")
        clock.advance(DAY)
        for _ in range(90):  # an hour and a half of sweeps
            await host.sweep_once()
            clock.advance(timedelta(minutes=1))
        tries = [record for record in caplog.records if "could not go on" in record.getMessage()]
        assert 1 < len(tries) < 12
        assert str(outcome.instance_id) in tries[0].getMessage()
        assert (database.state(outcome.instance_id), database.steps(outcome.instance_id)) == ("Suspended", [])
        assert database.live_leases(outcome.instance_id) == 0
        database.change('update flow_instance set input = \'{"name": "o"}\'')
        clock.advance(timedelta(hours=2))
        await host.sweep_once()
        assert isinstance(await host.outcome(outcome.instance_id), Completed)


RETRIED = PolicySet("p", retry=Retry(3, Backoff.fixed("PT0.1S")))
CHILD = plan(step(0, "x", undo="undo-x"), step(1, "breaks"), flow_id="order.child")
PLACES: dict[str, tuple[Any, ...]] = {
    "in a sub-flow": (plan(SubFlow(0, "child", "order.child", "1.0.0", lambda ctx: ctx.input)), CHILD),
    "in a branch": (plan(Parallel(0, (1, 2), 3, Merge.ALL_MUST_SUCCEED), step(1, "breaks"), step(2, "b")),),
    "on the last retry": (plan(step(0, "breaks", policy=RETRIED)),),
}


@pytest.mark.parametrize("plans", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("crash", [None, 0, 1, 2])
async def test_p08_the_error_shown_is_that_of_the_step_that_failed(
    database: Database, clock: VirtualClock, plans: tuple[Any, ...], crash: int | None
) -> None:
    world = World(answers={"breaks": raising(OutOfStock)})
    CrashingJournal.crash(after=set() if crash is None else {crash})
    async with node(database, clock, world, *plans, journal=CrashingJournal) as host:
        await asyncio.gather(host.run("order.place", ORDER), return_exceptions=True)
        await to_the_end(database, clock, host)
        (instance_id,) = database.rows("select instance_id from flow_instance where flow_id = 'order.place'")[0]
        outcome = await host.outcome(instance_id)
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.error.detail) == ("order.out_of_stock", "There is none left.")


class Address(BaseModel):
    model_config = ConfigDict(frozen=True)
    city: str


class Parcel(BaseModel):
    model_config = ConfigDict(frozen=True)
    to: Address


@signal("parcel.moved")
class Moved(BaseModel):
    model_config = ConfigDict(frozen=True)
    to: Address


async def test_p10_p54_pydantic_values_are_of_their_own_classes_inside_a_flow_and_after_a_resume(
    database: Database, clock: VirtualClock
) -> None:
    seen: list[bool] = []

    def looks(ctx: Any) -> bool:
        seen.append(isinstance(ctx.input.to, Address) and isinstance(ctx.get(Moved).to, Address))
        return True

    moving = plan(
        AwaitSignal(0, "moved", SignalUse(Moved, "parcel.moved"), DAY),
        Branch(1, looks, 2),
        Delay(2, "rest", DAY),
        step(3, "send", takes=Parcel, gives=Address),
        input=Parcel,
        output=Address,
        returns=lambda ctx: ctx.get(Address),
    )

    async def send(request: Parcel, ctx: StepContext) -> Address:
        return request.to

    world = World(answers={"send": send})
    async with node(database, clock, world, moving) as host:
        outcome = await host.run("order.place", Parcel(to=Address(city="Bern")))
        await host.signal(outcome.instance_id, Moved(to=Address(city="Genf")))
    clock.advance(DAY)
    async with node(database, clock, world, moving) as another:
        await another.sweep_once()
        assert await another.outcome(outcome.instance_id) == Completed(Address(city="Bern"), outcome.instance_id)
    assert seen == [True, True]


async def test_p13_two_versions_are_live_and_each_run_ends_on_its_own(database: Database, clock: VirtualClock) -> None:
    old = plan(Delay(0, "rest", DAY), step(1, "old"))
    new = replace(old, version="2.0.0", digest="d2", nodes=(Delay(0, "rest", DAY), step(1, "new")))
    world = World()
    async with node(database, clock, world, old) as before:
        first = await before.run("order.place", ORDER)
        # A deploy without a drain: the new node has both, the old one is still up.
        async with node(database, clock, world, old, new) as after:
            second = await after.run("order.place", ORDER)
            clock.advance(DAY)
            assert await before.sweep_once() == 1, "the old node takes what it can run and leaves the rest"
            assert isinstance(await before.outcome(first.instance_id), Completed)
            assert isinstance(await before.outcome(second.instance_id), Suspended)
            await after.sweep_once()
            assert isinstance(await after.outcome(second.instance_id), Completed)
    assert world.effects == ["old(o)", "new(o)"]


async def test_p13_a_run_whose_version_is_gone_is_left_alone_and_goes_on_when_it_is_back(
    database: Database, clock: VirtualClock
) -> None:
    old = plan(Delay(0, "rest", DAY), step(1, "old"))
    changed = replace(old, digest="d2", nodes=(Delay(0, "rest", DAY), step(1, "new")))
    world = World()
    async with node(database, clock, world, old) as before:
        outcome = await before.run("order.place", ORDER)
    clock.advance(DAY)
    async with node(database, clock, world, changed) as other:
        await other.sweep_once()
        assert other.not_runnable[("order.place", "1.0.0", "d1")] == 1
        with pytest.raises(NotRunnable, match="deploy that version next to the new one"):
            await other.resume(outcome.instance_id)
    assert database.steps(outcome.instance_id) == []
    async with node(database, clock, world, old) as back:
        await back.sweep_once()
        assert isinstance(await back.outcome(outcome.instance_id), Completed)
    assert world.effects == ["old(o)"]
