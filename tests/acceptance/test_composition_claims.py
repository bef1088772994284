"""What a fork, a loop and a child promise on PostgreSQL, in particular where others admit that they do not."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from flowx_runtime import Completed, Contract, Failed, Merge, StepContext
from flowx_runtime.plan import AwaitSignal, Branch, Delay, ForEach, Jump, Parallel, Step, SubFlow
from tests.acceptance.conftest import Database, VirtualClock
from tests.acceptance.small_flows import (
    APPROVED,
    DAY,
    ORDER,
    Approved,
    CrashingJournal,
    Forbidden,
    Note,
    Order,
    OutOfStock,
    World,
    node,
    plan,
    raising,
    step,
    to_the_end,
    use,
)

KIT = (Order(name="laptop-bag"), Order(name="phone"))


class Checked(Contract):
    """What the arms of the loop's conditional leave."""

    text: str


async def test_an_overlapping_fork_keeps_what_each_branch_read_in_its_own_rows_and_replays(
    database: Database, clock: VirtualClock
) -> None:
    """Seed 004 §6.1, fixed here: the branch that commits first carries none of its sibling's ids."""
    committed, minted = asyncio.Event(), asyncio.Event()
    ids: dict[str, UUID] = {}

    async def mints_and_waits(request: Order, ctx: StepContext) -> None:
        ids["slow"] = ctx.new_id()
        minted.set()
        await committed.wait()

    async def commits_first(request: Order, ctx: StepContext) -> None:
        await minted.wait()
        ids["fast"] = ctx.new_id()

    async def after_the_commit(request: Order, ctx: StepContext) -> None:
        committed.set()

    overlapping = plan(
        Parallel(0, (1, 2), 4, Merge.ALL_MUST_SUCCEED),
        step(1, "slow"),
        step(2, "fast"),
        step(3, "then"),
        step(4, "join"),
    )
    answers = {"slow": mints_and_waits, "fast": commits_first, "then": after_the_commit}
    async with node(database, clock, World(answers=answers), overlapping) as host:
        outcome = await host.run("order.place", ORDER)
        assert isinstance(outcome, Completed)
        assert (await host.replay(outcome.instance_id)).is_same
    rows = database.rows(
        "select capability_id, coalesce(nondeterministic -> 'ids', '[]')::text from flow_step order by sequence"
    )
    assert [capability for capability, _ in rows][:2] == ["fast", "then"]
    read = dict(rows)
    assert str(ids["fast"]) in read["fast"]
    assert str(ids["slow"]) not in read["fast"] + read["then"]
    assert str(ids["slow"]) in read["slow"]


def loop(concurrency: int) -> Any:
    """The body's step binds what the arms of a conditional produced, not the element."""
    checks = use("check", Order, Checked)
    return plan(
        ForEach(0, lambda ctx: KIT, Order, 6, concurrency),
        Branch(1, lambda ctx: ctx.get(Order).name == "phone", 4),
        Step(2, "approve", checks),
        Jump(3, 5),
        Step(4, "clear", checks),
        step(5, "assign", undo="return", takes=Checked),
        step(6, "ship"),
    )


@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize("commit", [None, *range(8)])
async def test_each_undo_sees_its_own_element_whatever_type_it_binds(
    database: Database, clock: VirtualClock, concurrency: int, commit: int | None
) -> None:
    """Seed 004 §7.2, fixed here: others undo the last element twice and say that both went well."""

    async def check(request: Order, ctx: StepContext) -> Checked:
        return Checked(text=request.name)

    world, kit = World(answers={"check": check, "ship": raising(OutOfStock)}), loop(concurrency)
    CrashingJournal.crash(after=set() if commit is None else {commit})
    async with node(database, clock, world, kit, journal=CrashingJournal) as dying:
        await asyncio.gather(dying.run("order.place", ORDER), return_exceptions=True)
    async with node(database, clock, world, kit) as another:
        await to_the_end(database, clock, another)
    undone = [effect for effect in world.effects if effect.startswith("return")]
    if concurrency > 1:
        undone.sort(reverse=True)  # elements that overlap commit in any order, and go back against that one
    assert undone == ["return(phone)", "return(laptop-bag)"]


def family(*child_nodes: Any) -> tuple[Any, Any]:
    """A · child(X, Y) · B, then a step that fails."""
    parent = plan(
        step(0, "a", undo="undo-a"),
        SubFlow(1, "child", "order.child", "1.0.0", lambda ctx: Order(name="child")),
        step(2, "b", undo="undo-b"),
        step(3, "fail"),
    )
    child = plan(
        step(0, "x", undo="undo-x"), *child_nodes, step(1 + len(child_nodes), "y", undo="undo-y"), flow_id="order.child"
    )
    return parent, child


UNWOUND = ["undo-b(o)", "undo-y(child)", "undo-x(child)", "undo-a(o)"]


@pytest.mark.parametrize("commit", range(12))
async def test_a_parent_resumed_at_any_commit_undoes_its_child_in_its_place(
    database: Database, clock: VirtualClock, commit: int
) -> None:
    """Seed 004 §6.2, fixed here: B, Y, X, A wherever the node dies; the child's rows are its stack."""
    parent, child = family()
    world = World(answers={"fail": raising(OutOfStock)})
    CrashingJournal.crash(after={commit})
    async with node(database, clock, world, parent, child, journal=CrashingJournal) as dying:
        await asyncio.gather(dying.run("order.place", ORDER), return_exceptions=True)
    async with node(database, clock, world, parent, child) as another:
        await to_the_end(database, clock, another)
    undone = [effect for effect in world.effects if effect.startswith("undo")]
    assert list(dict.fromkeys(undone)) == UNWOUND
    assert sorted(database.rows("select flow_id, state from flow_instance")) == [
        ("order.child", "Completed"),
        ("order.place", "Failed"),
    ]


async def test_a_child_that_completed_beside_a_branch_that_fails_is_undone(
    database: Database, clock: VirtualClock
) -> None:
    """Seed 004 §6.2, in a fork: the node died before the parent knew, and the next one fails before it asks."""
    _, child = family()
    parent = plan(
        Parallel(0, (1, 2), 3, Merge.ALL_MUST_SUCCEED),
        step(1, "gate"),
        SubFlow(2, "child", "order.child", "1.0.0", lambda ctx: Order(name="child")),
        step(3, "join"),
    )

    async def never(request: Order, ctx: StepContext) -> None:
        await asyncio.Event().wait()

    world = World(answers={"gate": never})
    CrashingJournal.crash(after={1})
    async with node(database, clock, world, parent, child, journal=CrashingJournal) as dying:
        await asyncio.gather(dying.run("order.place", ORDER), return_exceptions=True)
    assert sorted(database.rows("select flow_id, state from flow_instance")) == [
        ("order.child", "Completed"),
        ("order.place", "Running"),
    ]
    world.answers["gate"] = raising(Forbidden)
    async with node(database, clock, world, parent, child) as another:
        await to_the_end(database, clock, another)
    assert world.effects == ["x(child)", "y(child)", "undo-y(child)", "undo-x(child)"]


async def test_an_inline_child_may_wait_and_its_parent_is_undone_with_it(
    database: Database, clock: VirtualClock
) -> None:
    """Seed 004 §9: refused there as `flow.suspension_inside_composition`; here the parent parks on its child."""
    parent, child = family(AwaitSignal(1, "approved", APPROVED, 7 * DAY))
    world = World(answers={"fail": raising(OutOfStock)})
    async with node(database, clock, world, parent, child) as host:
        outcome = await host.run("order.place", ORDER)
        ((waiting,),) = database.rows("select instance_id from flow_instance where flow_id = 'order.child'")
        assert database.live_leases(outcome.instance_id) == database.live_leases(waiting) == 0
    async with node(database, clock, world, parent, child) as another:
        await another.signal(waiting, Approved(by="ada"))
        assert isinstance(await another.outcome(outcome.instance_id), Failed)
    assert world.effects[-4:] == UNWOUND


async def test_the_output_of_a_finished_child_is_bound_by_a_step_of_its_parent_after_a_resume_too(
    database: Database, clock: VirtualClock
) -> None:
    """The compiler counts it among what the parent has, so the run has to leave it there on every pass."""
    parent = plan(
        SubFlow(0, "child", "order.child", "1.0.0", lambda ctx: ctx.input),
        Delay(1, "rest", timedelta(hours=1)),
        step(2, "ship", takes=Note),
    )
    child = plan(step(0, "x"), flow_id="order.child", output=Note, returns=lambda ctx: Note(text="of the child"))
    world = World()
    async with node(database, clock, world, parent, child) as host:
        await host.run("order.place", ORDER)
    clock.advance(timedelta(hours=1))
    async with node(database, clock, world, parent, child) as another:
        await another.sweep_once()
    assert world.effects == ["x(o)", "ship(of the child)"]
