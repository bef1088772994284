"""`offer.accept`: a week for the signature, a day to settle, and no test that waits for either."""

from __future__ import annotations

from datetime import timedelta

from offers.app import capabilities
from offers.contracts import OfferCountersigned, OfferToAccept
from offers.plans import offer_accept_v1_0_0 as offer_accept
from offers.signature_service import SignatureService

from flowx_runtime.testing import (
    FlowTestHost,
    TestHostBuilder,
    VirtualClock,
    crash_everywhere,
    flow_host,
    interleave,
)

OFFER = OfferToAccept(candidate_id="c-42", role="staff-engineer", site="london")


def application() -> TestHostBuilder:
    """The whole application, with a signature service of its own for each host."""
    return flow_host(offer_accept.PLAN).with_capabilities(lambda: capabilities(SignatureService(0.0)))


def signed(host: FlowTestHost) -> OfferCountersigned:
    return OfferCountersigned(envelope_id="env-c-42", signed_by="ada", signed_at=host.now)


async def accept(host: FlowTestHost) -> None:
    run = await host.start(OFFER)
    host.signal_at("P3D", signed(host))
    await host.advance_until_done()
    assert run.completed_with(candidate_id="c-42", onboarding_id="onb-ada")


async def ignore(host: FlowTestHost) -> None:
    run = await host.start(OFFER)
    await host.advance_until_done()
    assert run.failed_with("offer.not_countersigned")
    assert run.trace.compensated == ["offer.withdraw"]


async def sign_twice_at_once(host: FlowTestHost) -> None:
    run = await host.start(OFFER)
    for delivery in ("first", "again"):
        host.signal_at("P3D", signed(host), delivery_id=delivery)
    await host.advance_until_done()
    assert run.trace.executed == ["offer.send", "onboarding.start"]


async def test_a_signed_offer_settles_for_a_day() -> None:
    host = application().build()
    run = await host.start(OFFER)
    assert run.awaiting == ("offer.countersigned",)
    await host.advance("P3D")
    await run.signal(signed(host))
    assert run.suspended
    assert [wait.signal for wait in run.trace.open_waits] == [None]
    begun = host.now
    await host.advance_until_done()
    assert run.completed_with(onboarding_id="onb-ada")
    assert host.now - begun == timedelta(days=1)


async def test_an_unsigned_offer_is_withdrawn_after_a_week() -> None:
    service: list[SignatureService] = []

    def made(clock: VirtualClock) -> list[object]:
        service.append(SignatureService(0.0))
        return capabilities(service[0])

    host = flow_host(offer_accept.PLAN).with_capabilities(made).build()
    begun = host.now
    run = await host.start(OFFER)
    await host.advance("P6DT23H")
    assert run.suspended
    await host.advance_until_done()
    assert run.failed_with("offer.not_countersigned")
    assert host.now - begun == timedelta(days=7)
    assert service[0].open_envelopes == set()


async def test_a_killed_host_changes_nothing() -> None:
    for scenario in (accept, ignore, sign_twice_at_once):
        await crash_everywhere(application(), scenario)


async def test_two_signatures_at_one_instant_start_one_onboarding_in_any_order() -> None:
    await interleave(application(), sign_twice_at_once)
