"""`order.pay` with everything that can go wrong around a charge, without a database and without waiting."""

from __future__ import annotations

from dataclasses import dataclass, field

from payments.app import capabilities
from payments.contracts import NothingToShip, OrderLine, PayOrder
from payments.plans import order_pay_v1_0_0 as order_pay
from payments.stand_ins import InMemoryMailer, InMemoryProcessor, InMemoryWarehouse

from flowx_runtime.testing import FlowTestHost, TestHostBuilder, crash_everywhere, fails, flow_host

ORDER = PayOrder(
    order_id="o-1",
    lines=(OrderLine(sku="tea", quantity=2), OrderLine(sku="cup", quantity=1)),
    total_cents=1990,
    card_token="tok-1",
)


@dataclass
class Systems:
    """The three systems, which outlive every host."""

    warehouse: InMemoryWarehouse = field(default_factory=InMemoryWarehouse)
    processor: InMemoryProcessor = field(default_factory=InMemoryProcessor)
    mailer: InMemoryMailer = field(default_factory=InMemoryMailer)

    def around(self) -> TestHostBuilder:
        return flow_host(order_pay.PLAN).with_capabilities(capabilities(self.warehouse, self.processor, self.mailer))


async def test_an_order_is_paid_and_shipped() -> None:
    systems = Systems()
    host = systems.around().build()
    run = await host.start(ORDER)
    assert run.completed_with(charge_id="charge-1", parcel_id="parcel of 2")
    assert systems.mailer.sent == ["o-1 is paid with charge-1"]


async def test_a_processor_that_is_down_for_a_while_is_asked_again_and_nothing_else_is() -> None:
    systems = Systems(processor=InMemoryProcessor(down_for=3))
    host = systems.around().build()
    run = await host.start(ORDER)
    assert run.suspended, "the caller has its answer; the order waits as one row"
    assert not host.leases_held
    await host.advance_until_done()
    assert run.completed_with(charge_id="charge-1")
    assert systems.processor.calls == ["charge 1990"] * 4
    assert systems.warehouse.calls == ["reserve 2 tea", "reserve 1 cup", "ship o-1/tea, o-1/cup"]
    assert len(systems.mailer.sent) == 1


async def test_a_processor_that_stays_down_fails_the_order() -> None:
    systems = Systems(processor=InMemoryProcessor(down_for=99))
    host = systems.around().build()
    run = await host.start(ORDER)
    await host.advance_until_done()
    assert run.failed_with("payment.processor_down")
    assert systems.processor.calls == ["charge 1990"] * 6


async def test_a_declined_card_is_a_decision_and_is_not_asked_again() -> None:
    systems = Systems(processor=InMemoryProcessor(declines=True))
    host = systems.around().build()
    run = await host.start(ORDER)
    assert run.failed_with("payment.card_declined")
    assert systems.processor.calls == ["charge 1990"]


async def test_another_run_for_the_same_order_is_not_charged_again() -> None:
    systems = Systems()
    host = systems.around().build()
    await host.start(ORDER)
    again = await host.start(ORDER)
    assert again.completed_with(charge_id="charge-1")
    assert systems.processor.calls == ["charge 1990"] * 2, "the step runs: it is the processor that knows the key"
    assert sum(systems.processor.charged.values()) == 1990


async def test_what_cannot_be_shipped_is_given_back() -> None:
    systems = Systems()
    host = systems.around().substitute("order.ship", fails(ConnectionError("the warehouse is closed"))).build()
    run = await host.start(ORDER)
    assert run.failed_with("capability.unhandled")
    assert run.trace.compensated == ["payment.refund"]
    assert systems.processor.refunded == {"charge-1"}
    assert systems.warehouse.calls[-2:] == ["release o-1/tea", "release o-1/cup"]


async def test_an_empty_order_is_refused_before_anything_is_done() -> None:
    systems = Systems()
    host = systems.around().build()
    run = await host.start(ORDER.model_copy(update={"lines": ()}))
    assert run.failed_with(NothingToShip.code)
    assert systems.warehouse.calls == []


async def test_wherever_a_host_dies_the_card_is_charged_once() -> None:
    worlds: list[Systems] = []

    def made() -> list[object]:
        worlds.append(Systems(processor=InMemoryProcessor(down_for=2)))
        return capabilities(worlds[-1].warehouse, worlds[-1].processor, worlds[-1].mailer)

    async def pay(host: FlowTestHost) -> None:
        run = await host.start(ORDER)
        await host.advance_until_done()
        assert run.completed_with(charge_id="charge-1")

    crashes = await crash_everywhere(flow_host(order_pay.PLAN).with_capabilities(made), pay)
    assert crashes.boundaries > 8, "each step inside the capability is a boundary"
    for world in worlds:
        assert list(world.processor.charged.values()) == [1990]
