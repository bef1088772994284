"""Hosts that die where a test says, and what `crash_everywhere` holds flows to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flowx_runtime.plan import Step
from flowx_runtime.testing import (
    FlowTestHost,
    Interrupted,
    TestSetupError,
    after,
    crash_everywhere,
    driver,
    fails,
    flow_host,
    sequence,
)
from tests.testing.flows import (
    APPROVED_TWICE,
    CHARGE,
    CHILD,
    DEGRADED,
    FORK,
    FORK_UNDER_A_LIMIT,
    HEDGED,
    LOOK,
    NIGHTLY,
    ONCE,
    ORDER,
    PARENT,
    PARTS,
    RETRIED,
    SLOW,
    STOOD_IN,
    TWO_WAITS,
    Approved,
    Late,
    Order,
    Receipt,
    plan,
)
from tests.testing.scenarios import approve_and_pay, to_the_end

LATE, SOON = Receipt(text="late"), Receipt(text="soon")


async def approve_the_child(host: FlowTestHost) -> None:
    await host.start(ORDER)
    child = await host.newest("test.child")
    assert child.awaiting == ("test.approved",)
    await child.signal(Approved(by="ada"))
    await host.advance_until_done()
    assert host.runs[0].completed_with()


async def cancel(host: FlowTestHost) -> None:
    run = await host.start(ORDER)
    await run.cancel("not wanted")
    assert run.cancelled


async def three_nights(host: FlowTestHost) -> None:
    await host.advance("P3D")


@pytest.mark.parametrize(
    ("builder", "scenario"),
    [
        (flow_host(SLOW), to_the_end),
        (flow_host(SLOW).substitute("test.charge", after("PT1M", Receipt(text="r"))), to_the_end),
        (flow_host(SLOW), cancel),
        (flow_host(RETRIED), to_the_end),
        (flow_host(HEDGED).substitute("test.charge", sequence(after("PT1H", LATE), after("PT1S", SOON))), to_the_end),
        (flow_host(STOOD_IN).substitute("test.charge", fails(Late)).substitute("test.slow", SOON), to_the_end),
        (flow_host(DEGRADED).substitute("test.charge", fails(Late)), to_the_end),
        (flow_host(PARTS), to_the_end),
        (flow_host(ONCE), to_the_end),
        (flow_host(TWO_WAITS), approve_and_pay),
        (flow_host(TWO_WAITS), to_the_end),
        (flow_host(APPROVED_TWICE), to_the_end),
        (flow_host(PARENT, CHILD), approve_the_child),
        (flow_host(PARENT, CHILD), to_the_end),
        (flow_host(NIGHTLY), three_nights),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_every_shape_ends_the_same_wherever_its_host_dies(builder, scenario) -> None:
    crashes = await crash_everywhere(builder, scenario)
    assert len(crashes.passes) == 2 * crashes.boundaries > 0


async def test_a_host_that_dies_before_a_row_is_written_leaves_the_effect_to_be_made_again() -> None:
    async with flow_host(SLOW).build() as host:
        host.crash_before("test.charge")
        run = await host.start(ORDER)
        assert host.crashes == ["killed just before write 2 (row of test.charge; Suspended)"]
        assert [call.capability_id for call in host.calls] == ["test.charge", "test.charge"]
        assert host.calls[0].answer == host.calls[1].answer
        await host.advance_until_done()
        assert run.trace.executed == ["test.charge", "test.look"]


async def test_one_that_dies_after_it_does_not() -> None:
    async with flow_host(SLOW).build() as host:
        host.crash_after("test.charge")
        await host.start(ORDER)
        assert len(host.crashes) == len(host.calls) == 1
        await host.advance_until_done()
        with pytest.raises(TestSetupError, match="no flow of this host has a step 'nothing'"):
            host.crash_after("nothing")


async def test_a_killed_host_cleans_nothing_up() -> None:
    ended: list[int] = []

    async def slow(request: Order, ctx: Any) -> Receipt:
        number = len([call for call in host.calls if call.name == "slow"])
        try:
            await host.sleep("PT1H")
        finally:
            ended.append(number)
        return Receipt(text="r")

    async with flow_host(FORK).substitute("test.slow", slow).build() as host:
        host.crash_after("left")
        run = await host.start(ORDER)
        assert run.completed_with()
        assert [call.name for call in host.calls] == ["slow", "left", "further left", "slow", "test.look"]
        assert ended == [2], "the call that was killed did not come to its `finally`"


async def test_the_timeout_of_a_killed_host_s_call_never_comes() -> None:
    ended: list[str] = []

    async def slow_at_first(request: Order) -> Receipt:
        if host.crashes:
            return SOON
        try:
            await host.sleep("PT3H")
        finally:
            ended.append("the one that was killed")
        return LATE

    async with flow_host(FORK_UNDER_A_LIMIT).substitute("test.slow", slow_at_first).build() as host:
        host.crash_after("left")
        run = await host.start(ORDER)
        assert run.completed_with()
        await host.advance("PT1M")
        assert ended == []


async def test_what_a_killed_host_waited_for_for_real_does_not_bring_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "COURTESY", 0.02)
    answered, effects = asyncio.Event(), []

    async def slow_at_first(request: Order) -> Receipt:
        number = len(effects)
        effects.append("asked")
        if number == 0:
            await answered.wait()
            effects.append("done after it was killed")
        answered.set()
        return SOON

    async with flow_host(FORK).substitute("test.slow", slow_at_first).build() as host:
        host.crash_after("left")
        run = await host.start(ORDER)
        assert run.completed_with()
        assert effects == ["asked", "asked"]


async def test_an_attempt_that_is_made_again_gets_the_answer_it_had() -> None:
    async with flow_host(RETRIED).substitute("test.charge", sequence(fails(Late), SOON)).build() as host:
        host.crash_before("test.charge")
        run = await host.start(ORDER)
        await host.advance_until_done()
        assert run.completed_with()
        assert [type(call.error) for call in host.calls[:2]] == [Late, Late]
        assert host.calls[2].answer == SOON


async def test_an_effect_outside_that_is_repeated_is_seen_by_the_test_s_own_world() -> None:
    """The window stays open: an effect that is not idempotent is repeated where the host dies before its row."""
    charged: list[int] = []

    def charge(request: Order) -> Receipt:
        charged.append(request.number)
        return Receipt(text=f"charged {len(charged)} times")

    async def once(host: FlowTestHost) -> None:
        charged.clear()
        await to_the_end(host)
        assert charged == [7]

    with pytest.raises(
        Interrupted, match=r"killed just before write 2 \(row of test.charge; Suspended\), raised Assertion"
    ):
        await crash_everywhere(flow_host(SLOW).substitute("test.charge", charge), once)


async def test_a_difference_is_told_with_the_place_of_the_crash_and_in_a_few_lines() -> None:
    answers = iter(range(1000))

    def never_the_same() -> Receipt:
        return Receipt(text=str(next(answers)))

    unsteady = plan(
        Step(0, "test.charge", CHARGE), Step(1, "test.look", LOOK), output=Receipt, returns=lambda ctx: ctx.get(Receipt)
    )
    with pytest.raises(Interrupted) as told:
        await crash_everywhere(flow_host(unsteady).substitute("test.charge", never_the_same), to_the_end)
    said = str(told.value)
    assert said.startswith(
        "test.flow, killed just before write 1 (start of test.flow), went another way than undisturbed:"
    )
    assert "it ended otherwise" in said
    assert len(said.splitlines()) < 10
