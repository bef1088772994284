"""What callers give and no store could keep is refused in one sentence, before anything has happened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from flowx_runtime import FlowHost, PostgresJournal, Suspended
from flowx_runtime.engine.documents import ValueNotKept
from flowx_runtime.host.errors import NotAnInstanceId, NotStorableText
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.instants import NaiveInstant
from flowx_runtime.journal.memory import MemoryJournal
from flowx_runtime.journal.records import Filter, State
from tests.stress.parcels import PLAN, Order, ParcelArrived, label

ORDER = Order(order_id="o")
ARRIVED = ParcelArrived(parcel_id="p")
NUL, HALF, LONG = "a\x00b", "a\ud800", "x" * 5000


@pytest.fixture(params=["memory", "postgres"])
async def journal(request: pytest.FixtureRequest) -> AsyncIterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal()
        return
    store = await PostgresJournal.open(
        request.getfixturevalue("postgres_dsn"), schema=request.getfixturevalue("schema")
    )
    yield store
    await store.close()


@pytest.fixture
def host(journal: Journal) -> FlowHost:
    return FlowHost([PLAN], [label], journal=journal, sweep_interval=None)


@pytest.mark.parametrize("given", ["seven", "01a22f76-2713-71d4-95bc-84d15dcb2692", None, 7, "a\x00"])
@pytest.mark.parametrize("method", ["resume", "cancel", "outcome", "inspect", "replay"])
async def test_what_is_no_instance_id_is_refused(host: FlowHost, method: str, given: Any) -> None:
    with pytest.raises(NotAnInstanceId, match=r"is not an instance id: give a uuid\.UUID"):
        await getattr(host, method)(given)
    with pytest.raises(NotAnInstanceId):
        await host.signal(given, ARRIVED)
    if given is not None:
        with pytest.raises(NotAnInstanceId):
            await host.run(PLAN, ORDER, instance_id=given)


TEXTS: dict[str, Callable[[FlowHost, UUID, Any], Awaitable[Any]]] = {
    "idempotency key": lambda host, _, text: host.run(PLAN, ORDER, idempotency_key=text),
    "tenant id": lambda host, _, text: host.run(PLAN, ORDER, tenant_id=text),
    "correlation id": lambda host, _, text: host.run(PLAN, ORDER, correlation_id=text),
    "delivery id": lambda host, i, text: host.signal(i, ARRIVED, delivery_id=text),
}


@pytest.mark.parametrize("what", TEXTS)
async def test_a_text_that_no_store_keeps_is_refused_and_nothing_has_happened(
    host: FlowHost, journal: Journal, what: str
) -> None:
    outcome = await host.run(PLAN, ORDER)
    before = await journal.read(outcome.instance_id)
    said = {NUL: "has a NUL character", HALF: "half a surrogate pair", LONG: "has 5000 characters", 7: "of type int"}
    for text, words in said.items():
        with pytest.raises(NotStorableText, match=f"the {what} .*{words}") as refused:
            await TEXTS[what](host, outcome.instance_id, text)
        assert "\n" not in str(refused.value)
    assert await journal.read(outcome.instance_id) == before
    assert len(await journal.find(Filter())) == 1


async def test_a_payload_that_json_cannot_carry_is_refused_and_one_with_a_nul_is_kept(
    host: FlowHost, journal: Journal
) -> None:
    with pytest.raises(ValueNotKept, match="this Order cannot be written as JSON"):
        await host.run(PLAN, Order(order_id=HALF))
    outcome = await host.run(PLAN, Order(order_id=NUL))
    assert isinstance(outcome, Suspended)
    with pytest.raises(ValueNotKept, match="this ParcelArrived cannot be written as JSON"):
        await host.signal(outcome.instance_id, ParcelArrived(parcel_id=HALF))
    await host.signal(outcome.instance_id, ParcelArrived(parcel_id=NUL))
    history = await journal.read(outcome.instance_id)
    assert history is not None
    assert [ParcelArrived.model_validate_json(row.result or "").parcel_id for row in history.rows[1:]] == [NUL]


@pytest.mark.parametrize("reason", [NUL, HALF, LONG])
async def test_no_reason_keeps_an_instance_from_being_cancelled(host: FlowHost, journal: Journal, reason: str) -> None:
    outcome = await host.run(PLAN, ORDER)
    await host.cancel(outcome.instance_id, reason)
    history = await journal.read(outcome.instance_id)
    assert history is not None
    assert history.instance.state is State.CANCELLED


async def test_a_date_without_a_time_zone_is_refused(journal: Journal) -> None:
    noon = datetime(2031, 5, 6, 12)  # noqa: DTZ001
    with pytest.raises(NaiveInstant, match="2031-05-06T12:00:00 has no time zone"):
        await journal.prune(older_than=noon)
    if isinstance(journal, PostgresJournal):
        with pytest.raises(NaiveInstant):
            await journal.claim_due(now=noon, owner="a", ttl=timedelta(1), limit=1)
