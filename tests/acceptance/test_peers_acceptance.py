"""What users of other engines reported, on the example applications; the number is that of the case."""

from __future__ import annotations

import asyncio
import gc
from datetime import timedelta
from typing import Any

import pytest
from offers.app import capabilities
from offers.contracts import OfferToAccept
from offers.plans import CATALOG
from offers.signature_service import SignatureService

from flowx_runtime import Completed, Failed, Suspended
from tests.acceptance.conftest import Database, VirtualClock
from tests.acceptance.small_flows import until
from tests.acceptance.test_offer_accept import OFFER, SIGNED


@pytest.fixture
def signatures() -> SignatureService:
    return SignatureService(0.0)


async def test_p22_a_wait_and_its_timeout_are_one_row_in_one_commit(
    open_host: Any, database: Database, signatures: SignatureService
) -> None:
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        assert isinstance(outcome, Suspended)
    (row,) = database.rows("select state, wake_at, wake_step_id, wake_signal_id, xmin::text from flow_instance")
    assert row[0] == "Suspended"
    assert row[1] is not None
    assert row[2:4] == (1, "offer.countersigned")
    (step,) = database.rows("select xmin::text from flow_step")
    assert step[0] == row[4], "the step before the wait and the park are one transaction"


async def test_p23_a_signal_at_once_after_the_start_twice_and_late_is_delivered_once(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        await asyncio.gather(*(host.signal(outcome.instance_id, SIGNED, delivery_id="d-1") for _ in range(8)))
        clock.advance(timedelta(days=1))
        await host.sweep_once()
        assert isinstance(await host.outcome(outcome.instance_id), Completed)
        await host.signal(outcome.instance_id, SIGNED, delivery_id="d-1")
    taken = [row for row in database.steps(outcome.instance_id) if "offer.countersigned" in row]
    assert taken == ["|1|offer.countersigned|Success"]


async def test_p25_a_wait_that_a_signal_ended_has_no_timer_left(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
        await host.signal(outcome.instance_id, SIGNED)
        clock.advance(timedelta(days=1))
        await host.sweep_once()
        rows = database.steps(outcome.instance_id)
        clock.advance(timedelta(days=30))
        await host.sweep_once()
        assert database.steps(outcome.instance_id) == rows


async def test_p28_a_timer_that_fell_due_while_nothing_ran_fires_when_a_node_is_back(
    open_host: Any, database: Database, clock: VirtualClock, signatures: SignatureService
) -> None:
    async with open_host(CATALOG, capabilities(signatures)) as host:
        outcome = await host.run("offer.accept", OFFER)
    clock.advance(timedelta(days=20))
    async with open_host(CATALOG, capabilities(signatures)) as back:
        await back.sweep_once()
        assert isinstance(await back.outcome(outcome.instance_id), Failed)


async def test_p31_concurrent_starts_with_one_key_are_one_run_and_one_answer(
    open_host: Any, database: Database, signatures: SignatureService
) -> None:
    async with open_host(CATALOG, capabilities(signatures)) as host:
        starts = [host.run("offer.accept", OFFER, idempotency_key="offer-1") for _ in range(50)]
        answers = await asyncio.gather(*starts)
    assert len({answer.instance_id for answer in answers}) == 1
    assert database.rows("select count(*) from flow_instance") == [(1,)]
    assert database.rows("select count(*) from flow_step") == [(1,)]


async def test_p42_a_parked_run_has_no_object_in_the_process(
    open_host: Any, database: Database, signatures: SignatureService
) -> None:
    async with open_host(CATALOG, capabilities(signatures)) as host:
        for number in range(20):
            await host.run("offer.accept", OfferToAccept(candidate_id=f"c-{number}", role="x", site="nowhere else"))
        await until(nothing_is_alive)  # the last answer's own task may still be ending


async def nothing_is_alive() -> bool:
    gc.collect()
    return not [item for item in gc.get_objects() if isinstance(item, OfferToAccept) and item.site == "nowhere else"]
