"""What users of other engines reported and a test host can show; the number is that of the case."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from flowx_runtime import Merge
from flowx_runtime.journal.records import State
from flowx_runtime.plan import AwaitSignal, Parallel, Step
from flowx_runtime.testing import FlowTestHost, TestSetupError, after, crash_everywhere, flow_host, interleave
from tests.testing.flows import APPROVED, HOUR, LOOK, ORDER, SLOW, TWO_BRANCHES, Approved, Receipt, charging, plan

THREE = plan(
    Parallel(0, (1, 2, 3), 4, Merge.ALL_MUST_SUCCEED),
    charging(1, "one"),
    charging(2, "two"),
    charging(3, "three"),
    Step(4, "test.look", LOOK),
    output=Receipt,
    returns=lambda ctx: ctx.get(Receipt),
)

QUEUE = plan(
    AwaitSignal(0, "first", APPROVED, HOUR),
    AwaitSignal(1, "second", APPROVED, HOUR),
    AwaitSignal(2, "third", APPROVED, HOUR),
    output=Approved,
    returns=lambda ctx: ctx.get(Approved),
)


async def to_the_end(host: FlowTestHost) -> None:
    run = await host.start(ORDER)
    await host.advance_until_done()
    assert run.completed_with()


async def test_p02_signals_are_consumed_in_the_order_they_came_however_often_the_run_is_killed() -> None:
    async def three_at_once(host: FlowTestHost) -> None:
        run = await host.start(ORDER)
        for number, name in enumerate(("ada", "bea", "cid")):
            host.signal_at(f"PT{number + 1}S", Approved(by=name))
        await host.advance_until_done()
        assert run.completed_with(by="cid")

    await crash_everywhere(QUEUE, three_at_once)
    await interleave(QUEUE, three_at_once)


async def test_p04_three_parallel_steps_that_take_different_times_are_the_same_steps_after_any_crash() -> None:
    def delays(request: Any, ctx: Any) -> Any:
        return {"one": "PT3S", "two": "PT1S", "three": "PT2S"}[ctx.name]

    async def at_its_own_pace(request: Any, ctx: Any) -> Receipt:
        await hosts[-1].sleep(delays(request, ctx))
        return Receipt(text=ctx.name)

    hosts: list[FlowTestHost] = []

    async def remembered(host: FlowTestHost) -> None:
        hosts.append(host)
        await to_the_end(host)
        assert host.runs[0].completed_with(text="three")

    slow = flow_host(THREE).substitute("test.charge", at_its_own_pace)
    await crash_everywhere(slow, remembered)
    await interleave(slow, remembered, seeds=40)


async def test_p19_whatever_is_not_at_its_end_has_a_lease_or_something_to_wait_for() -> None:
    async def looked_at(host: FlowTestHost) -> None:
        run = await host.start(ORDER)
        while run.state is not State.COMPLETED:
            assert host.leases_held == 0
            assert run.trace.open_waits
            await host.advance("PT20M")

    await crash_everywhere(SLOW, looked_at)


async def test_p50_two_slow_steps_side_by_side_take_the_time_of_one() -> None:
    async with flow_host(TWO_BRANCHES).substitute("test.charge", after("PT30S", Receipt(text="r"))).build() as host:
        begun = host.now
        run = await host.start(ORDER)
        assert run.completed_with(text="r")
        assert host.now - begun == timedelta(seconds=30)
        with pytest.raises(TestSetupError, match="only a capability sleeps"):
            await host.sleep("PT1S")
