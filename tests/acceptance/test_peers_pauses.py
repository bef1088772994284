"""Pauses: cases users of other engines reported, by their number."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from flowx_runtime import (
    Completed,
    Contract,
    Failed,
    FlowHost,
    KeyRing,
    MemoryJournal,
    Sensitive,
    StepContext,
    SubFlowMode,
    Suspended,
)
from flowx_runtime.host.errors import FlowPaused
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.pauses import EVERY_FLOW
from flowx_runtime.journal.records import Filter, State
from flowx_runtime.plan import AwaitSignal, Plan, SubFlow
from tests.acceptance.conftest import Database, VirtualClock
from tests.acceptance.small_flows import APPROVED, DAY, ORDER, Approved, Note, World, node, plan, step

ORDERING = plan(step(0, "reserve", undo="free"), AwaitSignal(1, "approved", APPROVED, DAY), step(2, "ship"))
OTHER = plan(step(0, "look"), flow_id="order.look", digest="d2")


def _parent(mode: SubFlowMode) -> Plan[Any, Any]:
    child = SubFlow(0, "look", "order.look", "1.0.0", lambda ctx: ctx.get(type(ORDER)), mode)
    return plan(child, step(1, "ship"), flow_id="order.parent", digest="d3")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(params=["memory", "postgres"])
async def host(
    request: pytest.FixtureRequest, database: Database, clock: VirtualClock, world: World
) -> AsyncIterator[FlowHost]:
    kept: Any = {"journal": MemoryJournal()} if request.param == "memory" else {}
    plans = (ORDERING, OTHER, _parent(SubFlowMode.INLINE))
    async with node(database, clock, world, *plans, **kept) as opened:
        yield opened


def _journal(host: FlowHost) -> Journal:
    assert host._journal is not None
    return host._journal


async def test_p55_a_start_of_a_paused_flow_is_accepted_and_begins_when_it_may(host: FlowHost, world: World) -> None:
    await _journal(host).pause("order.place", "the warehouse is down")
    outcome = await host.run("order.place", ORDER, idempotency_key="k")
    assert outcome == Suspended(outcome.instance_id, ())
    assert await host.run("order.place", ORDER, idempotency_key="k") == outcome
    assert await host.sweep_once() == 0
    assert world.effects == []
    assert isinstance(await host.run("order.look", ORDER), Completed), "other flows go on"
    await _journal(host).unpause("order.place")
    assert await host.sweep_once() == 1
    assert world.effects == ["look(o)", "reserve(o)"]
    assert await host.outcome(outcome.instance_id) == Suspended(outcome.instance_id, ("order.approved",))


async def test_p55_a_signal_is_kept_and_met_when_the_flow_may_go_on(host: FlowHost, world: World) -> None:
    parked = (await host.run("order.place", ORDER)).instance_id
    await _journal(host).pause("order.place")
    await host.signal(parked, Approved(by="ada"))
    assert await host.sweep_once() == 0
    assert await host.outcome(parked) == Suspended(parked, ("order.approved",))
    await _journal(host).unpause("order.place")
    assert await host.sweep_once() == 1
    assert isinstance(await host.outcome(parked), Completed)
    assert world.effects == ["reserve(o)", "ship(o)"]


async def test_p55_what_is_under_way_goes_on_to_its_next_park(host: FlowHost, world: World) -> None:
    async def pausing(request: Any, ctx: StepContext) -> Note:
        await _journal(host).pause("order.place")
        return Note(text="reserved")

    world.answers["reserve"] = pausing
    parked = await host.run("order.place", ORDER)
    assert parked == Suspended(parked.instance_id, ("order.approved",))


async def test_p55_whoever_would_go_on_by_hand_is_told(host: FlowHost, world: World) -> None:
    parked = (await host.run("order.place", ORDER)).instance_id
    await _journal(host).pause("order.place", "the warehouse is down")
    for ask in (host.resume, host.retry):
        with pytest.raises(FlowPaused, match=r"order.place is paused \(the warehouse is down\): `flowx unpause order"):
            await ask(parked)
    assert (await host.inspect(parked)).instance.state is State.SUSPENDED


async def test_p55_a_cancelled_instance_goes_back_when_the_flow_may_go_on(host: FlowHost, world: World) -> None:
    parked = (await host.run("order.place", ORDER)).instance_id
    await _journal(host).pause(EVERY_FLOW)
    assert isinstance(await host.cancel(parked, "changed their mind"), Suspended)
    assert await host.sweep_once() == 0
    assert world.effects == ["reserve(o)"]
    await _journal(host).unpause(EVERY_FLOW)
    await host.sweep_once()
    assert isinstance(await host.outcome(parked), Failed)
    assert world.effects == ["reserve(o)", "free(o)"]


async def test_p55_a_parent_waits_for_a_child_whose_flow_is_paused(host: FlowHost, world: World) -> None:
    await _journal(host).pause("order.look")
    parent = (await host.run("order.parent", ORDER)).instance_id
    assert world.effects == []
    assert (await host.inspect(parent)).instance.state is State.SUSPENDED
    await _journal(host).unpause("order.look")
    await host.sweep_once()
    assert world.effects == ["look(o)", "ship(o)"]
    assert isinstance(await host.outcome(parent), Completed)


async def test_p55_the_end_of_a_child_leaves_a_paused_parent_alone(host: FlowHost, world: World) -> None:
    await _journal(host).pause("order.look")
    parent = (await host.run("order.parent", ORDER)).instance_id
    await _journal(host).pause("order.parent")
    await _journal(host).unpause("order.look")
    await host.sweep_once()
    (child,) = await _journal(host).find(Filter(flow_id="order.look"))
    assert child.state is State.COMPLETED
    assert (await host.inspect(parent)).instance.state is State.SUSPENDED
    await _journal(host).unpause("order.parent")
    await host.sweep_once()
    assert isinstance(await host.outcome(parent), Completed)


async def test_p55_a_deadline_goes_on_counting_while_a_flow_is_paused(
    host: FlowHost, world: World, clock: VirtualClock
) -> None:
    parked = (await host.run("order.place", ORDER)).instance_id
    await _journal(host).pause(str(parked))
    clock.advance(DAY + timedelta(seconds=1))
    assert await host.sweep_once() == 0
    await _journal(host).unpause(str(parked))
    await host.sweep_once()
    assert world.effects == ["reserve(o)", "free(o)"]
    assert isinstance(await host.outcome(parked), Failed)


class Patient(Contract):
    name: str
    number: Sensitive[str]


async def test_p55_what_would_wait_without_its_sensitive_members_is_refused_unless_there_is_a_key_ring(
    database: Database, clock: VirtualClock
) -> None:
    treating = plan(step(0, "treat", takes=Patient), AwaitSignal(1, "approved", APPROVED, DAY), input=Patient)
    ada, store, world = Patient(name="ada", number="7"), MemoryJournal(), World()
    async with node(database, clock, world, treating, journal=store) as host:
        known = await host.run("order.place", ada, idempotency_key="before")
        await store.pause("order.place", "the clinic is closed")
        with pytest.raises(FlowPaused, match="a Patient would wait without its sensitive members: start it afterwards"):
            await host.run("order.place", ada, idempotency_key="k")
        assert await host.run("order.place", ada, idempotency_key="before") == known
        assert len(await store.find(Filter())) == 1
    sealing = KeyRing({"k1": b"0" * 32}, current="k1")
    async with node(database, clock, world, treating, journal=store, key_ring=sealing) as host:
        waiting = await host.run("order.place", ada, idempotency_key="k")
        await store.unpause("order.place")
        await host.sweep_once()
        assert await host.outcome(waiting.instance_id) == Suspended(waiting.instance_id, ("order.approved",))
    assert world.effects == ["treat(ada)", "treat(ada)"]
