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
    """Seed 004 §2.0: four rows, and step 2 is missing because the signal jumps past the timeout block."""
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
    """Seed 004 §2.0, the other path: the block's `fail`, then the undo, rebuilt from rows on another node."""
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
    """Seed 004 §2, observations 4 and 6: a wait is a lower bound, and a running one is never fetched."""
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
    """Seed 004 §2, observation 1: the signal is the wait's own row, so a redelivery is inert."""
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        await host.signal(outcome.instance_id, SIGNED)
        await host.signal(outcome.instance_id, SIGNED)
        clock.advance(timedelta(days=1))
        await host.sweep_once()
        assert isinstance(await host.outcome(outcome.instance_id), Completed)
        assert sum("onboarding.start" in row for row in database.steps(outcome.instance_id)) == 1


async def test_the_signal_is_the_waits_own_row_with_the_payload_as_its_result(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    """Seed 004 §2, observations 1 and 2: no signal table; a later step binds a contract that no step produced."""
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        await host.signal(outcome.instance_id, SIGNED)
        clock.advance(timedelta(days=1))
        await host.sweep_once()
        accepted = await host.outcome(outcome.instance_id)
    assert isinstance(accepted, Completed)
    assert accepted.value.onboarding_id == "onb-ada"
    assert database.rows(
        "select result ->> 'signed_by' from flow_step where capability_id = 'offer.countersigned'"
    ) == [("ada",)]


async def test_a_failure_after_the_wait_undoes_what_went_out_before_it(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    """Seed 004 §2, observation 3: the unwind spans the wait, on a node that never ran the first step."""
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        await host.signal(outcome.instance_id, SIGNED)
    assert signatures.open_envelopes == {"env-c-42"}
    clock.advance(timedelta(days=30))  # the flow's own deadline, met at the boundary before onboarding starts
    async with open_host(CATALOG, capabilities(signatures)) as another_node:
        await another_node.sweep_once()
        assert isinstance(await another_node.outcome(outcome.instance_id), Failed)
    assert database.steps(outcome.instance_id) == [
        "|0|offer.send|Success",
        "|1|offer.countersigned|Success",
        "|0|offer.withdraw|Compensated",
    ]
    assert database.state(outcome.instance_id) == "TimedOut"
    assert signatures.open_envelopes == set()


async def test_a_waiting_offer_is_not_swept_up_as_abandoned_work(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    """Seed 004 §2, observation 4: recovery never takes a lease on what is parked, however long ago it was written."""
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        database.expire_leases()
        before = database.rows("select fence, updated_at from flow_instance")
        assert await host.sweep_once() == 0
        assert database.rows("select fence, updated_at from flow_instance") == before
        assert database.live_leases(outcome.instance_id) == 0


async def test_a_wait_that_ended_late_does_not_shorten_the_next(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    """Seed 004 §2, observation 5: instant, step and scope are recorded together, or a stale instant ends the next."""
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        clock.advance(timedelta(days=20))
        await host.signal(outcome.instance_id, SIGNED)
        assert database.wake(outcome.instance_id) == (clock.now() + timedelta(days=1), 3, "")


async def test_a_wait_past_the_flows_deadline_times_out_rather_than_parks(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    """Seed 004 §2: the deadline is the outer bound, on another question, and is asked before a wait is entered."""
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        clock.advance(timedelta(days=29, hours=12))
        await host.signal(outcome.instance_id, SIGNED)
        # The settling day would end after the deadline: it is woken by the deadline and goes back.
        assert database.wake(outcome.instance_id)[0] == clock.now() + timedelta(hours=12)
        clock.advance(timedelta(hours=12))
        await host.sweep_once()
    assert database.state(outcome.instance_id) == "TimedOut"
