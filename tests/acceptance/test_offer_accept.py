"""`offer.accept` on PostgreSQL: a wait for a person, a wait for the clock, and the undo of what went out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from offers.app import capabilities
from offers.contracts import OfferCountersigned, OfferToAccept
from offers.plans import CATALOG
from offers.signature_service import SignatureService

from flowx_runtime import Completed, Failed, Suspended
from tests.acceptance.conftest import Database, VirtualClock

OFFER = OfferToAccept(candidate_id="c-42", role="staff-engineer", site="london")
SIGNED = OfferCountersigned(envelope_id="env-c-42", signed_by="ada", signed_at=datetime(2026, 8, 1, 13, 40, tzinfo=UTC))


@pytest.fixture
def signatures() -> SignatureService:
    return SignatureService(0.0)


async def test_a_signed_offer_settles_and_starts_onboarding(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        assert isinstance(outcome, Suspended)
        assert outcome.awaiting == ("offer.countersigned",)
        assert database.live_leases(outcome.instance_id) == 0

        await host.signal(outcome.instance_id, SIGNED)
        settling = await host.outcome(outcome.instance_id)
        assert isinstance(settling, Suspended)
        assert settling.awaiting == ()
        assert database.wake(outcome.instance_id)[1] == 3

        clock.advance(timedelta(days=1))
        await host.sweep_once()
        assert isinstance(await host.outcome(outcome.instance_id), Completed)
        assert database.steps(outcome.instance_id) == [
            "|0|offer.send|Success",
            "|1|offer.countersigned|Success",
            "|3|flow.delay|Success",
            "|4|onboarding.start|Success",
        ]
        assert database.wake(outcome.instance_id) == (None, None, None)
    assert signatures.open_envelopes == {"env-c-42"}


async def test_an_unsigned_offer_is_withdrawn_by_the_clock(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        assert database.wake(outcome.instance_id)[1] == 1
        clock.advance(timedelta(days=7))
    async with open_host(CATALOG, capabilities(signatures)) as another_node:
        await another_node.sweep_once()
        failed = await another_node.outcome(outcome.instance_id)
        assert isinstance(failed, Failed)
        assert failed.error.code == "offer.not_countersigned"
    assert database.steps(outcome.instance_id) == [
        "|0|offer.send|Success",
        "|2||Failure",
        "|0|offer.withdraw|Compensated",
    ]
    assert database.state(outcome.instance_id) == "Failed"
    assert signatures.open_envelopes == set()


async def test_a_sweep_before_the_wait_is_due_touches_nothing(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        before = database.rows("select * from flow_instance")
        clock.advance(timedelta(days=6, hours=23))
        await host.sweep_once()
        assert database.rows("select * from flow_instance") == before
        assert database.steps(outcome.instance_id) == ["|0|offer.send|Success"]


async def test_a_signature_delivered_twice_starts_one_onboarding(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        await host.signal(outcome.instance_id, SIGNED)
        await host.signal(outcome.instance_id, SIGNED)
        clock.advance(timedelta(days=1))
        await host.sweep_once()
        assert isinstance(await host.outcome(outcome.instance_id), Completed)
        assert sum("onboarding.start" in row for row in database.steps(outcome.instance_id)) == 1
