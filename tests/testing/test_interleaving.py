"""Orders that a seed draws: of two waits, of signals and timers, of branches, of workers that lose their leases."""

from __future__ import annotations

import pytest

from flowx_runtime.engine import composition
from flowx_runtime.testing import FlowTestHost, Interrupted, flow_host, interleave
from flowx_runtime.testing.surroundings import SURROUNDINGS
from tests.testing.flows import (
    APPROVED_TWICE,
    CHILD,
    NIGHTLY,
    ORDER,
    PARENT,
    PARTS,
    RETRIED,
    TWO_BRANCHES,
    TWO_WAITS,
    Approved,
    Paid,
)
from tests.testing.planting import plant
from tests.testing.scenarios import to_the_end, two_nights


async def both_at_once(host: FlowTestHost) -> None:
    run = await host.start(ORDER)
    host.signal_at("PT1M", Approved(by="ada"))
    host.signal_at("PT1M", Paid(amount=3))
    await host.advance_until_done()
    assert run.completed_with()


async def twice_at_once(host: FlowTestHost) -> None:
    await host.start(ORDER)
    host.signal_at("PT1M", Approved(by="ada"), delivery_id="one")
    host.signal_at("PT1M", Approved(by="bea"), delivery_id="two")
    await host.advance_until_done()


@pytest.mark.parametrize(
    ("builder", "scenario"),
    [
        (flow_host(TWO_WAITS), both_at_once),
        (flow_host(TWO_WAITS), to_the_end),
        (flow_host(APPROVED_TWICE), twice_at_once),
        (flow_host(TWO_BRANCHES), to_the_end),
        (flow_host(PARTS), to_the_end),
        (flow_host(RETRIED), to_the_end),
        (flow_host(PARENT, CHILD), to_the_end),
        (flow_host(NIGHTLY), two_nights),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_every_order_comes_to_the_same(builder, scenario) -> None:
    passes = await interleave(builder, scenario, seeds=20)
    assert len(passes) == 20


async def test_seeds_draw_different_orders_and_the_same_seed_the_same_one() -> None:
    orders = []
    for seeds in (range(8), range(8)):
        passes = await interleave(TWO_WAITS, both_at_once, seeds=seeds)
        orders.append([[str(write) for write in told.boundaries] for told in passes.values()])
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders[0]}) > 3


async def test_a_worker_that_lost_its_lease_is_among_them_and_writes_nothing_more() -> None:
    passes = await interleave(RETRIED, to_the_end, seeds=30)
    calls = {told.calls for told in passes.values()}
    assert min(calls) == 2, "two steps"
    assert max(calls) > 2, "a worker that was stopped made an effect that another made again"


async def test_a_seed_that_fails_is_named_and_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    by_position = "sorted(branch for branch, ending in endings.items() if ending == ())"
    plant(monkeypatch, composition.parallel, (by_position, by_position.replace("sorted(", "list(")))
    with pytest.raises(Interrupted, match=r"Run it alone with `pytest --flowx-seed=\d+`") as found:
        await interleave(TWO_BRANCHES, to_the_end, seeds=40)
    seed = int(str(found.value).rpartition("--flowx-seed=")[2].rstrip("`."))
    monkeypatch.setattr(SURROUNDINGS, "only_seed", seed)
    with pytest.raises(Interrupted, match=f"interleaved by seed {seed}"):
        await interleave(TWO_BRANCHES, to_the_end, seeds=range(100, 105))
