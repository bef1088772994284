"""Large values: cases users of other engines reported, by their number."""

from __future__ import annotations

from typing import Any

import pytest

from flowx_runtime import Completed, Failed, StepContext, SubFlowMode, Suspended
from flowx_runtime.engine.documents import VALUE_LIMIT, ValueTooLarge
from flowx_runtime.journal.records import RowOutcome, State
from flowx_runtime.plan import AwaitSignal, Emit, SubFlow
from tests.acceptance.conftest import Database, VirtualClock
from tests.acceptance.small_flows import (
    APPROVED,
    DAY,
    NOTED,
    ORDER,
    Approved,
    Note,
    Noted,
    Order,
    World,
    node,
    plan,
    step,
)

LIMIT = 1000
CODE = "flow.value_too_large"
LARGE = "x" * LIMIT
ORDERING = plan(step(0, "reserve", undo="free"), step(1, "weigh"), step(2, "ship"))


def _gives(text: str) -> Any:
    async def answer(request: Any, ctx: StepContext) -> Note:
        return Note(text=text)

    return answer


async def test_p40_a_result_over_the_limit_fails_its_step_and_nothing_is_half_written(
    database: Database, clock: VirtualClock
) -> None:
    world = World(answers={"weigh": _gives(LARGE)})
    async with node(database, clock, world, ORDERING, value_limit=LIMIT) as host:
        outcome = await host.run("order.place", ORDER)
        assert isinstance(outcome, Failed)
        rows = (await host.inspect(outcome.instance_id)).rows
        assert isinstance(await host.run("order.place", ORDER), Failed), "the node goes on"
    assert (outcome.error.code, outcome.error.category) == (CODE, "internal")
    assert outcome.error.detail == (
        "step 'weigh': ValueTooLarge: this Note takes 1,011 bytes, and at most 1,000 of one value are stored: keep it "
        "in a store of its own and pass its key, or raise the host's value_limit"
    )
    assert [(row.name, row.outcome) for row in rows] == [
        ("reserve", RowOutcome.SUCCESS),
        ("weigh", RowOutcome.FAILURE),
        ("reserve", RowOutcome.COMPENSATED),
    ]
    assert LARGE not in str(rows)
    assert world.effects[:3] == ["reserve(o)", "weigh(o)", "free(o)"]


async def test_p40_the_limit_is_in_bytes_and_what_just_fits_is_kept(database: Database, clock: VirtualClock) -> None:
    overhead = len('{"text":""}')
    for character in ("x", "é", "\N{SNOWMAN}", "\N{GRINNING FACE}"):
        size = len(character.encode())
        limit = overhead + 300 * size
        for count, kind in ((300, Completed), (301, Failed)):
            world = World(answers={"reserve": _gives(character * count)})
            async with node(database, clock, world, plan(step(0, "reserve")), value_limit=limit) as host:
                assert isinstance(await host.run("order.place", ORDER), kind), (character, count)


async def test_p40_an_input_or_a_signal_over_the_limit_is_refused_to_who_sends_it(
    database: Database, clock: VirtualClock
) -> None:
    waiting = plan(AwaitSignal(0, "approved", APPROVED, DAY), step(1, "ship"))
    async with node(database, clock, World(), waiting, value_limit=LIMIT) as host:
        with pytest.raises(ValueTooLarge, match=r"this Order takes 1,011 bytes, and at most 1,000"):
            await host.run("order.place", Order(name=LARGE))
        assert database.rows("select count(*) from flow_instance") == [(0,)]
        parked = await host.run("order.place", ORDER)
        with pytest.raises(ValueTooLarge, match="this Approved takes"):
            await host.signal(parked.instance_id, Approved(by=LARGE))
        assert database.rows("select count(*) from flow_inbox") == [(0,)]
        assert isinstance(await host.outcome(parked.instance_id), Suspended)
        await host.signal(parked.instance_id, Approved(by="ada"))
        assert isinstance(await host.outcome(parked.instance_id), Completed)


async def test_p40_an_event_or_an_output_over_the_limit_fails_the_flow_and_stages_nothing(
    database: Database, clock: VirtualClock
) -> None:
    emitting = plan(step(0, "reserve", undo="free"), Emit(1, "noted", NOTED, lambda ctx: Noted(name=LARGE)))
    returning = plan(step(0, "reserve", undo="free"), output=Note, returns=lambda ctx: Note(text=LARGE))
    for flow in (emitting, returning):
        world = World()
        async with node(database, clock, world, flow, value_limit=LIMIT) as host:
            outcome = await host.run("order.place", ORDER)
        assert isinstance(outcome, Failed)
        assert outcome.error.code == CODE
        assert world.effects == ["reserve(o)", "free(o)"]
    assert database.rows("select count(*) from outbox_event") == [(0,)]


@pytest.mark.parametrize("mode", [SubFlowMode.INLINE, SubFlowMode.DETACHED])
async def test_p40_the_input_of_a_sub_flow_over_the_limit_fails_the_parent(
    database: Database, clock: VirtualClock, mode: SubFlowMode
) -> None:
    child = plan(step(0, "look"), flow_id="order.look", digest="d2")
    parent = plan(
        step(0, "reserve", undo="free"),
        SubFlow(1, "look", "order.look", "1.0.0", lambda ctx: Order(name=LARGE), mode),
    )
    world = World()
    async with node(database, clock, world, parent, child, value_limit=LIMIT) as host:
        outcome = await host.run("order.place", ORDER)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == CODE
    assert world.effects == ["reserve(o)", "free(o)"]
    assert database.rows("select flow_id from flow_instance") == [("order.place",)]


async def test_p40_what_a_step_inside_a_capability_gave_over_the_limit_fails_it_and_is_not_done_again(
    database: Database, clock: VirtualClock
) -> None:
    runs: list[str] = []

    async def stepping(request: Any, ctx: StepContext) -> Note:
        async def fetch() -> str:
            runs.append("fetch")
            return LARGE

        return Note(text=await ctx.once("fetch", fetch))

    world = World(answers={"weigh": stepping})
    async with node(database, clock, world, ORDERING, value_limit=LIMIT) as host:
        outcome = await host.run("order.place", ORDER)
        assert isinstance(outcome, Failed)
        assert (await host.inspect(outcome.instance_id)).instance.state is State.FAILED
    assert outcome.error.code == CODE
    assert runs == ["fetch"]
    assert database.rows(
        "select is_done, value::text, error ->> 'code' from flow_once where path like %s", "%fetch"
    ) == [(True, None, CODE)]


async def test_p40_eight_mebibytes_are_stored_where_nothing_else_is_said(
    database: Database, clock: VirtualClock
) -> None:
    for size, kind in ((VALUE_LIMIT - 11, Completed), (VALUE_LIMIT - 10, Failed)):
        world = World(answers={"reserve": _gives("x" * size)})
        async with node(database, clock, world, plan(step(0, "reserve"))) as host:
            assert isinstance(await host.run("order.place", ORDER), kind)
